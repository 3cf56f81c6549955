"""PATCH: what is given is changed, what is left out stays, and nothing is judged more mildly."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from campaigns.audiences.audience import Member
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_device,
    make_run,
    make_template,
)

NOON = datetime(2030, 5, 31, 12, tzinfo=UTC)


# --- People -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "attributes"),
    [
        ({}, {"plan": "free", "address": {"city": "Seoul", "zip": "1"}, "tags": ["a", "b"]}),
        (
            {"plan": None, "address": {"zip": None, "street": "x"}, "tags": ["c"], "n": 1},
            {"address": {"city": "Seoul", "street": "x"}, "tags": ["c"], "n": 1},
        ),
        (
            {"address": "none", "nobody": None, "new": {"a": 1, "b": None}},
            {"plan": "free", "address": "none", "tags": ["a", "b"], "new": {"a": 1}},
        ),
    ],
)
def test_attributes_are_merged_and_null_removes_one(
    alice: Caller, ours: Project, change: dict[str, Any], attributes: dict[str, Any]
) -> None:
    before = {"plan": "free", "address": {"city": "Seoul", "zip": "1"}, "tags": ["a", "b"]}
    contact = make_contact(ours, attributes=before, locale="en")
    answer = alice.patch(f"contacts/{contact.external_id}", {"attributes": change})
    assert answer.status_code == 200
    assert answer.json()["attributes"] == attributes
    contact.refresh_from_db()
    assert (contact.attributes, contact.locale) == (attributes, "en")


@pytest.mark.parametrize(
    "change",
    [{}, {"locale": "en"}, {"attributes": {}}, {"attributes": {"n": 1, "none": None}}],
)
def test_a_change_of_nothing_leaves_a_person_untouched(
    alice: Caller, ours: Project, change: dict[str, Any]
) -> None:
    contact = make_contact(ours, attributes={"n": 1}, locale="en")
    path = f"contacts/{contact.external_id}"
    tag = alice.get(path)["ETag"]
    answer = alice.patch(path, change)
    assert (answer.status_code, answer["ETag"]) == (200, tag)
    assert Contact.objects.get().updated_at == contact.updated_at


@pytest.mark.parametrize("value", ["1.0", "true", '"1"', "[1]"])
def test_another_kind_of_one_is_a_change(alice: Caller, ours: Project, value: str) -> None:
    contact = make_contact(ours, attributes={"n": 1})
    body = f'{{"attributes": {{"n": {value}}}}}'.encode()
    answer = alice.patch(f"contacts/{contact.external_id}", body)
    assert f'"n":{value}' in answer.content.decode().replace(" ", "")


def test_what_is_left_out_of_a_person_stays(alice: Caller, ours: Project) -> None:
    device = make_device(make_contact(ours, attributes={"plan": "pro"}, locale="en"))
    path = f"contacts/{device.contact.external_id}"
    assert alice.patch(path, {"timezone": "Asia/Seoul"}).status_code == 200
    contact = Contact.objects.get()
    assert (contact.attributes, contact.locale) == ({"plan": "pro"}, "en")
    assert contact.timezone == "Asia/Seoul"
    assert Device.objects.get().active
    assert alice.patch(path, {"locale": ""}).json()["locale"] == ""


def test_a_number_beyond_64_bits_outlives_a_change_of_another(alice: Caller, ours: Project) -> None:
    contact = make_contact(ours, attributes={"n": 10**30 + 1})
    answer = alice.patch(f"contacts/{contact.external_id}", {"attributes": {"plan": "pro"}})
    assert answer.status_code == 200
    contact.refresh_from_db()
    assert contact.attributes == {"n": 10**30 + 1, "plan": "pro"}


def test_devices_that_are_given_are_all_there_are(alice: Caller, ours: Project) -> None:
    contact = make_contact(ours)
    make_device(contact, "old")
    body = {"devices": [{"token": "new", "platform": "web"}]}
    assert alice.patch(f"contacts/{contact.external_id}", body).status_code == 200
    assert Device.objects.get(address="new").active
    assert Device.objects.get(address="old").retired_reason == "removed"


def test_only_a_person_who_is_there_is_changed(
    alice: Caller, charlie: Caller, ours: Project
) -> None:
    make_contact(ours, external_id="u1", locale="en")
    assert alice.patch("contacts/u2", {"locale": "ko"}).status_code == 404
    assert charlie.patch("contacts/u1", {"locale": "ko"}).status_code == 404
    assert Contact.objects.get().locale == "en"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ([], ""),
        ("ko", ""),
        ({"external_id": "u2"}, "external_id"),
        ({"lcoale": "ko"}, "lcoale"),
        ({"locale": None}, "locale"),
        ({"attributes": None}, "attributes"),
        ({"attributes": ["a"]}, "attributes"),
        ({"attributes": {"a b": 1}}, "attributes"),
        ({"attributes": {f"n{number}": 1 for number in range(100)}}, "attributes"),
        ({"attributes": {"a": "\x00"}}, "attributes"),
        ({"devices": [{"token": "t"}]}, "devices[0].platform"),
    ],
)
def test_a_change_that_does_not_fit_changes_nothing(
    alice: Caller, ours: Project, body: Any, field: str
) -> None:
    contact = make_contact(ours, external_id="u1")
    response = alice.patch("contacts/u1", body)
    assert response.status_code == 400
    assert fields_at_fault(response) == [field]
    was = contact.updated_at
    contact.refresh_from_db()
    assert contact.updated_at == was


# --- What a marketer made -----------------------------------------------------------------------


def test_a_new_name_leaves_rules_and_members_alone(alice: Caller, ours: Project) -> None:
    rules = {"field": "locale", "op": "eq", "value": "ko"}
    audience = make_audience(ours, rules=rules)
    answer = alice.patch(f"audiences/{audience.pk}", {"name": "Korea"})
    assert (answer.json()["name"], answer.json()["rules"]) == ("Korea", rules)
    contact = make_contact(ours)
    body = {"name": "List", "contacts": [contact.external_id]}
    listed = alice.post("audiences", body).json()
    assert alice.patch(f"audiences/{listed['id']}", {"name": "New"}).json()["name"] == "New"
    [member] = contact.member_set.all()
    assert member.audience_id == listed["id"]


def test_rules_are_replaced_whole(alice: Caller, ours: Project) -> None:
    audience = make_audience(ours, rules={"all": []})
    rules = {"any": [{"field": "locale", "op": "eq", "value": "ko"}]}
    answer = alice.patch(f"audiences/{audience.pk}", {"rules": rules})
    assert answer.json()["rules"] == rules


def test_an_audience_stays_the_kind_it_is(alice: Caller, ours: Project) -> None:
    with_rules = make_audience(ours)
    listed = make_audience(ours, kind="list")
    refused = alice.patch(f"audiences/{with_rules.pk}", {"contacts": []})
    assert fields_at_fault(refused) == ["contacts"]
    assert "This audience has rules" in refused.json()["errors"][0]["message"]
    assert fields_at_fault(alice.patch(f"audiences/{listed.pk}", {"rules": {}})) == ["rules"]


def test_a_text_is_changed_alone_and_kept_as_a_revision(alice: Caller, ours: Project) -> None:
    template = make_template(ours, title="Old", data={"a": "b"}, locales={"ko": {"title": "가"}})
    answer = alice.patch(f"templates/{template.pk}", {"title": "New", "data": {"c": "d"}})
    assert answer.status_code == 200
    template.refresh_from_db()
    assert (template.title, template.body) == ("New", "See you")
    assert (template.data, template.locales) == ({"c": "d"}, {"ko": {"title": "가"}})
    assert [one.content["title"] for one in template.revisions.all()] == ["New", "Old"]


def test_a_campaign_keeps_what_is_not_named(alice: Caller, ours: Project) -> None:
    campaign = make_campaign(
        ours, schedule_kind="at", at=NOON, timezone="Asia/Seoul", rate_per_second=5, tags=["x"],
        on_unknown="hold", ttl_seconds=600,
    )  # fmt: skip
    before = alice.get(f"campaigns/{campaign.pk}").json()
    answer = alice.patch(f"campaigns/{campaign.pk}", {"rate_per_second": None})
    assert answer.status_code == 200
    after = answer.json()
    assert {**after, "updated_at": ""} == {**before, "rate_per_second": None, "updated_at": ""}
    campaign.refresh_from_db()
    assert campaign.tags == ["x"]
    assert AuditEntry.objects.get().changes == {"rate_per_second": [5, None]}


def test_a_schedule_is_replaced_whole(alice: Caller, ours: Project) -> None:
    campaign = make_campaign(ours, schedule_kind="at", at=NOON)
    path = f"campaigns/{campaign.pk}"
    assert fields_at_fault(alice.patch(path, {"schedule": {"timezone": "UTC"}})) == [
        "schedule.kind"
    ]
    assert alice.patch(path, {"schedule": {"kind": "now"}}).status_code == 200
    campaign.refresh_from_db()
    assert (campaign.schedule_kind, campaign.at) == ("now", None)


@pytest.mark.parametrize(
    ("kind", "body", "field"),
    [
        ("audience", {"nmae": "x"}, "nmae"),
        ("audience", {"rules": {"field": "x"}}, "rules"),
        ("audience", {"name": None}, "name"),
        ("template", {"title": "{{ broken"}, "title"),
        ("template", {"title": ""}, "title"),
        ("campaign", {"audience": 10**9}, "audience"),
        ("campaign", {"schedule": {"kind": "at"}}, "schedule.at"),
        ("campaign", {"ttl_seconds": 1}, "ttl_seconds"),
        ("campaign", [], ""),
    ],
)
def test_a_part_is_judged_as_the_whole_would_be(
    alice: Caller, ours: Project, kind: str, body: Any, field: str
) -> None:
    campaign = make_campaign(ours)
    row = {"audience": campaign.audience, "template": campaign.template}.get(kind, campaign)
    response = alice.patch(f"{kind}s/{row.pk}", body)
    assert response.status_code == 400
    assert set(fields_at_fault(response)) == {field}
    assert not AuditEntry.objects.exists()


def test_what_was_launched_keeps_what_it_was_launched_with(alice: Caller, ours: Project) -> None:
    run = make_run(ours)
    alice.patch(f"campaigns/{run.campaign_id}", {"ttl_seconds": 60})
    run.refresh_from_db()
    assert (run.ttl_seconds, Campaign.objects.get().ttl_seconds) == (86_400, 60)


# --- When it was launched for -------------------------------------------------------------------


def waiting_run(ours: Project) -> Run:
    return make_run(ours, advanced=False, schedule_kind="at", at=NOON)


@pytest.mark.parametrize(
    ("schedule", "field"),
    [
        ({"kind": "at", "at": "2030-06-01T12:00:00Z"}, "schedule.at"),
        ({"kind": "at", "at": NOON.isoformat(), "timezone": "Asia/Seoul"}, "schedule.at"),
        ({"kind": "now"}, "schedule.kind"),
        (
            {"kind": "recurring", "at": NOON.isoformat(), "repeat": "daily"},
            "schedule.kind",
        ),
    ],
)
def test_the_time_that_a_waiting_run_was_launched_for_is_not_edited_past_it(
    alice: Caller, ours: Project, schedule: dict[str, str], field: str
) -> None:
    run = waiting_run(ours)
    refused = alice.patch(f"campaigns/{run.campaign_id}", {"schedule": schedule})
    assert (refused.status_code, fields_at_fault(refused)) == (400, [field])
    said = (
        f"It was launched as run {run.pk}. Move that run, or cancel it; then its time can be "
        "changed."
    )
    assert refused.json()["errors"][0]["message"] == said
    kept = Campaign.objects.get()
    assert (kept.schedule_kind, kept.at, kept.timezone) == ("at", NOON, "UTC")
    assert not AuditEntry.objects.filter(action="changed").exists()


def test_the_rest_of_a_campaign_whose_run_waits_is_edited_freely(
    alice: Caller, ours: Project
) -> None:
    path = f"campaigns/{waiting_run(ours).campaign_id}"
    whole = alice.get(path).json()["schedule"]
    answer = alice.patch(path, {"name": "Other", "schedule": whole})
    assert (answer.status_code, answer.json()["name"]) == (200, "Other")


def test_a_run_that_waits_is_moved_and_its_campaign_keeps_its_time(
    alice: Caller, ours: Project
) -> None:
    run = waiting_run(ours)
    assert alice.post(f"runs/{run.pk}/move", {"at": "2030-06-01T12:00:00Z"}).status_code == 200
    shown = alice.get(f"campaigns/{run.campaign_id}").json()["schedule"]
    assert shown["at"] == "2030-06-01T12:00:00Z"
    assert alice.patch(f"campaigns/{run.campaign_id}", {"schedule": shown}).status_code == 200


@pytest.mark.parametrize("state", ["paused", "preparing", "sending"])
def test_a_run_that_cannot_be_moved_is_not_told_to(
    alice: Caller, ours: Project, state: str
) -> None:
    run = waiting_run(ours)
    Run.objects.filter(pk=run.pk).update(state=state, cause="by_hand" if state == "paused" else "")
    refused = alice.patch(f"campaigns/{run.campaign_id}", {"schedule": {"kind": "now"}})
    said = refused.json()["errors"][0]["message"]
    assert said == (
        f"It was launched as run {run.pk}. Cancel that run, or wait for its end; then its time "
        "can be changed."
    )


@pytest.mark.parametrize("state", ["cancelled", "finished"])
def test_once_the_run_has_ended_the_time_is_free_again(
    alice: Caller, ours: Project, state: str
) -> None:
    run = waiting_run(ours)
    ended = {"finished_at": NOON, "started_at": NOON, "planned": 0}
    Run.objects.filter(pk=run.pk).update(state=state, **ended)
    answer = alice.patch(f"campaigns/{run.campaign_id}", {"schedule": {"kind": "now"}})
    assert (answer.status_code, answer.json()["schedule"]["kind"]) == (200, "now")


# --- Nothing that is new ------------------------------------------------------------------------


def with_rules(ours: Project) -> str:
    rules = {"field": "attributes.n", "op": "eq", "value": 1}
    return f"audiences/{make_audience(ours, rules=rules).pk}"


def with_a_list(ours: Project) -> str:
    listed = make_audience(ours, kind="list")
    Member.objects.create(audience=listed, contact=make_contact(ours, external_id="ada"))
    return f"audiences/{listed.pk}"


def with_a_text(ours: Project) -> str:
    return f"templates/{make_template(ours, data={'a': 'b', 'c': 'd'}).pk}"


def with_a_time(ours: Project) -> str:
    return f"campaigns/{make_campaign(ours, schedule_kind='at', at=NOON).pk}"


@pytest.mark.parametrize("given", [with_rules, with_a_list, with_a_text, with_a_time])
def test_a_change_of_nothing_leaves_the_row_alone(
    alice: Caller, ours: Project, given: Callable[[Project], str]
) -> None:
    path = given(ours)
    before = alice.get(path)
    same = {**before.json()}
    for name in ("id", "kind", "created_at", "updated_at"):
        same.pop(name, None)
    if same.get("rules") is None:
        same.pop("rules", None)
    members = [{"contacts": ["ada"]}] if given is with_a_list else []
    for body in ({}, same, {"name": same["name"]}, *members):
        answer = alice.patch(path, body)
        assert (answer.status_code, answer["ETag"]) == (200, before["ETag"]), body
        assert answer.json() == before.json()
    assert alice.get(path)["ETag"] == before["ETag"]
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("value", [1.0, True, "1"])
def test_another_kind_of_one_in_rules_is_a_change(alice: Caller, ours: Project, value: Any) -> None:
    path = with_rules(ours)
    tag = alice.get(path)["ETag"]
    rules = {"field": "attributes.n", "op": "eq", "value": value}
    answer = alice.patch(path, {"rules": rules})
    assert answer.status_code == 200 and answer["ETag"] != tag


def test_other_people_on_a_list_are_a_change(alice: Caller, ours: Project) -> None:
    path = with_a_list(ours)
    make_contact(ours, external_id="eve")
    tag = alice.get(path)["ETag"]
    answer = alice.patch(path, {"contacts": ["eve"]})
    assert answer.status_code == 200 and answer["ETag"] != tag
    assert alice.get(path)["ETag"] == answer["ETag"]
