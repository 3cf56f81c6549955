"""Somebody else creates people and devices of a file at the moment in which they are merged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from django.db import connection, transaction
from django.utils import timezone

from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.people.registry import Address, register_one
from tests.given.builders import make_contact, make_project
from tests.given.importing import bring_in
from tests.given.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)

FILE = "external_id,token,platform,city\n" + "".join(f"u{n},t{n}:A,ios,Seoul\n" for n in range(9))


@pytest.fixture
def shop(transactional_db: None) -> Project:
    return make_project()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def held_until_somebody_waits(deed: Callable[[], object], done: Event) -> None:
    """In a transaction that is committed when another one waits for what it wrote."""
    try:
        with transaction.atomic():
            deed()
            done.set()
            eventually("the import waits for it", somebody_waits, seconds=30)
    finally:
        connection.close()


def somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted")
        return bool(cursor.rowcount)


def while_held(pool: ThreadPoolExecutor, deed: Callable[[], object]) -> None:
    done = Event()
    other = pool.submit(held_until_somebody_waits, deed, done)
    assert done.wait(30)
    if other.done():
        other.result()


def test_a_person_created_meanwhile_is_there_once_with_the_files_values(
    shop: Project, pool: ThreadPoolExecutor
) -> None:
    while_held(pool, lambda: make_contact(shop, external_id="u4", attributes={"points": 1}))
    one = bring_in(shop, FILE)
    assert one.state == "finished"
    assert {name: one.counts[name] for name in ("created", "updated")} == {
        "created": 8, "updated": 1
    }  # fmt: skip
    found = Contact.objects.filter(project=shop, external_id="u4").get()
    assert found.attributes == {"points": 1, "city": "Seoul"}
    assert Device.objects.filter(project=shop).count() == 9


def test_a_device_registered_meanwhile_is_there_once_and_moves_to_the_files_person(
    shop: Project, pool: ThreadPoolExecutor
) -> None:
    make_contact(shop, external_id="somebody")
    phone = Address("token", "t4:A", "android")
    while_held(pool, lambda: register_one(shop, "somebody", phone, now=timezone.now()))
    one = bring_in(shop, FILE)
    assert (one.state, one.counts["created"]) == ("finished", 9)
    device = Device.objects.get(project=shop, address="t4:A")
    assert (device.contact.external_id, device.platform) == ("u4", "ios")
    assert Device.objects.filter(project=shop).count() == 9
