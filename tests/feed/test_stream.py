"""The live inbox: what arrives is on the screen, once, and to nobody else."""

from __future__ import annotations

import pytest

from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.api.own_app import OwnApp, app_of
from tests.feed.conftest import send
from tests.given.builders import make_contact, make_project
from tests.servers.feed import Ear, Feed

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_item_comes_while_the_app_listens(ear: Ear, ada: Contact) -> None:
    send(ada, content={"title": "Hello", "body": "You have mail"})
    item = ear.until("item").data
    assert (item["title"], item["body"]) == ("Hello", "You have mail")
    assert item["seen_at"] is None
    assert ear.until("counts").data == {"unseen": 1, "unread": 1}


def test_a_stream_begins_with_how_much_there_is_and_sends_none_of_it_again(
    feed: Feed, ada: Contact, app: OwnApp
) -> None:
    send(ada, 3)
    ear = feed.listen(app.token)
    assert ear.headers["content-type"].startswith("text/event-stream")
    assert ear.headers["cache-control"] == "no-store"
    assert ear.until("counts").data == {"unseen": 3, "unread": 3}
    assert 1_000 <= ear.events[0].retry <= 5_000
    send(ada)
    ear.items(1)
    assert [event.kind for event in ear.events].count("item") == 1


def test_what_arrived_while_the_app_slept_comes_when_it_is_back(
    feed: Feed, ear: Ear, ada: Contact, app: OwnApp
) -> None:
    send(ada)
    (first,) = ear.items(1)
    ear.close()
    send(ada, 3)
    back = feed.listen(app.token, Last_Event_ID=ear.position)
    missed = back.items(3)
    assert missed == sorted(missed)
    assert first not in missed
    back.until("counts")
    send(ada)
    back.items(1)
    assert [event.kind for event in back.events].count("item") == 4


def test_nobody_hears_of_another_persons_items(
    feed: Feed, ear: Ear, ada: Contact, ours: Project
) -> None:
    make_contact(ours, external_id="bob")
    elsewhere = make_contact(make_project(), external_id="ada")
    bob, other = (
        feed.listen(app_of(project, name).token)
        for project, name in ((ours, "bob"), (elsewhere.project, "ada"))
    )
    for one in (bob, other):
        one.until("counts")
    send(ada, 2)
    ear.items(2)
    for one in (bob, other):
        assert one.during(1) == []


def test_who_has_many_items_hears_no_old_one_after_a_reconnect(
    feed: Feed, ada: Contact, app: OwnApp
) -> None:
    send(ada, 70)
    ear = feed.listen(app.token)
    ear.until("counts")
    for arrived in (0, 15, 1):
        if arrived:
            send(ada, arrived)
            ear.items(arrived)
        ear.close()
        ear = feed.listen(app.token, Last_Event_ID=ear.position)
        ear.until("counts")
        assert [event.kind for event in ear.events].count("item") == 0
    send(ada)
    ear.items(1)
    assert [event.kind for event in ear.events].count("item") == 1
