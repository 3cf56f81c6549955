"""The people of a project, page by page, and those of them a program looks for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications.people import contact_search
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_contact, make_device

NOON = datetime(2026, 5, 31, 12, tzinfo=UTC)


def ids(caller: Caller, query: str = "") -> list[str]:
    """Of all pages."""
    found, path = [], f"contacts{query}"
    while path:
        page = caller.get(path)
        assert page.status_code == 200, page.content
        found += [person["external_id"] for person in page.json()["results"]]
        parts = urlsplit(page.json()["next"] or "")
        path = f"contacts?{parts.query}" if parts.query else ""
    return found


def test_everybody_is_on_one_page_newest_first_with_their_devices(
    alice: Caller, charlie: Caller, ours: Project
) -> None:
    for name in ("a", "b", "c"):
        make_device(make_contact(ours, external_id=name), f"phone-of-{name}")
    make_contact(charlie.project, external_id="theirs")
    assert ids(alice, "?limit=2") == ["c", "b", "a"]
    [newest, *_] = alice.get("contacts").json()["results"]
    assert newest == alice.get("contacts/c").json()
    assert newest["devices"][0]["token"] == "phone-of-c"


def test_the_number_of_statements_does_not_grow_with_the_people(
    alice: Caller, ours: Project
) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            alice.get("contacts")
        return len(captured)

    alice.get("runs")  # notes the use of the key
    make_device(make_contact(ours))
    few = statements()
    for _ in range(5):
        make_device(make_contact(ours))
    assert statements() == few


def test_people_are_found_by_the_start_of_their_id(alice: Caller, ours: Project) -> None:
    for name in ("shop-1", "shop-2", "SHOP-3", "other", "s%"):
        make_contact(ours, external_id=name)
    assert ids(alice, "?external_id_prefix=shop-&limit=1") == ["shop-2", "shop-1"]
    assert ids(alice, "?external_id_prefix=s%25") == ["s%"]
    assert ids(alice, "?external_id_prefix=nobody") == []


def test_people_are_found_by_when_they_changed(alice: Caller, ours: Project) -> None:
    for hours, name in enumerate(("old", "same", "new")):
        contact = make_contact(ours, external_id=name)
        changed = NOON + timedelta(hours=hours - 1)
        Contact.objects.filter(pk=contact.pk).update(updated_at=changed)
    assert ids(alice, "?updated_since=2026-05-31T12:00:00Z") == ["new", "same"]
    assert ids(alice, "?updated_since=2026-05-31T21:30:00%2B09:00") == ["new"]
    assert ids(alice, "?updated_since=2026-05-31T00:00Z&external_id_prefix=o") == ["old"]


def test_people_are_found_by_values_that_they_have(alice: Caller, ours: Project) -> None:
    make_contact(ours, external_id="a", attributes={"plan": "gold", "n": 1, "likes": ["tea"]})
    make_contact(ours, external_id="b", attributes={"plan": "gold", "n": "1"})
    make_contact(ours, external_id="c", attributes={"plan": "free"})
    assert ids(alice, '?attributes={"plan": "gold"}&limit=1') == ["b", "a"]
    assert ids(alice, '?attributes={"plan": "gold", "n": 1}') == ["a"]
    assert ids(alice, '?attributes={"likes": ["tea"]}') == ["a"]
    assert ids(alice, '?attributes={"plan": "Gold"}') == []


def test_people_are_found_by_a_device_that_can_receive(alice: Caller, ours: Project) -> None:
    a, b, c = (make_contact(ours, external_id=name) for name in ("a", "b", "c"))
    for contact in (a, a, b):
        make_device(contact, platform="ios")
    make_device(c, platform="ios", retired_at=NOON, retired_reason="removed")
    make_device(c, platform="web")
    assert ids(alice, "?platform=ios") == ["b", "a"]
    assert ids(alice, '?platform=web&q=C&attributes={"first_name": "Ada"}') == ["c"]


def test_people_are_found_by_whether_they_want_to_hear_from_us(
    alice: Caller, ours: Project
) -> None:
    make_contact(ours, external_id="yes")
    make_contact(ours, external_id="no", subscribed=False)
    assert ids(alice, "?subscribed=false") == ["no"]
    assert ids(alice, "?subscribed=true") == ["yes"]


def test_people_are_found_by_the_start_of_their_id_in_any_case(
    alice: Caller, ours: Project
) -> None:
    for name in ("shop-1", "SHOP-3", "other", "s%"):
        make_contact(ours, external_id=name)
    assert ids(alice, "?q=Shop") == ["SHOP-3", "shop-1"]
    assert ids(alice, "?q=s%25") == ["s%"]


def test_few_among_many_are_found_by_the_index_when_reading_the_newest_takes_too_long(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_contact(ours, external_id="a", attributes={"plan": "gold"})
    monkeypatch.setattr(contact_search, "NEWEST_SECONDS", 0.01)
    plans: list[str] = []

    def first_slow(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "@>" not in sql:
            return execute(sql, params, many, context)
        if not plans:
            plans.append("from the newest on")
            return execute("SELECT pg_sleep(1)", None, False, context)
        with connection.cursor() as cursor:
            cursor.cursor.execute(f"EXPLAIN {sql}", params)
            plans.extend(row[0] for row in cursor.fetchall())
        return execute(sql, params, many, context)

    with connection.execute_wrapper(first_slow):
        assert ids(alice, '?attributes={"plan": "gold"}') == ["a"]
    assert any("Bitmap Index Scan" in line for line in plans)
    with connection.cursor() as cursor:
        cursor.execute("SHOW enable_seqscan")
        assert cursor.fetchone() == ("on",)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("updated_since=yesterday", "updated_since"),
        ("updated_since=", "updated_since"),
        ("updated_since=0001-01-01T00:00:00%2B14:00", "updated_since"),
        ("external_id_prefix=%00", "external_id_prefix"),
        ("external_id_prefix=", "external_id_prefix"),
        (f"external_id_prefix={'x' * 201}", "external_id_prefix"),
        ("q=", "q"),
        ("q=%00", "q"),
        ("attributes=gold", "attributes"),
        ("attributes={}", "attributes"),
        ('attributes=["gold"]', "attributes"),
        ('attributes={"a b": 1}', "attributes"),
        ('attributes={"a": "%5Cu0000"}', "attributes"),
        ("platform=palm", "platform"),
        ("subscribed=perhaps", "subscribed"),
        ("limit=501", "limit"),
        ("cursor=1", "cursor"),
        ("external_id=u1", "external_id"),
    ],
)
def test_a_filter_that_cannot_be_understood_is_refused(
    alice: Caller, query: str, field: str
) -> None:
    response = alice.get(f"contacts?{query}")
    assert response.status_code == 400
    assert fields_at_fault(response) == [field]


def test_a_search_that_holds_the_door_for_too_long_is_given_up_with_a_way_out(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_contact(ours)
    monkeypatch.setattr(contact_search, "LOOKING_SECONDS", 0.01)
    monkeypatch.setattr(contact_search, "NEWEST_SECONDS", 0.01)

    def slow(execute: object, sql: str, params: object, many: bool, context: object) -> object:
        assert callable(execute)
        if "updated_at" in sql and sql.startswith("SELECT"):
            return execute("SELECT pg_sleep(1)", None, False, context)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(slow):
        response = alice.get("contacts?updated_since=2026-05-31T12:00:00Z")
    assert response.status_code == 400
    assert fields_at_fault(response) == ["updated_since"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ('{"1st": 1}', "1st: "),
        ('{"plan": "' + "x" * 2_000 + '"}', "At most 2,000 characters."),
        ("[]", "Must be a JSON object of values"),
    ],
)
def test_values_that_cannot_be_asked_are_refused_with_what_is_wrong(
    alice: Caller, asked: str, said: str
) -> None:
    refused = alice.get(f"contacts?attributes={asked}")
    assert fields_at_fault(refused) == ["attributes"]
    assert refused.json()["errors"][0]["message"].startswith(said)
