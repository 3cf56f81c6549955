"""A person's inbox: read page by page, counted, marked one, many and all, by nobody else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection
from django.utils import timezone

from notifications.inbox.item import InboxItem
from notifications.inbox.reading import COUNTS
from notifications.inbox.storing import New, store
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.staff.api_key import Scope
from tests.api.caller import Caller, fields_at_fault
from tests.api.own_app import OwnApp, app_of
from tests.given.builders import make_contact, make_project

LONG = "An article."


@pytest.fixture
def ada(project: Project) -> Contact:
    return make_contact(project, external_id="ada")


@pytest.fixture
def app(project: Project, ada: Contact, settings: LazySettings) -> OwnApp:
    settings.API_RATE_PER_PERSON = 1_000
    return app_of(project, "ada")


def fill(person: Contact, count: int = 3, **other: Any) -> list[int]:
    """Their numbers, the oldest first."""
    before = InboxItem.objects.filter(contact=person).count()
    for number in range(before + 1, before + count + 1):
        content = {"title": f"Item {number}", "body": "Text", "image": "", "link": "", "data": {}}
        store(person.project_id, [New(person.pk, f"item {number}", content, **other)])
    mine = InboxItem.objects.filter(contact=person).order_by("pk")
    return list(mine.values_list("pk", flat=True))[before:]


def titles(app: OwnApp, query: str = "") -> list[str]:
    answer = app("GET", f"inbox{query}")
    assert answer.status_code == 200, answer.content
    return [item["title"] for item in answer.json()["results"]]


def counts(app: OwnApp) -> tuple[int, int]:
    said = app("GET", "inbox/counts").json()
    return said["unseen"], said["unread"]


def test_the_newest_is_read_first_and_the_next_page_goes_on(app: OwnApp, ada: Contact) -> None:
    fill(ada, 5)

    first = app("GET", "inbox?limit=2").json()
    assert [item["title"] for item in first["results"]] == ["Item 5", "Item 4"]

    rest = app("GET", "inbox?" + first["next"].partition("?")[2] + "&").json()
    assert [item["title"] for item in rest["results"]] == ["Item 3", "Item 2"]


def test_an_item_is_read_with_its_long_text(app: OwnApp, ada: Contact) -> None:
    (number,) = fill(ada, 1, article=LONG, category="news")

    item = app("GET", f"inbox/{number}").json()

    assert (item["title"], item["article"], item["category"]) == ("Item 1", LONG, "news")
    assert item["read_at"] is None  # an app says itself when it was read


@pytest.mark.parametrize("mark", ["seen", "read", "archived"])
def test_one_item_is_marked_the_first_time_stays_and_it_is_taken_back(
    app: OwnApp, ada: Contact, mark: str
) -> None:
    number, _ = fill(ada, 2)

    first = app("POST", f"inbox/{number}/{mark}").json()[f"{mark}_at"]
    assert first is not None
    assert app("POST", f"inbox/{number}/{mark}").json()[f"{mark}_at"] == first
    assert app("DELETE", f"inbox/{number}/{mark}").json()[f"{mark}_at"] is None
    assert not InboxItem.objects.exclude(**{f"{mark}_at": None}).exists()


def test_what_is_read_is_seen_and_what_is_not_seen_is_not_read(app: OwnApp, ada: Contact) -> None:
    (number,) = fill(ada, 1)

    read = app("POST", f"inbox/{number}/read").json()
    assert None not in (read["seen_at"], read["read_at"])

    unread = app("DELETE", f"inbox/{number}/read").json()
    assert unread["seen_at"] == read["seen_at"]
    app("POST", f"inbox/{number}/read")
    unseen = app("DELETE", f"inbox/{number}/seen").json()
    assert (unseen["seen_at"], unseen["read_at"]) == (None, None)


def test_counts_follow_the_marks_and_leave_out_the_archived(app: OwnApp, ada: Contact) -> None:
    one, two, three = fill(ada, 3)
    assert counts(app) == (3, 3)

    app("POST", f"inbox/{one}/seen")
    assert counts(app) == (2, 3)
    app("POST", f"inbox/{two}/read")
    assert counts(app) == (1, 2)
    app("POST", f"inbox/{three}/archived")
    assert counts(app) == (0, 1)
    app("DELETE", f"inbox/{three}/archived")
    assert counts(app) == (1, 2)


def test_the_inbox_is_asked_for_the_unseen_unread_archived_and_a_category(
    app: OwnApp, ada: Contact
) -> None:
    one, two, three = fill(ada, 3)
    fill(ada, 1, category="news")
    app("POST", f"inbox/{one}/seen")
    app("POST", f"inbox/{two}/read")
    app("POST", f"inbox/{three}/archived")

    assert titles(app) == ["Item 4", "Item 2", "Item 1"]
    assert titles(app, "?unseen=true") == ["Item 4"]
    assert titles(app, "?unread=true") == ["Item 4", "Item 1"]
    assert titles(app, "?archived=true") == ["Item 3"]
    assert titles(app, "?category=news") == ["Item 4"]
    assert titles(app, "?category=%00") == []


@pytest.mark.parametrize(
    ("query", "field"),
    [("unseen=1", "unseen"), ("archived=", "archived"), ("seen=true", "seen"),
     ("limit=501", "limit"), ("cursor=x", "cursor")],
)  # fmt: skip
def test_a_filter_that_is_none_is_refused_by_name(
    app: OwnApp, ada: Contact, query: str, field: str
) -> None:
    refused = app("GET", f"inbox?{query}")
    assert (refused.status_code, fields_at_fault(refused)) == (400, [field])


def test_many_are_marked_at_once_and_those_of_others_change_nothing(
    app: OwnApp, project: Project, ada: Contact
) -> None:
    mine, theirs = fill(ada, 3), fill(make_contact(project, external_id="ben"), 1)

    answer = app("POST", "inbox/read", {"ids": [mine[0], mine[1], theirs[0], 2**63 - 1]})

    assert answer.json() == {"changed": 2, "unseen": 1, "unread": 1}
    assert InboxItem.objects.get(pk=theirs[0]).read_at is None
    assert app("POST", "inbox/read", {"ids": mine}).json()["changed"] == 1


def test_all_up_to_one_are_marked_and_what_arrived_meanwhile_is_not(
    app: OwnApp, ada: Contact
) -> None:
    last = fill(ada, 3)[-1]
    fill(ada, 1)

    assert app("POST", "inbox/seen", {"up_to": last}).json() == {
        "changed": 3, "unseen": 1, "unread": 4
    }  # fmt: skip
    assert app("POST", "inbox/archived", {"up_to": last}).json()["changed"] == 3
    assert titles(app) == ["Item 4"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "ids"),
        ({"ids": [1], "up_to": 1}, "ids"),
        ({"ids": []}, "ids"),
        ({"ids": list(range(1, 1_002))}, "ids"),
        ({"ids": ["x"]}, "ids[0]"),
        ({"ids": [2**63]}, "ids[0]"),
        ({"up_to": 0}, "up_to"),
        ({"up_to": 2**63}, "up_to"),
        ({"all": True}, "all"),
    ],
)
def test_marks_of_no_sense_are_refused_by_their_field(
    app: OwnApp, ada: Contact, body: Any, field: str
) -> None:
    refused = app("POST", "inbox/read", body)
    assert (refused.status_code, fields_at_fault(refused)) == (400, [field])


def test_items_of_others_are_not_there(app: OwnApp, project: Project, ada: Contact) -> None:
    (theirs,) = fill(make_contact(project, external_id="ben"), 1)
    elsewhere = make_project()
    (foreign,) = fill(make_contact(elsewhere, external_id="ada"), 1)

    for number in (theirs, foreign, 2**80):
        assert app("GET", f"inbox/{number}").status_code == 404
        assert app("POST", f"inbox/{number}/read").status_code == 404
        assert app("DELETE", f"inbox/{number}/read").status_code == 404
    assert titles(app) == []
    assert counts(app) == (0, 0)
    assert titles(app_of(elsewhere, "ada")) == ["Item 1"]
    assert not InboxItem.objects.exclude(read_at=None).exists()


def test_without_a_token_or_with_a_key_the_door_is_shut(project: Project, ada: Contact) -> None:
    fill(ada, 1)
    for token in ("", "inbox1.none", Caller(project).key):
        app = OwnApp(token)
        assert app("GET", "inbox").status_code == 401
        assert app("POST", "inbox/read", {"up_to": 1}).status_code == 401


def test_a_backend_reads_the_inbox_of_a_person_with_its_key(
    project: Project, app: OwnApp, ada: Contact
) -> None:
    fill(ada, 2)
    call = Caller(project)

    assert [one["title"] for one in call.get("inbox?contact=ada").json()["results"]] == [
        "Item 2", "Item 1"
    ]  # fmt: skip
    assert call.get("inbox/counts?contact=ada").json() == {"unseen": 2, "unread": 2}
    assert fields_at_fault(call.get("inbox?contact=ben")) == ["contact"]
    assert fields_at_fault(call.get("inbox/counts")) == ["contact"]
    without = Caller(project, [scope for scope in Scope if scope != Scope.MESSAGES])
    assert without.get("inbox?contact=ada").status_code == 403
    assert without.get("inbox/counts?contact=ada").status_code == 403


def test_an_export_tells_all_of_it(project: Project, ada: Contact) -> None:
    fill(ada, 1, article=LONG, expires_at=timezone.now())

    answer = Caller(project).get("export?contact=ada")

    (item,) = json.loads(answer.getvalue())["inbox"]
    assert (item["title"], item["article"]) == ("Item 1", LONG)


def test_ten_thousand_items_are_counted_and_read_by_their_index(
    app: OwnApp, project: Project, ada: Contact
) -> None:
    content = {"title": "Item", "body": "", "image": "", "link": "", "data": {}}
    others = [make_contact(project).pk for _ in range(20)]
    with connection.cursor() as cursor:  # what is known of an empty table must not mislead
        cursor.execute("ANALYZE notifications_inboxitem")
    for person in [ada.pk] * 10 + others:
        before = InboxItem.objects.filter(contact=person).count()
        some = range(before, before + 1_000)
        store(project.pk, [New(person, f"item {number}", content) for number in some])
    assert counts(app) == (10_000, 10_000)

    hundred_and_first = app("GET", "inbox?limit=101").json()["results"][100]["id"]
    assert app("POST", "inbox/read", {"up_to": hundred_and_first}).json() == {
        "changed": 9_900, "unseen": 100, "unread": 100
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE notifications_inboxitem")
        cursor.execute(f"EXPLAIN {COUNTS}", [ada.pk])
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "inbox_unread" in plan
