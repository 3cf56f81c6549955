"""What people said, through the API: kept when it is left out, never turned by an older word."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone
from psycopg.errors import DeadlockDetected

from campaigns.runs.run import Run
from notifications.api import contacts
from notifications.people import registry
from notifications.people.consent.category import Category
from notifications.people.consent.change import ConsentChange
from notifications.people.consent.record import EVERYTHING, ConsentAnswer, record_answers
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_contact, make_run

MAY = "2026-05-31T09:00:00Z"


@pytest.fixture
def offers(ours: Project) -> Category:
    return Category.objects.create(project=ours, name="Offers", slug="offers")


def write(caller: Caller, method: str, told: dict[str, Any]) -> None:
    if method == "bulk":
        body = {"contacts": [{"external_id": "ada", **told}]}
        answer = caller.post("contacts/bulk", body)
        assert answer.json()["rejected"] == []
    else:
        answer = caller(method, "contacts/ada", told)
    assert answer.status_code in (200, 201), answer.content


EVERY_WAY = pytest.mark.parametrize("method", ["PUT", "PATCH", "bulk"])


@EVERY_WAY
def test_a_no_is_kept_with_its_time_source_and_who_told_us(
    alice: Caller, ours: Project, offers: Category, method: str
) -> None:
    make_contact(ours, external_id="ada")
    began = timezone.now()
    write(alice, method, {"subscribed": False, "preferences": {"offers": False}})
    shown = alice.get("contacts/ada").json()
    assert (shown["subscribed"], shown["subscribed_from"]) == (False, "api")
    assert datetime.fromisoformat(shown["subscribed_at"]) >= began
    assert shown["preferences"]["offers"].items() >= {"wanted": False, "from": "api"}.items()
    rows = ConsentChange.objects.order_by("category").values_list("category", "wanted", "by")
    assert list(rows) == [("", False, alice_of(alice)), ("offers", False, alice_of(alice))]


def alice_of(caller: Caller) -> str:
    return f"key:{caller.row.prefix}"


@EVERY_WAY
def test_what_is_left_out_stays(
    alice: Caller, ours: Project, offers: Category, method: str
) -> None:
    write(alice, "PUT", {"subscribed": False, "preferences": {"offers": False}})
    before = Contact.objects.values("subscribed", "subscribed_at", "preferences").get()
    write(alice, method, {"locale": "ko"})
    write(alice, method, {"preferences": {}})
    assert Contact.objects.values("subscribed", "subscribed_at", "preferences").get() == before
    assert ConsentChange.objects.count() == 2


@EVERY_WAY
def test_an_older_yes_turns_no_no(
    alice: Caller, ours: Project, offers: Category, method: str
) -> None:
    write(alice, "PUT", {"subscribed": False, "preferences": {"offers": False}})
    yes = {"wanted": True, "at": MAY}
    write(
        alice,
        method,
        {"subscribed": True, "subscribed_at": MAY, "preferences": {"offers": yes}},
    )
    contact = Contact.objects.get()
    assert (contact.subscribed, contact.preferences["offers"]["wanted"]) == (False, False)


def test_a_new_person_is_subscribed_and_nobody_said_so(alice: Caller, ours: Project) -> None:
    shown = alice.put("contacts/ada", {}).json()
    said = (shown["subscribed"], shown["subscribed_at"], shown["subscribed_from"])
    assert (said, shown["preferences"]) == ((True, None, ""), {})
    assert not ConsentChange.objects.exists()


@EVERY_WAY
def test_what_get_showed_may_be_sent_back_and_says_nothing_new(
    alice: Caller, ours: Project, offers: Category, method: str
) -> None:
    write(alice, "PUT", {"preferences": {"offers": {"wanted": False, "at": MAY}}})
    offers.delete()  # also where its category is gone since
    before = Contact.objects.values("subscribed", "subscribed_at", "preferences").get()
    shown = alice.get("contacts/ada").json()
    write(alice, method, shown)
    assert Contact.objects.values("subscribed", "subscribed_at", "preferences").get() == before
    assert ConsentChange.objects.count() == 1


@EVERY_WAY
def test_a_yes_that_is_tried_again_takes_back_no_no_of_meanwhile(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    ada = make_contact(ours, external_id="ada")

    def collide(*args: Any, **how: Any) -> int:
        monkeypatch.setattr(registry, "record_answers", record_answers)
        monkeypatch.setattr(contacts, "record_answers", record_answers)
        raise OperationalError from DeadlockDetected()

    def decline(seconds: float) -> None:
        """Between the two tries, by a request of its own."""
        no = ConsentAnswer("ada", EVERYTHING, False)
        assert record_answers(ours, [no], source="app", by="key:app", now=timezone.now()) == 1

    monkeypatch.setattr(registry, "record_answers", collide)
    monkeypatch.setattr(contacts, "record_answers", collide)
    monkeypatch.setattr("notifications.postgres.outage.time.sleep", decline)
    write(alice, method, {"subscribed": True, "preferences": {}})
    ada.refresh_from_db()
    assert (ada.subscribed, ada.subscribed_from) == (False, "app")
    write(alice, method, {"subscribed": True})
    ada.refresh_from_db()
    assert ada.subscribed is True, "said after the no, it counts"


@pytest.mark.parametrize("at", ["2024-03-01T11:59:00+23:59", "2024-02-28T12:01:00-23:59"])
def test_a_word_with_an_odd_offset_is_kept_at_its_moment(
    alice: Caller, offers: Category, at: str
) -> None:
    ada = make_contact(alice.project, external_id="ada")
    body = {"subscribed": False, "subscribed_at": at,
            "preferences": {"offers": {"wanted": False, "at": at}}}  # fmt: skip
    assert alice.patch("contacts/ada", body).status_code == 200
    many = {"contacts": [{"external_id": "ada", **body}]}
    assert alice.post("contacts/bulk", many).status_code == 200
    ada.refresh_from_db()
    assert ada.subscribed_at == datetime(2024, 2, 29, 12, tzinfo=UTC)
    assert ada.preferences["offers"]["at"] == "2024-02-29T12:00:00.000000Z"


FUTURE = (datetime.now(UTC) + timedelta(days=1)).isoformat()


@pytest.mark.parametrize(
    ("told", "field"),
    [
        ({"subscribed": "yes"}, "subscribed"),
        ({"subscribed": None}, "subscribed"),
        ({"subscribed": False, "subscribed_at": "yesterday"}, "subscribed_at"),
        ({"subscribed": False, "subscribed_at": "2026-05-31T09:00:00"}, "subscribed_at"),
        ({"subscribed": False, "subscribed_at": "2026-02-31T09:00:00Z"}, "subscribed_at"),
        ({"subscribed": False, "subscribed_at": "0001-01-01T00:00:00+14:00"}, "subscribed_at"),
        ({"subscribed": False, "subscribed_at": FUTURE}, "subscribed_at"),
        ({"subscribed_at": MAY}, "subscribed_at"),
        ({"preferences": []}, "preferences"),
        ({"preferences": {"offers": "no"}}, "preferences.offers"),
        ({"preferences": {"offers": {"at": MAY}}}, "preferences.offers"),
        ({"preferences": {"offers": {"wanted": False, "at": "x"}}}, "preferences.offers"),
        ({"preferences": {"offers": {"wanted": False, "when": MAY}}}, "preferences.offers"),
        ({"preferences": {"news": False}}, "preferences.news"),
        ({"preferences": {f"c{n}": False for n in range(51)}}, "preferences"),
    ],
)
def test_what_is_no_answer_is_refused_by_its_field(
    alice: Caller, ours: Project, offers: Category, told: dict[str, Any], field: str
) -> None:
    make_contact(ours, external_id="ada")
    for method in ("PUT", "PATCH"):
        answer = alice(method, "contacts/ada", told)
        assert (answer.status_code, fields_at_fault(answer)) == (400, [field])
    bulk = alice.post("contacts/bulk", {"contacts": [{"external_id": "ada", **told}]}).json()
    assert [row["field"] for row in bulk["rejected"]] == [field]
    assert not ConsentChange.objects.exists()


@EVERY_WAY
def test_a_time_of_null_is_a_time_left_out(
    alice: Caller, ours: Project, offers: Category, method: str
) -> None:
    write(alice, "PUT", {"subscribed": False, "preferences": {"offers": False}})
    yes = {"wanted": True, "at": None}
    write(alice, method, {"subscribed_at": None})
    assert not Contact.objects.get().subscribed
    write(
        alice, method, {"subscribed": True, "subscribed_at": None, "preferences": {"offers": yes}}
    )
    shown = alice.get("contacts/ada").json()
    assert shown["subscribed"] is True and shown["preferences"]["offers"]["wanted"] is True


@EVERY_WAY
def test_somebody_who_never_said_anything_says_nothing_when_sent_back(
    alice: Caller, ours: Project, method: str
) -> None:
    make_contact(ours, external_id="ada")
    shown = alice.get("contacts/ada").json()
    write(alice, method, shown)
    assert not ConsentChange.objects.exists()
    write(alice, "PATCH", {"subscribed": False})
    write(alice, method, shown)
    assert not Contact.objects.get().subscribed, "what was read before took it back"


def test_an_unknown_category_is_named_with_those_there_are(
    alice: Caller, ours: Project, offers: Category
) -> None:
    answer = alice.put("contacts/ada", {"preferences": {"ofers": False}})
    assert answer.json()["errors"] == [
        {
            "field": "preferences.ofers",
            "message": "There is no such category in this project. Known: offers.",
        }
    ]


def test_the_trail_says_which_fields_and_nothing_of_the_answer(
    alice: Caller, ours: Project, offers: Category
) -> None:
    make_contact(ours, external_id="ada")
    alice.patch("contacts/ada", {"subscribed": False, "preferences": {"offers": False}})
    entry = AuditEntry.objects.get(action="changed")
    assert entry.changes == {"subscribed": ["…", "…"], "preferences": ["…", "…"]}
    alice.patch("contacts/ada", {"subscribed": False})
    assert AuditEntry.objects.filter(action="changed").count() == 1


def test_a_category_is_made_read_changed_and_deleted(alice: Caller, ours: Project) -> None:
    made = alice.post("categories", {"name": "Offers", "slug": "offers"})
    assert (made.status_code, made.json()["kind"]) == (201, "marketing")
    pk = made.json()["id"]
    alarms = {"kind": "critical", "confirm": "critical", "name": "Alarms"}
    changed = alice.patch(f"categories/{pk}", alarms)
    assert changed.json() == {**made.json(), "kind": "critical", "name": "Alarms"}
    assert alice.get("categories").json()["results"] == [changed.json()]
    assert alice.get(f"categories/{pk}").json() == changed.json()
    put = alice.put(f"categories/{pk}", {"name": "Offers", "slug": "offers"})
    assert put.json()["kind"] == "marketing"
    assert alice.delete(f"categories/{pk}").status_code == 204
    assert [*AuditEntry.objects.order_by("id").values_list("action", flat=True)] == [
        *("created", "changed", "changed", "deleted")
    ]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "Again", "slug": "offers"}, "slug"),
        ({"name": "Other", "slug": "o f"}, "slug"),
        ({"name": "  ", "slug": "other"}, "name"),
        ({"name": "Other", "slug": "other", "kind": "urgent"}, "kind"),
        ({"name": "Other", "slug": "other", "colour": "red"}, "colour"),
    ],
)
def test_a_category_that_makes_no_sense_is_refused(
    alice: Caller, ours: Project, offers: Category, body: dict[str, Any], field: str
) -> None:
    answer = alice.post("categories", body)
    assert (answer.status_code, fields_at_fault(answer)) == (400, [field])


def test_the_slug_of_a_category_stays(alice: Caller, offers: Category) -> None:
    answer = alice.patch(f"categories/{offers.pk}", {"slug": "deals"})
    assert (answer.status_code, fields_at_fault(answer)) == (400, ["slug"])


def test_a_project_has_at_most_fifty_categories(alice: Caller, ours: Project) -> None:
    Category.objects.bulk_create(
        Category(project=ours, name=f"C{n}", slug=f"c{n}") for n in range(50)
    )
    assert fields_at_fault(alice.post("categories", {"name": "C", "slug": "c"})) == ["slug"]


def test_the_same_slug_may_be_used_in_another_project(
    alice: Caller, charlie: Caller, offers: Category
) -> None:
    assert charlie.post("categories", {"name": "O", "slug": "offers"}).status_code == 201
    assert charlie.get(f"categories/{offers.pk}").status_code == 404


def test_a_suppression_is_added_listed_and_taken_off(alice: Caller, ours: Project) -> None:
    body = {"external_ids": ["u/7", "ada", "ada", "12"], "reason": "complaint"}
    assert alice.post("suppressions", body).json() == {"added": 3, "known": 0}
    assert alice.post("suppressions", body).json() == {"added": 0, "known": 3}
    first = alice.get("suppressions?limit=2").json()
    second = alice.get("suppressions?" + first["next"].partition("?")[2]).json()
    found = [row["external_id"] for row in (*first["results"], *second["results"])]
    assert sorted(found) == ["12", "ada", "u/7"]
    assert first["results"][0].items() >= {"reason": "complaint", "by": alice_of(alice)}.items()
    starts = alice.get("suppressions?external_id_prefix=u/").json()["results"]
    assert [row["external_id"] for row in starts] == ["u/7"]
    assert alice.delete("suppressions/u%2F7").status_code == 204
    assert alice.delete("suppressions/u%2F7").status_code == 404
    trail = AuditEntry.objects.order_by("id")
    assert [(entry.action, entry.detail) for entry in trail] == [
        ("suppressed", {"added": 3}),
        ("took off", {"removed": 1}),
    ]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "external_ids"),
        ({"external_ids": []}, "external_ids"),
        ({"external_ids": ["ada", ""]}, "external_ids[1]"),
        ({"external_ids": ["a\x00"]}, "external_ids[0]"),
        ({"external_ids": [f"u{n}" for n in range(1_001)]}, "external_ids"),
        ({"external_ids": ["ada"], "reason": "x" * 201}, "reason"),
    ],
)
def test_what_is_no_list_of_people_is_not_suppressed(
    alice: Caller, ours: Project, body: dict[str, Any], field: str
) -> None:
    answer = alice.post("suppressions", body)
    assert (answer.status_code, fields_at_fault(answer)) == (400, [field])
    assert alice.get("suppressions").json()["results"] == []


def test_a_suppression_outlives_an_erasure_and_the_history_does_not(
    alice: Caller, ours: Project
) -> None:
    write(alice, "PUT", {"subscribed": False})
    alice.post("suppressions", {"external_ids": ["ada"]})
    assert alice.delete("contacts/ada").status_code == 204
    assert not ConsentChange.objects.exists()
    write(alice, "PUT", {"subscribed": True})
    assert [row["external_id"] for row in alice.get("suppressions").json()["results"]] == ["ada"]


def test_nobody_sees_another_projects_suppressions(alice: Caller, charlie: Caller) -> None:
    alice.post("suppressions", {"external_ids": ["ada"]})
    assert charlie.get("suppressions").json()["results"] == []
    assert charlie.delete("suppressions/ada").status_code == 404


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize("more", [{}, {"confirm": "transactional"}])
def test_marketing_becomes_no_other_kind_until_somebody_confirms_it(
    alice: Caller, ours: Project, offers: Category, method: str, more: dict[str, str]
) -> None:
    for name in ("declined", "unsubscribed", "in"):
        make_contact(ours, external_id=name)
    alice.patch("contacts/declined", {"preferences": {"offers": False}})
    alice.patch("contacts/unsubscribed", {"subscribed": False})
    before = set(AuditEntry.objects.values_list("pk", flat=True))
    body = {"name": "Offers", "slug": "offers", "kind": "critical", **more}
    refused = alice(method, f"categories/{offers.pk}", body)
    assert (refused.status_code, fields_at_fault(refused)) == (409, ["confirm"])
    assert refused.json()["type"] == "urn:carillon:unconfirmed"
    assert "the 2 people who are out of it" in refused.json()["detail"]
    offers.refresh_from_db()
    assert offers.kind == "marketing" and AuditEntry.objects.count() == len(before)
    body["confirm"] = "critical"
    assert alice(method, f"categories/{offers.pk}", body).status_code == 200
    offers.refresh_from_db()
    assert offers.kind == "critical"
    entry = AuditEntry.objects.exclude(pk__in=before).get()
    assert entry.changes["kind"] == ["marketing", "critical"]


def test_other_changes_of_a_kind_need_no_confirmation(alice: Caller, offers: Category) -> None:
    Category.objects.update(kind="transactional")
    for kind in ("critical", "marketing", "marketing"):
        answer = alice.patch(f"categories/{offers.pk}", {"kind": kind})
        assert (answer.status_code, answer.json()["kind"]) == (200, kind)


def test_a_run_keeps_the_kind_that_its_category_had_at_the_launch(
    alice: Caller, ours: Project, offers: Category
) -> None:
    run = make_run(ours, category=offers, advanced=False)
    body = {"kind": "critical", "confirm": "critical"}
    assert alice.patch(f"categories/{offers.pk}", body).status_code == 200
    assert Run.objects.get(pk=run.pk).category_kind == "marketing"


def test_a_start_of_suppressed_ids_that_takes_too_long_is_refused_by_its_name(
    alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*asked: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(9)")

    monkeypatch.setattr("notifications.api.consent.LOOKING_SECONDS", 0.01)
    monkeypatch.setattr("notifications.api.consent.pages.page_by_id", never)
    refused = alice.get("suppressions?external_id_prefix=u")
    assert (refused.status_code, fields_at_fault(refused)) == (400, ["external_id_prefix"])
