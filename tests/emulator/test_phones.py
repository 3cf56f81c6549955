"""What phones do with what they were sent, as the platform they call hears it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from emulator.settings import Settings
from emulator.witness.figures import Figures
from emulator.witness.phones import Phones, Push
from tests.emulator.conftest import Start
from tests.emulator.running import RunningEmulator
from tests.given.waiting import eventually

Event = tuple[str, str]


class Platform:
    """Takes beacons; the first few it may refuse."""

    def __init__(self) -> None:
        self.heard: list[Event] = []
        self.statuses: list[int] = []  # of the next answers; afterwards 204
        platform = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status = platform.statuses.pop(0) if platform.statuses else 204
                if status == 204:
                    (event,) = told.pop("receipts")
                    assert (told, event.keys()) == ({}, {"id", "event"})
                    platform.heard.append((event["id"], event["event"]))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/receipts"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait_for(self, *events: Event) -> None:
        eventually(f"{events} are heard", lambda: set(events) <= set(self.heard))


@pytest.fixture
def platform() -> Iterator[Platform]:
    platform = Platform()
    yield platform
    platform.server.shutdown()
    platform.server.server_close()


@pytest.fixture
def phones(emulator: RunningEmulator, platform: Platform) -> RunningEmulator:
    """Phones that are online, quick, and show and open everything."""
    emulator.settings(
        phones=True,
        beacon_url=platform.url,
        receive_ms=1,
        open_ms=1,
        displayed_percent=100,
        opened_percent=100,
        offline_percent=0,
        offline_seconds=0.2,
    )
    return emulator


def shown(message_id: str, *, tag: str = "", **more: Any) -> dict[str, Any]:
    android = {"notification": {"tag": tag}} if tag else {}
    return {
        "token": "a",
        "data": {"carillon_receipt": message_id},
        "notification": {"title": "x"},
        "android": android,
        **more,
    }


def test_a_notification_is_received_shown_and_opened(
    phones: RunningEmulator, platform: Platform
) -> None:
    phones.send(shown("1:1"))
    platform.wait_for(("1:1", "opened"))
    assert sorted(event for _, event in platform.heard) == ["displayed", "opened", "received"]
    told = {"told": 3, "waiting": 0}
    eventually("all answers are back", lambda: phones.counts()["beacon"] == told)
    assert phones.counts()["phones"] == {"received": 1, "displayed": 1, "opened": 1}


def test_data_is_received_and_nothing_is_shown(phones: RunningEmulator, platform: Platform) -> None:
    phones.send({"token": "a", "data": {"carillon_receipt": "1:1"}})
    platform.wait_for(("1:1", "received"))
    assert phones.counts()["phones"] == {"received": 1}


def test_what_was_refused_never_rings(phones: RunningEmulator, platform: Platform) -> None:
    token = phones.token()
    phones.send(shown("1:1") | {"token": "dead-1"}, token=token)
    phones.send(shown("1:2"), token=token, validateOnly=True)
    phones.send(shown("1:3"), token=token)
    platform.wait_for(("1:3", "opened"))
    assert {message for message, _ in platform.heard} == {"1:3"}


def test_a_later_message_with_the_same_tag_covers_the_earlier(
    phones: RunningEmulator, platform: Platform
) -> None:
    phones.settings(open_ms=300)
    token = phones.token()
    for message in (shown("1:1", tag="t"), shown("1:2", tag="u"), shown("1:3", tag="t")):
        phones.send(message, token=token)
    platform.wait_for(("1:2", "opened"), ("1:3", "opened"))
    assert ("1:1", "displayed") in platform.heard
    assert ("1:1", "opened") not in platform.heard


def test_an_offline_phone_gets_the_latest_of_each_tag_when_it_is_back(
    phones: RunningEmulator, platform: Platform
) -> None:
    phones.settings(offline_percent=100)
    token = phones.token()
    for message in (shown("1:1", tag="t"), shown("1:2", tag="u"), shown("1:3", tag="t")):
        phones.send(message, token=token)
    platform.wait_for(("1:2", "received"), ("1:3", "received"))
    assert ("1:1", "received") not in platform.heard
    assert phones.counts()["phones"]["collapsed"] == 1


def test_an_offline_phone_never_gets_what_expired(
    phones: RunningEmulator, platform: Platform
) -> None:
    phones.settings(offline_percent=100)
    token = phones.token()
    phones.send(shown("1:1", android={"ttl": "0s", "notification": {"tag": "t"}}), token=token)
    phones.send(shown("1:2", tag="u"), token=token)
    platform.wait_for(("1:2", "received"))
    assert phones.counts()["phones"]["expired"] == 1
    assert ("1:1", "received") not in platform.heard


def test_a_beacon_the_platform_could_not_take_is_called_again(
    phones: RunningEmulator, platform: Platform
) -> None:
    platform.statuses = [503]
    phones.send({"token": "a", "data": {"carillon_receipt": "1:1"}})
    platform.wait_for(("1:1", "received"))


def test_a_beacon_the_platform_refuses_is_given_up(
    phones: RunningEmulator, platform: Platform
) -> None:
    platform.statuses = [404]
    phones.send({"token": "a", "data": {"carillon_receipt": "1:1"}})
    eventually("it is given up", lambda: phones.counts()["beacon"].get("refused") == 1)
    assert platform.heard == []


def test_phones_of_several_processes_are_one_set(start: Start, platform: Platform) -> None:
    emulator = start("--port", "0", "--processes", "2", "--set", "phones=true")
    emulator.settings(
        beacon_url=platform.url,
        receive_ms=1,
        displayed_percent=0,
        offline_percent=100,
        offline_seconds=5,  # ten sends on a busy machine take over one
    )
    token = emulator.token()
    for number in range(10):
        emulator.send(shown(f"1:{number}", tag="t"), token=token)
    platform.wait_for(("1:9", "received"))
    assert emulator.counts()["phones"] == {"received": 1, "collapsed": 9}


class Arrivals(Phones):
    """Phones that only list what reaches them."""

    def __init__(self) -> None:
        super().__init__(Settings(offline_percent=100, offline_seconds=0), Figures(), seed=1)
        self.ids: list[str | None] = []

    def _arrive(self, push: Push) -> None:
        self.ids.append(push.receipt)


@pytest.mark.parametrize("told", [(1, 2), (2, 1)])
def test_of_two_processes_the_later_acceptance_stays_whichever_is_told_first(
    told: tuple[int, int],
) -> None:
    async def play() -> Arrivals:
        phones = Arrivals()
        for at in told:
            phones.receive(Push("a", f"1:{at}", "t", at, at + 60, shows=True))
        await asyncio.sleep(0.01)
        return phones

    phones = asyncio.run(play())
    assert phones.ids == ["1:2"]
    assert phones.did == {"collapsed": 1}


def test_more_than_a_hundred_data_messages_for_an_offline_phone_are_all_lost() -> None:
    async def play() -> Arrivals:
        phones = Arrivals()
        for number in range(101):
            phones.receive(Push("a", f"1:{number}", None, number, number + 60, shows=False))
        phones.receive(Push("a", "2:1", "t", 200, 260, shows=True))
        await asyncio.sleep(0.01)
        return phones

    phones = asyncio.run(play())
    assert phones.did["discarded"] == 101
    assert phones.ids == ["2:1"]
