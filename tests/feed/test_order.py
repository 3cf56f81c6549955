"""Numbers do not commit in their order, and much may come at once: nothing is lost for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, transaction

from notifications.inbox.item import InboxItem
from notifications.inbox.storing import store
from notifications.people.contact import Contact
from tests.api.own_app import OwnApp, app_of
from tests.feed.conftest import new_items, send
from tests.given.builders import make_contact
from tests.servers.feed import Ear, Feed

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def stored_and_not_committed(person: Contact) -> Iterator[None]:
    """Another transaction has an item with a number of its own, and commits at the end."""
    there, go_on = threading.Event(), threading.Event()

    def write() -> None:
        with transaction.atomic():
            store(person.project_id, new_items(person))
            there.set()
            go_on.wait(60)
        connection.close()

    thread = threading.Thread(target=write)
    thread.start()
    assert there.wait(60)
    try:
        yield
    finally:
        go_on.set()
        thread.join(60)


def numbers() -> list[int]:
    return list(InboxItem.objects.order_by("pk").values_list("pk", flat=True))


def test_an_item_that_commits_after_a_higher_number_comes_too(ear: Ear, ada: Contact) -> None:
    with stored_and_not_committed(ada):
        send(ada)
        (higher,) = ear.items(1)
    (lower,) = ear.items(1)
    assert numbers() == [lower, higher]


def test_it_comes_after_a_reconnect_too(feed: Feed, ear: Ear, ada: Contact, app: OwnApp) -> None:
    with stored_and_not_committed(ada):
        send(ada)
        (higher,) = ear.items(1)
        ear.close()
    back = feed.listen(app.token, Last_Event_ID=ear.position)
    (lower,) = back.items(1)
    back.until("counts")
    assert numbers() == [lower, higher]
    assert higher not in [event.data["id"] for event in back.events if event.kind == "item"]


def test_it_comes_to_a_stream_that_began_meanwhile(feed: Feed, ada: Contact, app: OwnApp) -> None:
    with stored_and_not_committed(ada):
        send(ada)
        ear = feed.listen(app.token)
        ear.until("counts")
    (lower,) = ear.items(1)
    assert numbers()[0] == lower


def test_who_missed_too_much_is_told_to_read_the_list(
    feed: Feed, ear: Ear, ada: Contact, app: OwnApp
) -> None:
    send(ada)
    ear.items(1)
    ear.close()
    send(ada, 250)
    back = feed.listen(app.token, Last_Event_ID=ear.position)
    back.until("gap")
    assert back.items(200) == numbers()[-200:]
    assert back.until("counts").data["unread"] == 251


def test_a_position_of_another_database_means_read_the_list(
    feed: Feed, ada: Contact, app: OwnApp
) -> None:
    send(ada)
    back = feed.listen(app.token, Last_Event_ID="999999999999")
    back.until("gap")
    back.until("counts")
    send(ada)
    assert back.items(1) == numbers()[-1:]


def test_ten_thousand_items_to_one_person_keep_nobody_waiting(
    feed: Feed, ear: Ear, ada: Contact
) -> None:
    bob = make_contact(ada.project, external_id="bob")
    theirs = feed.listen(app_of(ada.project, "bob").token)
    theirs.until("counts")
    for _ in range(10):
        send(ada, 1_000)
        ear.during(0.05)  # who reads nothing is cut off
    send(bob)
    theirs.items(1)
    if ear.events[-1].data.get("unread") != 10_000:
        ear.until_counts(10_000)
    assert "gap" in {event.kind for event in ear.events}
