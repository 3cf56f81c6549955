"""Static lists through the API: made empty, and changed some people at a time."""

from __future__ import annotations

import pytest

from campaigns.audiences.audience import Audience
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_audience, make_campaign, make_contact


@pytest.fixture
def vips(ours: Project) -> Audience:
    for name in ("ada", "bob", "a/b"):
        make_contact(ours, external_id=name)
    return make_audience(ours, name="VIPs", kind="list")


def on_it(audience: Audience) -> set[str]:
    return set(audience.members.values_list("contact__external_id", flat=True))


def test_a_list_is_made_shown_found_and_deleted(alice: Caller, ours: Project) -> None:
    made = alice.post("lists", {"name": "VIPs"})
    assert made.status_code == 201
    path = f"lists/{made.json()['id']}"
    assert made["Location"].endswith(path)
    shown = alice.get(path)
    assert (shown.json()["name"], shown.json()["people"]) == ("VIPs", 0)
    assert alice.get(path, If_None_Match=shown["ETag"]).status_code == 304
    make_audience(ours, name="With rules")
    assert [one["name"] for one in alice.get("lists").json()["results"]] == ["VIPs"]
    assert alice.delete(path).status_code == 204
    assert alice.get(path).status_code == 404
    assert [entry.action for entry in AuditEntry.objects.order_by("pk")] == ["created", "deleted"]


def test_a_name_that_is_taken_or_missing_is_refused(alice: Caller, vips: Audience) -> None:
    taken = alice.post("lists", {"name": "VIPs"})
    assert (taken.status_code, taken.json()["type"]) == (409, "urn:carillon:name-taken")
    assert fields_at_fault(alice.post("lists", {})) == ["name"]
    assert fields_at_fault(alice.post("lists", {"name": "x", "contacts": []})) == ["contacts"]


def test_people_come_to_a_list_and_those_on_it_stay(alice: Caller, vips: Audience) -> None:
    path = f"lists/{vips.pk}/members"
    first = alice.post(path, {"contacts": ["ada", "ada", "a/b"]})
    assert first.status_code == 200
    assert first.json() == {"added": 2, "removed": 0, "already": 0, "rejected": []}
    second = alice.post(path, {"contacts": ["bob", "ada"]})
    assert second.json() == {"added": 1, "removed": 0, "already": 1, "rejected": []}
    assert on_it(vips) == {"ada", "bob", "a/b"}
    assert alice.get(f"lists/{vips.pk}").json()["people"] == 3


def test_people_are_taken_off_a_list_and_the_others_stay(alice: Caller, vips: Audience) -> None:
    path = f"lists/{vips.pk}/members"
    alice.post(path, {"contacts": ["ada", "bob"]})
    gone = alice("DELETE", path, {"contacts": ["ada", "a/b"]})
    assert gone.status_code == 200
    assert gone.json() == {"added": 0, "removed": 1, "already": 1, "rejected": []}
    assert on_it(vips) == {"bob"}


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_an_unknown_id_is_refused_by_its_index_and_the_others_are_written(
    alice: Caller, charlie: Caller, vips: Audience, method: str
) -> None:
    path = f"lists/{vips.pk}/members"
    make_contact(charlie.project, external_id="theirs")
    alice.post(path, {"contacts": ["bob"]})
    named = ["theirs", "ada", 7, None, "bob", "a\x00", ""]
    told = alice(method, path, {"contacts": named}).json()
    assert [row["index"] for row in told["rejected"]] == [0, 2, 3, 5, 6]
    assert told["rejected"][0]["field"] == "contacts[0]"
    assert told["rejected"][0]["message"].startswith("There is no such person")
    assert told["rejected"][2]["message"] == "Must be a text."
    assert on_it(vips) == ({"ada", "bob"} if method == "POST" else set())


def test_only_a_change_is_in_the_trail_by_its_counts(alice: Caller, vips: Audience) -> None:
    path = f"lists/{vips.pk}/members"
    for _ in range(2):
        alice.post(path, {"contacts": ["ada", "bob"]})
    [entry] = AuditEntry.objects.all()
    assert (entry.action, entry.about) == ("changed members", "audience VIPs")
    assert entry.detail == {"added": 2, "removed": 0}


def test_a_change_of_members_changes_the_tag_of_the_list(alice: Caller, vips: Audience) -> None:
    before = alice.get(f"lists/{vips.pk}")["ETag"]
    alice.post(f"lists/{vips.pk}/members", {"contacts": ["ada"]})
    stale = alice.delete(f"lists/{vips.pk}", If_Match=before)
    assert stale.status_code == 412


def test_a_repeated_key_adds_once_and_answers_the_same(alice: Caller, vips: Audience) -> None:
    path, body = f"lists/{vips.pk}/members", {"contacts": ["ada"]}
    first = alice.post(path, body, Idempotency_Key="one")
    again = alice.post(path, body, Idempotency_Key="one")
    assert first.json() == again.json()
    assert again["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize(
    "body",
    [None, {}, {"contacts": "ada"}, {"contacts": ["x"] * 1_001}, {"contacts": [], "people": []}],
)
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_body_that_names_nobody_or_too_many_is_refused(
    alice: Caller, vips: Audience, method: str, body: object
) -> None:
    assert alice(method, f"lists/{vips.pk}/members", body).status_code == 400


def test_an_audience_with_rules_is_no_list(alice: Caller, ours: Project) -> None:
    path = f"lists/{make_audience(ours).pk}"
    assert alice.get(path).status_code == 404
    assert alice.delete(path).status_code == 404
    assert alice.post(f"{path}/members", {"contacts": []}).status_code == 404
    assert Audience.objects.count() == 1


def test_the_list_of_another_project_does_not_exist(charlie: Caller, vips: Audience) -> None:
    assert charlie.get(f"lists/{vips.pk}").status_code == 404
    assert charlie.post(f"lists/{vips.pk}/members", {"contacts": ["ada"]}).status_code == 404
    assert charlie.get("lists").json()["results"] == []


def test_a_list_in_use_stays_and_says_by_what(alice: Caller, ours: Project, vips: Audience) -> None:
    campaign = make_campaign(ours, audience=vips)
    kept = alice.delete(f"lists/{vips.pk}")
    assert (kept.status_code, kept.json()["type"]) == (409, "urn:carillon:in-use")
    assert f"campaign {campaign.pk}" in kept.json()["detail"]
    assert Audience.objects.filter(pk=vips.pk).exists()


def test_a_name_with_a_control_character_is_refused(alice: Caller) -> None:
    for name in ("a\nb", "a\x07b"):
        refused = alice.post("lists", {"name": name})
        assert (refused.status_code, fields_at_fault(refused)) == (400, ["name"])


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("DELETE", ""), ("POST", "/members")])
def test_an_audience_with_rules_is_no_static_list_and_its_own_address_is_named(
    alice: Caller, ours: Project, charlie: Caller, method: str, path: str
) -> None:
    pk = make_audience(ours).pk
    refused = alice(method, f"lists/{pk}{path}", {"contacts": []} if path else None)
    assert refused.status_code == 404
    assert refused.json()["detail"] == (
        f"There is no static list {pk} in this project: that is the id of an audience with rules,"
        f" see audiences/{pk}."
    )
    theirs = charlie(method, f"lists/{pk}{path}", {"contacts": []} if path else None)
    assert theirs.json()["detail"] == f"There is no static list {pk} in this project."


def test_a_list_and_an_audience_share_their_names(alice: Caller, ours: Project) -> None:
    taken = make_audience(ours).name
    refused = alice.post("lists", {"name": taken})
    assert (refused.status_code, fields_at_fault(refused)) == (409, ["name"])
    assert "Another audience or static list has this name." in refused.json()["detail"]
