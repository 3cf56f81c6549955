"""One address cannot keep the others away: not by sockets, not by calls, not by heavy bodies."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest

from campaigns.engagement.receipt_reading import AT_ONCE, MOST_BYTES
from config.feed.address_limits import REMEMBERED, Rates, SocketLimits, TooOften
from notifications.keys.receipt_id import receipt_id
from tests.api.own_app import OwnApp
from tests.roles.every_page import HEADERS
from tests.servers.feed import STREAM, Feed

pytestmark = pytest.mark.django_db(transaction=True)
RECEIPTS = "/api/v1/receipts"
LINK = "/o/nobodys"
ADDRESSES = (RECEIPTS, LINK, STREAM)
HALF = f"POST {RECEIPTS} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n".encode()
HERE, NEXT, THERE = "203.0.113.9", "203.0.113.10", "198.51.100.7"
PAGE = "https://shop.example.com"
RATE = 5
ALL = 1_000 + 1  # sockets of a feed that keeps one stream


@pytest.fixture(scope="module")
def small(django_db_setup: None) -> Iterator[Feed]:
    feed = Feed({"FEED_STREAMS": "1", "API_RATE_PER_ADDRESS": "0"})
    yield feed
    feed.kill()


@pytest.fixture(scope="module")
def crowd(django_db_setup: None) -> Iterator[Feed]:
    feed = Feed({"FEED_STREAMS": "1", "API_RATE_PER_ADDRESS": "0", "PROXIES": "1"})
    yield feed
    feed.kill()


@pytest.fixture(scope="module")
def proxied(django_db_setup: None) -> Iterator[Feed]:
    """Behind a proxy, so all sockets come from one address."""
    different = {"FEED_STREAMS": "1", "PROXIES": "1", "API_RATE_PER_ADDRESS": str(RATE)}
    feed = Feed(different)
    yield feed
    feed.kill()


def ask(feed: Feed, path: str, body: Any = None, address: str = HERE) -> tuple[HTTPResponse, str]:
    connection = HTTPConnection("127.0.0.1", feed.port, timeout=30)
    sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    method = "GET" if body is None else "POST"
    connection.request(method, path, sent, {"X-Forwarded-For": address, "Origin": PAGE})
    answer = connection.getresponse()
    return answer, answer.read().decode()


def status_of(feed: Feed, path: str, body: Any = None, address: str = HERE) -> int:
    return ask(feed, path, body, address)[0].status


def socket_from(address: str, port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 30, (address, 0))


# --- Sockets --------------------------------------------------------------------------------------


def test_silent_sockets_of_one_address_shut_out_no_other(
    small: Feed, transactional_db: None
) -> None:
    silent = [socket_from("127.0.0.2", small.port) for _ in range(ALL + 100)]
    assert {status_of(small, path) for path in (LINK, "/healthz")} == {404, 200}
    for each in silent:
        each.close()


def test_half_sent_calls_of_one_address_behind_the_proxy_shut_out_no_other(
    crowd: Feed, transactional_db: None
) -> None:
    half = [
        crowd.call(HALF + f"X-Forwarded-For: 2001:db8::{n:x}\r\n\r\n".encode()) for n in range(ALL)
    ]
    assert b" 429 " in half[-1].recv(100), "of one network"
    assert {status_of(crowd, path, address=THERE) for path in (LINK, "/healthz")} == {404, 200}
    for each in half:
        each.close()


def test_an_address_may_hold_as_many_sockets_as_are_free() -> None:
    places = SocketLimits(100)

    def opened(address: str) -> int:
        count = 0
        while places.hold(address) and places.enter():
            count += 1
        return count

    assert [opened(each) for each in ("a", "b", "c")] == [50, 25, 13]
    assert opened("a") == 0
    places.leave()
    places.let_go("b")
    assert opened("d") == 7, "what one lets go is there for others"


def test_who_has_a_stream_holds_no_place_of_the_address() -> None:
    places = SocketLimits(10)
    for _ in range(8):
        assert places.hold("a carrier")
        assert places.enter()
        places.let_go("a carrier")
    assert places.hold("a carrier") and not places.held["another"]


# --- Calls ----------------------------------------------------------------------------------------


def test_beyond_its_rate_an_address_is_told_when_to_come_again(
    proxied: Feed, transactional_db: None
) -> None:
    for number, path in enumerate(ADDRESSES):
        address = f"192.0.2.{number}"
        replies = [ask(proxied, path, address=address) for _ in range(8 * RATE)]
        answer, said = next(each for each in replies if each[0].status == 429)
        assert int(answer.headers["Retry-After"]) >= 1
        assert f"At most {RATE} a second from this address" in said
        assert status_of(proxied, path, address=THERE) != 429


def test_a_page_may_read_that_it_called_too_often(proxied: Feed, transactional_db: None) -> None:
    body = b"[" + b" " * 60_000 + b"]"
    assert status_of(proxied, RECEIPTS, body, NEXT) == 400, "a call never waits for more"
    answer, _ = ask(proxied, RECEIPTS, body, NEXT)
    assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (429, "*")


def test_a_heavy_call_counts_for_many_and_time_gives_back() -> None:
    rates = Rates(10)
    rates.take("a", 15)
    with pytest.raises(TooOften) as refused:
        rates.take("a", 6)
    assert refused.value.retry_after == 1
    rates.take("a", 5)
    rates.take("b", 1_000)  # more than ever comes at once
    rates.full_at["b"] -= 100
    rates.take("b", 1_000)


def test_no_rate_refuses_nobody_and_addresses_are_forgotten() -> None:
    for _ in range(3):
        Rates(0).take("a", 1_000)
    rates = Rates(1)
    for number in range(REMEMBERED + 10):
        rates.take(str(number), 1)
    assert len(rates.full_at) == REMEMBERED and "9" not in rates.full_at


# --- Bodies ---------------------------------------------------------------------------------------


def test_the_longest_receipts_of_a_call_fit_into_its_body(
    small: Feed, transactional_db: None
) -> None:
    row = {"id": receipt_id("9" * 18 + ":" + "9" * 9), "event": "displayed"}
    rows = [{**row, "at": "2026-05-31T09:30:00.123456+09:00"}] * AT_ONCE
    body = json.dumps({"receipts": rows}).encode()
    assert MOST_BYTES * 0.9 < len(body) < MOST_BYTES
    answer, said = ask(small, RECEIPTS, body)
    assert (answer.status, json.loads(said)["accepted"]) == (200, AT_ONCE)


@pytest.mark.parametrize("row", [b"{}", b"1", b'{"a":1,"a":2}', b'{"a":[[],[],[],[],[],[],[]]}'])
def test_a_body_of_very_many_values_is_refused_before_it_is_read(small: Feed, row: bytes) -> None:
    body = b'{"receipts":[' + b",".join([row] * (MOST_BYTES // (len(row) + 1) - 10)) + b"]}"
    answer, said = ask(small, RECEIPTS, body)
    assert answer.status == 400 and f"1 to {AT_ONCE} of them" in said


# --- Headers --------------------------------------------------------------------------------------


def test_every_answer_has_the_headers_of_the_pages_and_names_no_software(
    small: Feed, app: OwnApp
) -> None:
    answers = {path: ask(small, path)[0].headers for path in (*ADDRESSES, "/healthz", "/nowhere")}
    answers["taken"] = ask(small, RECEIPTS, {"receipts": [{"id": "x", "event": "opened"}]})[
        0
    ].headers
    answers["too long"] = ask(small, RECEIPTS, b"x" * (MOST_BYTES + 1))[0].headers
    own = {LINK: {"Content-Security-Policy", "Referrer-Policy"}}
    for name, headers in answers.items():
        assert "Server" not in headers, name
        assert headers["Cache-Control"] == "no-store", name
        for wanted in HEADERS.keys() - own.get(name, set()):
            assert headers[wanted] == HEADERS[wanted], (name, wanted)
    ear = small.listen(app.token)
    assert ear.status == 200 and "server" not in ear.headers
    assert ear.headers["x-content-type-options"] == "nosniff"
    ear.close()
    with small.call(b"\x16\x03\x01\r\n\r\n") as caller:
        broken = caller.recv(65_536).lower()
    assert b"server:" not in broken and b"nosniff" in broken
