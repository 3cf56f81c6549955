"""Callers who are slow, silent, or talk nonsense; and the end of the process."""

from __future__ import annotations

import signal
import time

import pytest
from django.utils import timezone

from config.front.sockets import allow_many
from config.health.metrics import Metrics
from notifications.people.contact import Contact
from tests.api.own_app import OwnApp
from tests.feed.conftest import send
from tests.given.waiting import eventually
from tests.servers.feed import STREAM, Ear, Feed

pytestmark = pytest.mark.django_db(transaction=True)
HALF = f"GET {STREAM} HTTP/1.1\r\nHost: x\r\nX-A: ".encode()
ODD = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "a long header": HALF + b"a" * 100_000 + b"\r\n\r\n",
    "many headers": HALF + b"1\r\n" + b"X-B: 1\r\n" * 500 + b"\r\n",
    "a long address": f"GET {STREAM}?a={'b' * 20_000} HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
    "another address": b"GET /api/v1/contacts HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "no host of ours": f"GET {STREAM} HTTP/1.1\r\nHost: evil\r\n\r\n".encode(),
    "a body": f"POST {STREAM} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi".encode(),
    "a broken escape": f"GET {STREAM}?ticket=%zz%ff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode(),
    "two lengths": HALF + b"1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "an odd method": f"BREW {STREAM} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode(),
}


@pytest.mark.parametrize("name", ODD)
def test_nonsense_is_refused_without_a_failure_of_ours(
    feed: Feed, name: str, transactional_db: None
) -> None:
    with feed.call(ODD[name]) as caller:
        status = int(caller.recv(65_536).split()[1])
    assert 400 <= status < 500, status


@pytest.mark.parametrize("given", ["x", "-1", "1" * 30, "1.2.x", "1;DROP"])
def test_a_position_we_never_said_is_refused_with_its_name(
    feed: Feed, app: OwnApp, given: str
) -> None:
    refused = feed.listen(app.token, Last_Event_ID=given)
    assert refused.status == 400
    assert [error["field"] for error in refused.refusal()["errors"]] == ["Last-Event-ID"]
    refused = feed.listen(app.token, query=f"?last_event_id={given}")
    assert [error["field"] for error in refused.refusal()["errors"]] == ["last_event_id"]


def test_a_thousand_half_open_requests_keep_nobody_out_and_are_closed(
    feed: Feed, ada: Contact, app: OwnApp
) -> None:
    allow_many()
    half = [feed.call(HALF) for _ in range(1_000)]
    ear = feed.listen(app.token)
    ear.until("counts")
    send(ada)
    ear.items(1)
    for each in half:
        each.settimeout(30)
        assert each.recv(1) == b""
        each.close()


def test_a_reader_that_does_not_read_is_cut_off_and_the_others_hear_on(
    feed: Feed, ear: Ear, ada: Contact, app: OwnApp
) -> None:
    deaf = feed.listen(app.token, room=4_096)
    content, parts = {"title": "Long", "body": "x" * 3_500}, 6
    for part in range(1, parts + 1):
        send(ada, 200, content=content)
        ear.items(200)
        ear.until_counts(200 * part)
    eventually("it is cut off", lambda: _number("carillon_feed_streams_cut", feed) >= 1)
    deaf.until_closed()
    heard = [event for event in deaf.events if event.kind == "item"]
    assert len(heard) < parts * 200
    back = feed.listen(app.token, Last_Event_ID=deaf.position)
    back.until("gap")
    assert (
        back.items(200) == [event.data["id"] for event in ear.events if event.kind == "item"][-200:]
    )
    send(ada)
    assert ear.items(1) == back.items(1)


def test_a_comment_says_that_a_silent_stream_is_alive(ear: Ear) -> None:
    deadline = time.monotonic() + 26
    while not any(event.comment for event in ear.events):
        assert time.monotonic() < deadline
        ear.next(1)


def test_a_feed_ends_within_seconds_of_being_told_and_tells_its_streams(
    transactional_db: None, app: OwnApp
) -> None:
    feed = Feed()
    ear = feed.listen(app.token)
    ear.until("counts")
    half = feed.call(HALF)
    assert feed.stop() == 0
    ear.until_closed()
    assert ear.events[-1].retry >= 1_000
    half.close()


def test_it_is_healthy_while_it_answers_and_its_numbers_are_among_the_others(
    feed: Feed, ear: Ear, ada: Contact
) -> None:
    code, said = feed.healthy()
    assert (code, "answers" in said) == (0, True)
    send(ada)
    ear.items(1)
    eventually("its numbers are there", lambda: _number("carillon_feed_streams", feed) >= 1)
    eventually("the item, too", lambda: _number("carillon_feed_items_sent", feed) >= 1)


def test_it_is_not_healthy_when_it_hangs(transactional_db: None) -> None:
    feed = Feed()
    feed.process.send_signal(signal.SIGSTOP)
    code, said = feed.healthy()
    feed.kill()
    assert (code, "does not answer" in said) == (1, True)


def _number(name: str, feed: Feed) -> float:
    for family in Metrics(now=timezone.now()).collect():
        if family.name == name:
            mine = [one for one in family.samples if one.labels["feed"].endswith(f":{feed.port}")]
            return sum(one.value for one in mine)
    return 0.0
