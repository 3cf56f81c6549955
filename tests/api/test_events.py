"""POST events: what people did, many at once; rows are refused, not calls."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from campaigns import tasks
from campaigns.triggers.trigger import Trigger
from notifications.people.contact import Contact
from notifications.people.events import partitions, reading
from notifications.people.project import Project
from notifications.people.retention import Retention
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import (
    make_audience,
    make_automation,
    make_contact,
    make_project,
    make_template,
)


def did(contact: str, name: str = "bought", **values: Any) -> dict[str, Any]:
    return {"contact": contact, "name": name, **values}


def send(caller: Caller, *events: Any, **headers: str) -> Any:
    response = caller.post("events", {"events": list(events)}, **headers)
    assert response.status_code == 200, response.content
    return response.json()


def count() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM notifications_event")
        found: int = cursor.fetchone()[0]
    return found


@pytest.fixture
def ada(ours: Project) -> Contact:
    return make_contact(ours, external_id="ada")


def test_an_event_is_kept_with_its_time_and_properties(alice: Caller, ada: Contact) -> None:
    at = timezone.now().replace(microsecond=0) - timedelta(days=3)
    told = {"price": 79.9, "note": 'a "b"\\\t\n é', "tags": ["x", {"deep": None}], "n": 10**20}
    answer = send(alice, did("ada", at=at.isoformat(), properties=told))
    assert answer == {"written": 1, "duplicates": 0, "rejected": []}
    assert reading.newest_of(ada.pk) == [reading.Did(at, "bought", told)]


def test_an_event_without_a_time_happened_now(alice: Caller, ada: Contact) -> None:
    before = timezone.now()
    send(alice, did("ada"))
    (found,) = reading.newest_of(ada.pk)
    assert before <= found.at <= timezone.now()
    assert found.properties == {}


def test_a_bad_event_is_refused_and_the_others_are_written(alice: Caller, ada: Contact) -> None:
    make_contact(make_project(), external_id="charlie")
    answer = send(
        alice,
        did("ada"),
        did("nobody"),
        did("charlie"),  # of another project
        "not an object",
        did("ada", "no\ttab"),
        did("ada", at="yesterday"),
        did("ada", at="2026-05-31T09:30:00"),  # where?
        did("ada", properties=[1]),
        did("ada", properties={"bad name": 1}),
        did("ada", properties={f"p{n}": n for n in range(21)}),
        did("ada", properties={"a": "x" * 1500, "b": "y" * 1500}),
        did("ada", properties={"a": "\u0000"}),
        did("ada", color="red"),
        {"name": "bought"},
        did("ada", "viewed"),
    )
    assert answer["written"] == 2
    assert [(row["index"], row["field"]) for row in answer["rejected"]] == [
        (1, "contact"), (2, "contact"), (3, ""), (4, "name"), (5, "at"), (6, "at"),
        (7, "properties"), (8, "properties"), (9, "properties"), (10, "properties"),
        (11, "properties"), (12, "color"), (13, "contact"),
    ]  # fmt: skip
    assert "2,000 bytes" in answer["rejected"][9]["message"]
    assert sorted(one.name for one in reading.newest_of(ada.pk)) == ["bought", "viewed"]
    assert count() == 2


@pytest.mark.parametrize("name", ["", " "])
def test_a_name_that_cannot_be_seen_is_refused_in_quotes(
    alice: Caller, ada: Contact, name: str
) -> None:
    (event,) = send(alice, did("ada", properties={name: 1}))["rejected"]
    person = alice.put("contacts/eve", {"attributes": {name: 1}}).json()["errors"][0]
    assert (event["field"], person["field"]) == ("properties", "attributes")
    assert event["message"] == person["message"]
    assert event["message"].startswith(f"“{name}”: A name starts with a letter")


def test_an_event_older_than_its_project_keeps_events_or_of_the_future_is_refused(
    alice: Caller, ada: Contact, ours: Project
) -> None:
    Retention.objects.create(project=ours, kind="events", days=30)
    now = timezone.now()
    times = [now - timedelta(days=31), now - timedelta(days=29), now + timedelta(hours=23),
             now + timedelta(hours=25)]  # fmt: skip
    answer = send(alice, *(did("ada", at=at.isoformat()) for at in times))
    assert answer["written"] == 2
    old, future = answer["rejected"]
    assert (old["index"], old["message"]) == (0, "Older than the 30 days events are kept.")
    assert (future["index"], future["field"]) == (3, "at")
    assert "future" in future["message"]


def test_where_events_are_kept_for_ever_an_old_one_gets_a_part_of_its_own(
    alice: Caller, ada: Contact, ours: Project
) -> None:
    Retention.objects.create(project=ours, kind="events", days=None)
    send(alice, did("ada", at="2011-02-28T23:59:59-03:00"))
    assert "2011_03" in map(str, partitions.there())
    assert send(alice, did("ada", at="1999-12-31T00:00:00Z"))["rejected"][0]["field"] == "at"
    (found,) = reading.newest_of(ada.pk)
    assert found.at == datetime(2011, 3, 1, 2, 59, 59, tzinfo=UTC)


def test_a_thousand_events_are_written_by_as_many_statements_as_one(
    alice: Caller, ours: Project
) -> None:
    people = [make_contact(ours).external_id for _ in range(20)]
    send(alice, did(people[0]))  # the part of the month is there
    counts = []
    for number in (1, 1_000):
        with CaptureQueriesContext(connection) as captured:
            send(alice, *(did(people[n % 20]) for n in range(number)))
        counts.append(len([one for one in captured if "SAVEPOINT" not in one["sql"]]))
    assert counts[0] == counts[1] <= 8
    assert count() == 1_002


def test_more_events_than_fit_are_refused_at_once(alice: Caller, ada: Contact) -> None:
    response = alice.post("events", {"events": [did("ada")] * 1_001})
    assert response.status_code == 400
    assert fields_at_fault(response) == ["events"]
    assert count() == 0


def test_a_request_sent_again_with_its_key_writes_once(alice: Caller, ada: Contact) -> None:
    first = send(alice, did("ada"), Idempotency_Key="k1")
    assert send(alice, did("ada"), Idempotency_Key="k1") == first
    assert count() == 1


def test_who_erases_a_person_erases_their_events(
    alice: Caller, ada: Contact, ours: Project
) -> None:
    make_contact(ours, external_id="bob")
    send(alice, did("ada"), did("bob"))
    assert alice.delete("contacts/ada").status_code == 204
    assert reading.newest_of(ada.pk) == []
    assert count() == 1


def test_a_key_without_the_scope_writes_no_event(ours: Project, ada: Contact) -> None:
    assert Caller(ours, ["templates"]).post("events", {"events": [did("ada")]}).status_code == 403
    assert count() == 0


def test_any_offset_and_the_ends_of_time_are_written_or_refused_by_row(
    alice: Caller, ada: Contact, ours: Project
) -> None:
    """PostgreSQL knows offsets below 16 hours, of whole seconds: moments are given to it in UTC."""
    Retention.objects.create(project=ours, kind="events", days=None)
    noon = datetime(2024, 2, 29, 12, tzinfo=UTC)
    told = ["2024-03-01T11:59:00+23:59", "2024-02-28T12:01:00-23:59", "2024-02-29T21:00:00+09:00",
            "2024-02-29T12:00:30+00:00:30"]  # fmt: skip
    answer = send(alice, *(did("ada", at=at) for at in told))
    assert answer == {"written": 4, "duplicates": 0, "rejected": []}
    assert {one.at for one in reading.newest_of(ada.pk)} == {noon}
    ends = ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2023-02-29T00:00:00Z",
            "2024-02-29T24:00:00Z", "2024-02-29T12:00:00"]  # fmt: skip
    answer = send(alice, *(did("ada", at=at) for at in ends))
    assert [(one["index"], one["field"]) for one in answer["rejected"]] == [
        (index, "at") for index in range(5)
    ]


@pytest.mark.parametrize(
    ("last", "first"),
    [
        ("2023-12-31T23:59:59.999999Z", "2024-01-01T00:00:00Z"),
        ("2024-02-29T23:59:59.999999Z", "2024-03-01T00:00:00Z"),
        ("2023-02-28T23:59:59.999999Z", "2023-03-01T00:00:00Z"),
        ("2024-03-31T09:59:59.999999+10:00", "2024-03-31T10:00:00+10:00"),  # a clock of one's own
        ("2024-01-01T08:59:59.999999+09:00", "2023-12-31T19:00:00-05:00"),
    ],
)
def test_a_months_last_and_next_moments_are_kept_as_they_were_in_parts_of_their_own(
    alice: Caller, ada: Contact, ours: Project, last: str, first: str
) -> None:
    Retention.objects.create(project=ours, kind="events", days=None)
    assert send(alice, did("ada", at=last), did("ada", at=first))["written"] == 2
    found = [one.at for one in reading.newest_of(ada.pk)]
    assert found == [datetime.fromisoformat(first), datetime.fromisoformat(last)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(DISTINCT tableoid) FROM notifications_event")
        parts = cursor.fetchone()[0]
    months = {(at.astimezone(UTC).year, at.astimezone(UTC).month) for at in found}
    assert parts == len(months)


# --- An id of its own -----------------------------------------------------------------------------


def test_an_event_with_an_id_is_accepted_once_in_its_project(
    alice: Caller, charlie: Caller, ada: Contact
) -> None:
    answer = send(alice, did("ada", id="order-1"), did("ada", id="order-1"), did("ada"))
    assert answer == {"written": 2, "duplicates": 1, "rejected": []}
    again = did("ada", "refunded", id="order-1", properties={"a": 1})
    assert send(alice, again, did("ada", id="order-2"))["duplicates"] == 1
    assert sorted(one.name for one in reading.newest_of(ada.pk)) == ["bought"] * 3
    make_contact(charlie.project, external_id="ada")
    assert send(charlie, did("ada", id="order-1"))["written"] == 1


def test_an_id_that_comes_twice_makes_one_trigger(alice: Caller, ada: Contact) -> None:
    automation = make_automation(alice.project, event_name="bought")
    for _ in range(2):
        send(alice, did("ada", id="order-1"))
    assert Trigger.objects.filter(automation=automation).count() == 1


def test_an_event_that_was_refused_leaves_its_id_free(alice: Caller, ours: Project) -> None:
    too_old = timezone.now() - timedelta(days=500)
    answer = send(alice, did("ada", id="a"), did("ada", id="b", at=too_old.isoformat()))
    assert [row["field"] for row in answer["rejected"]] == ["contact", "at"]
    make_contact(ours, external_id="ada")
    assert send(alice, did("ada", id="a"), did("ada", id="b"))["written"] == 2


@pytest.mark.parametrize("id", ["", 5, None, "x" * 201, "a\u0000"])
def test_an_id_that_is_none_is_refused_by_its_row(alice: Caller, ada: Contact, id: Any) -> None:
    answer = send(alice, did("ada", id=id), did("ada"))
    assert answer["written"] == 1
    assert [(row["index"], row["field"]) for row in answer["rejected"]] == [(0, "id")]


def test_ids_are_forgotten_with_the_events_of_their_time(alice: Caller, ada: Contact) -> None:
    old = timezone.now() - timedelta(days=40)
    send(alice, did("ada", id="old", at=old.isoformat()), did("ada", id="new"))
    Retention.objects.create(project=alice.project, kind="events", days=30)
    tasks.tidy()
    answer = send(alice, did("ada", id="old"), did("ada", id="new"))
    assert (answer["written"], answer["duplicates"]) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_calls_at_once_with_the_same_ids_write_each_event_once(ours: Project) -> None:
    person = make_contact(ours, external_id="ada")
    callers = [Caller(ours) for _ in range(4)]
    send(callers[0], did("ada", "first"))  # the part of the month is there

    def call(number: int) -> int:
        ids = [f"order-{n}" for n in range(20)]
        try:
            rows = (did("ada", id=one) for one in (ids if number % 2 else reversed(ids)))
            written: int = send(callers[number], *rows)["written"]
            return written
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(call, range(4))) == 20
    assert len(reading.newest_of(person.pk, 100)) == 21


# --- People who are not known yet -----------------------------------------------------------------


def test_unknown_people_are_created_if_the_call_says_so(alice: Caller, ada: Contact) -> None:
    body = {"create": True, "events": [did("ada"), did("new"), did("new", "viewed"), did("bulk")]}
    answer = alice.post("events", body).json()
    assert (answer["written"], [row["index"] for row in answer["rejected"]]) == (3, [3])
    created = Contact.objects.exclude(pk=ada.pk).get()
    assert (created.external_id, created.attributes) == ("new", {})
    assert {one.name for one in reading.newest_of(created.pk)} == {"bought", "viewed"}
    entry = AuditEntry.objects.get(action="wrote")
    assert (entry.detail["created"], entry.subject_kind) == (1, "contact")


def test_nobody_is_created_without_being_asked_for_or_for_a_refused_event(
    alice: Caller, ours: Project
) -> None:
    assert send(alice, did("new"))["written"] == 0
    alice.post("events", {"create": True, "events": [did("new", at="soon")]})
    refused = alice.post("events", {"create": "perhaps", "events": [did("new")]})
    assert (refused.status_code, fields_at_fault(refused)) == (400, ["create"])
    assert not Contact.objects.exists()
    assert not AuditEntry.objects.exists()


# --- Names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "Order Completed",
        "cart.add",
        "checkout-started",
        "구매 완료",
        "100%",
        "a\\b",
        'x"y',
        "N" * 64,
    ],
)
def test_a_name_is_any_short_line(alice: Caller, ada: Contact, name: str) -> None:
    assert send(alice, did("ada", name))["written"] == 1
    assert [one.name for one in reading.newest_of(ada.pk)] == [name]
    rule = {"field": "event", "op": "did", "value": {"name": name}}
    assert alice.post("audiences/estimate", {"rules": rule}).json()["contacts"] == 1
    template = make_template(alice.project)
    automation = {"name": "A", "event": {"name": name}, "template": template.pk,
                  "unless": {"name": name}}  # fmt: skip
    assert alice.post("automations", automation).status_code == 201
    goal = {"name": "C", "audience": make_audience(alice.project).pk, "template": template.pk,
            "goal_event": name}  # fmt: skip
    assert alice.post("campaigns", goal).json()["goal_event"] == name


@pytest.mark.parametrize(
    "name", ["", " ", " a", "a ", "a\tb", "a\nb", "a\u0000", "x" * 65, 5, "\u200b"]
)
def test_a_name_that_nobody_could_type_is_refused(alice: Caller, ada: Contact, name: Any) -> None:
    answer = send(alice, did("ada", name))
    assert (answer["written"], [row["field"] for row in answer["rejected"]]) == (0, ["name"])
    rule = {"field": "event", "op": "did", "value": {"name": name}}
    assert alice.post("audiences/estimate", {"rules": rule}).status_code == 400
