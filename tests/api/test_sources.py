"""Of an installation's addresses, one the app registered wins over what files and backends say.

Else the newest registration wins. Every order of sources is tried, each on a person of its own.
"""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from time import sleep

import pytest
from django.db import connection, transaction
from django.utils import timezone

from notifications.people import device as devices
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.people.registry import Address, register_one
from tests.api.caller import Caller
from tests.given.builders import make_contact, make_device
from tests.given.importing import bring_in, check, mapped, upload

FID = "cdefGHIJklmn0123456_-A"
OLD, NEW, LAST = (f"{FID}:APA91b-{name}" for name in ("old", "new", "last"))
OTHER = "no.installation.of.it.:"  # 22 letters, but not those of an ID
HEAD = "external_id,token,platform\n"
SOURCES = ("app", "put", "bulk", "file", "replacing file")


def say(caller: Caller, source: str, said: dict[str, str]) -> None:
    """The token of each of these people, by this source."""
    if source in ("file", "replacing file"):
        rows = "".join(f"{name},{token},ios\n" for name, token in said.items())
        one = bring_in(caller.project, HEAD + rows, mode="add" if source == "file" else "replace")
        assert (one.state, one.refused) == ("finished", 0)
        return
    told = {name: {"token": token, "platform": "ios"} for name, token in said.items()}
    if source == "bulk":
        rows_ = [{"external_id": name, "devices": [device]} for name, device in told.items()]
        replies = [caller.post("contacts/bulk", {"contacts": rows_})]
    elif source == "put":
        replies = [caller.put(f"contacts/{name}", {"devices": [d]}) for name, d in told.items()]
    else:
        replies = [caller.post("devices", {"contact": name, **d}) for name, d in told.items()]
    assert {reply.status_code for reply in replies} <= {200, 201}


def receiving(name: str) -> list[str]:
    active = Device.objects.filter(contact__external_id=name, retired_at=None)
    return [*active.values_list("address", flat=True)]


def expected(sources: tuple[str, ...], tokens: tuple[str, ...]) -> str:
    """Whose address receives, said in plain words."""
    by_app = [token for source, token in zip(sources, tokens, strict=True) if source == "app"]
    return by_app[-1] if by_app else tokens[-1]


@pytest.mark.parametrize(
    "order", [(OLD, NEW, OLD), (OLD, NEW, LAST)], ids=["the old one again", "a third"]
)
def test_the_newest_receives_unless_the_app_itself_said_another(
    alice: Caller, order: tuple[str, ...]
) -> None:
    """All sources in all orders: a file or backend that says an old address changes nothing where
    the app said one, and is believed where nobody else did."""
    every = {f"p{n:03}": sources for n, sources in enumerate(product(SOURCES, repeat=3))}
    make = {name: f"cdefGHIJklmn0123456{n:03}" for n, name in enumerate(every)}
    for name in every:
        make_contact(alice.project, external_id=name)
    for step, token in enumerate(order):
        groups: dict[str, dict[str, str]] = defaultdict(dict)
        for name, sources in every.items():
            groups[sources[step]][name] = token.replace(FID, make[name])
        for source, said in groups.items():
            say(alice, source, said)
    wrong = {
        sources: receiving(name)
        for name, sources in every.items()
        if receiving(name) != [expected(sources, order).replace(FID, make[name])]
    }
    assert not wrong
    assert not Device.objects.exclude(retired_reason__in=("", "replaced")).exists()


def test_an_address_that_fcm_called_dead_is_not_brought_back_by_an_old_file(alice: Caller) -> None:
    say(alice, "file", {"ada": OLD})
    say(alice, "file", {"ada": NEW})
    Device.objects.filter(address=NEW).update(
        retired_at=timezone.now(), retired_reason="unregistered"
    )
    say(alice, "file", {"ada": OLD})
    say(alice, "file", {"ada": NEW})
    assert receiving("ada") == []


def test_a_phone_that_logged_out_is_not_brought_back_by_an_old_file(alice: Caller) -> None:
    say(alice, "file", {"ada": OLD})
    say(alice, "app", {"ada": NEW})
    assert alice.delete(f"devices/{NEW}").status_code == 204
    say(alice, "file", {"ada": OLD})
    assert receiving("ada") == []


def test_a_file_that_names_an_installation_twice_registers_the_last(alice: Caller) -> None:
    text = HEAD + f"ada,{NEW},ios\nada,{OLD},ios\nbob,{OTHER}1,ios\nbob,{OTHER}2,ios\n"
    for _ in range(2):
        bring_in(alice.project, text)
        assert receiving("ada") == [OLD] and len(receiving("bob")) == 2
    assert not Device.objects.filter(address=NEW).exists()


def test_a_check_counts_whose_old_address_comes_back(alice: Caller) -> None:
    say(alice, "file", {"ada": OLD})
    say(alice, "file", {"ada": NEW})
    one = check(mapped(upload(alice.project, HEAD + f"ada,{OLD},ios\n")))
    assert one.foreseen["updated"] == 1
    one = check(mapped(upload(alice.project, HEAD + f"ada,{NEW},ios\n")))
    assert one.foreseen["unchanged"] == 1


def test_what_the_app_said_receives_again_after_a_sending_retired_it_by_mistake(
    alice: Caller,
) -> None:
    say(alice, "file", {"ada": OLD})
    say(alice, "app", {"ada": NEW})
    now = timezone.now()
    ids = Device.objects.filter(address=NEW).values_list("pk", flat=True)
    devices.retire(ids, reason="unregistered", by="run 1", sent_at=now, now=now)
    say(alice, "bulk", {"ada": LAST})
    assert receiving("ada") == [LAST]
    devices.restore("run 1", now=timezone.now())
    assert receiving("ada") == [NEW]


def test_a_device_without_a_source_is_replaced_by_any_source(alice: Caller) -> None:
    make_device(make_contact(alice.project, external_id="ada"), OLD)
    say(alice, "file", {"ada": NEW})
    assert receiving("ada") == [NEW]


def _waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        return bool(cursor.rowcount)


@pytest.mark.django_db(transaction=True)
def test_a_phone_and_a_file_that_register_an_installation_at_once_leave_one_address(
    alice: Caller, ours: Project
) -> None:
    make_contact(ours, external_id="ada")

    def file() -> None:
        try:
            say(alice, "file", {"bob": OLD})
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            register_one(ours, "ada", Address("token", NEW, "ios"), now=timezone.now())
            importing = other.submit(file)
            while not importing.done() and not _waits():
                sleep(0.01)
        importing.result()
    assert (receiving("ada"), receiving("bob")) == ([NEW], [])
