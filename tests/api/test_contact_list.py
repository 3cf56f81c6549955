"""The people of a project, page by page, and those of them a program looks for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications.api import contacts
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


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("updated_since=yesterday", "updated_since"),
        ("updated_since=", "updated_since"),
        ("updated_since=0001-01-01T00:00:00%2B14:00", "updated_since"),
        ("external_id_prefix=%00", "external_id_prefix"),
        ("external_id_prefix=", "external_id_prefix"),
        (f"external_id_prefix={'x' * 201}", "external_id_prefix"),
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
    monkeypatch.setattr(contacts, "LOOKING_SECONDS", 0.01)

    def slow(execute: object, sql: str, params: object, many: bool, context: object) -> object:
        assert callable(execute)
        if "updated_at" in sql and sql.startswith("SELECT"):
            return execute("SELECT pg_sleep(1)", None, False, context)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(slow):
        response = alice.get("contacts?updated_since=2026-05-31T12:00:00Z")
    assert response.status_code == 400
    assert fields_at_fault(response) == ["updated_since"]
