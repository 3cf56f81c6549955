"""Phones report what became of their messages: at the feed, without a key, once for each event."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.utils import timezone

from campaigns.engagement.receipt import EchoSum, Event, Receipt, Reporter
from campaigns.runs.run import Run
from notifications.keys.receipt_id import receipt_id
from notifications.people.project import Project
from tests.given.builders import make_people, make_run
from tests.given.waiting import eventually
from tests.servers.feed import Feed
from tests.servers.relay import Relay
from tests.servers.workers import database_of_the_tests

pytestmark = pytest.mark.django_db(transaction=True)
PLACE = "/api/v1/receipts"
THREE = 3


@pytest.fixture
def run(ours: Project) -> Run:
    """With three recipients."""
    make_people(ours, THREE)
    return make_run(ours)


class Phone:
    """Calls over one connection."""

    def __init__(self, feed: Feed) -> None:
        self.connection = HTTPConnection("127.0.0.1", feed.port, timeout=30)

    def call(self, body: Any, method: str = "POST", **headers: str) -> tuple[HTTPResponse, Any]:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request(method, PLACE, sent, named)
        answer = self.connection.getresponse()
        heard = answer.read()
        return answer, json.loads(heard) if heard else None

    def reports(self, *rows: dict[str, Any]) -> Any:
        answer, said = self.call({"receipts": list(rows)})
        assert answer.status == 200, said
        return said


@pytest.fixture
def phone(feed: Feed) -> Phone:
    return Phone(feed)


def row(run: Run, seq: int = 1, event: str = "opened", **more: Any) -> dict[str, Any]:
    return {"id": receipt_id(f"{run.pk}:{seq}"), "event": event, **more}


def kept() -> list[tuple[int, int]]:
    return list(Receipt.objects.order_by("seq", "event").values_list("seq", "event"))


def sums(run: Run, by: str = "") -> dict[tuple[str, int], int]:
    found = EchoSum.objects.filter(run_id=run.pk, by=by)
    return {(each.value, each.event): each.count for each in found}


def test_what_a_phone_reports_is_kept_with_both_clocks(phone: Phone, run: Run) -> None:
    said = phone.reports(
        row(run, 1, "received"), row(run, 1, "opened", at="1999-12-31T23:59:59+09:00")
    )
    assert said == {"accepted": 2, "rejected": []}
    received, opened = Receipt.objects.order_by("event")
    assert (received.event, opened.event) == (Event.RECEIVED, Event.OPENED)
    assert received.phone_at is None
    assert opened.phone_at and opened.phone_at.isoformat() == "1999-12-31T14:59:59+00:00"
    assert timezone.now() - opened.at < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("at", "kept_as"),
    [
        ("2026-05-31t09:30:00z", "2026-05-31T09:30:00+00:00"),
        ("2026-05-31T24:00:00Z", None),
        ("2016-12-31T23:59:60Z", None),  # a leap second
        ("2026-05-31T09:30:00", None),  # in whose time?
        ("0001-01-01T00:00:00+09:00", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_a_clock_that_says_no_time_costs_no_receipt(
    phone: Phone, run: Run, at: str, kept_as: str | None
) -> None:
    assert phone.reports(row(run, at=at)) == {"accepted": 1, "rejected": []}
    told = Receipt.objects.get()
    assert (told.phone_at.isoformat() if told.phone_at else None) == kept_as


def test_an_event_that_is_told_again_counts_once(phone: Phone, run: Run) -> None:
    for _ in range(2):
        said = phone.reports(row(run), row(run), row(run, 2))
        assert said == {"accepted": 3, "rejected": []}
    assert kept() == [(1, Event.OPENED), (2, Event.OPENED)]
    assert sums(run) == {("", Event.OPENED): 2}


def test_the_sums_are_those_of_the_rows(phone: Phone, run: Run) -> None:
    phone.reports(*(row(run, seq, "received") for seq in (1, 2, 3)), row(run, 2))
    assert sums(run) == {("", Event.RECEIVED): 3, ("", Event.OPENED): 1}
    assert sums(run, "platform") == {
        ("android", Event.RECEIVED): 3,
        ("android", Event.OPENED): 1,
    }
    for by in ("locale", "timezone", "app_version", "after"):
        assert sum(sums(run, by).values()) == 4
    assert {value for value, _ in sums(run, "after")} == {"0"}


def test_a_device_is_known_to_report_from_its_first_receipt_on(phone: Phone, run: Run) -> None:
    phone.reports(row(run, 1, "received"))
    (first,) = Reporter.objects.all()
    phone.reports(row(run, 1, "received"), row(run, 1, "displayed"))
    assert Reporter.objects.count() == 2
    assert Reporter.objects.get(event=Event.RECEIVED).since == first.since


def test_a_row_that_is_wrong_is_refused_by_field_and_the_others_are_taken(
    phone: Phone, run: Run
) -> None:
    good = row(run)
    wrong: list[tuple[Any, str]] = [
        ({**good, "id": good["id"][:-1] + ("A" if good["id"][-1] != "A" else "B")}, "id"),
        ({**good, "id": good["id"].replace(":1.", ":2.")}, "id"),
        ({**good, "id": "x" * 5_000}, "id"),
        ({**good, "id": 7}, "id"),
        ({"event": "opened"}, "id"),
        ({**good, "event": "delivered"}, "event"),
        ({**good, "event": ["opened"]}, "event"),
        ({"id": good["id"]}, "event"),
        ({**good, "at": 1_700_000_000}, "at"),
        ({**good, "at": ["2026-05-31T09:30:00Z"]}, "at"),
        ({**good, "when": "now"}, "when"),
        ("opened", ""),
        (None, ""),
    ]
    said = phone.reports(*(each for each, _ in wrong), good)
    assert said["accepted"] == 1
    assert [(r["index"], r["field"]) for r in said["rejected"]] == [
        (index, field) for index, (_, field) in enumerate(wrong)
    ]
    assert all(each["message"] for each in said["rejected"])
    assert kept() == [(1, Event.OPENED)]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b"{}", b'{"receipts": {}}', b'{"receipts": []}',
        b'{"receipts": [], "more": 1}', b"\xff",
        json.dumps({"receipts": [{}] * 501}).encode(),
        b'{"receipts": [' + b"[" * 5_000 + b"]" * 5_000 + b"]}",
    ],
)  # fmt: skip
def test_what_is_no_call_is_refused_whole(phone: Phone, run: Run, body: bytes) -> None:
    answer, said = phone.call(body)
    assert answer.status == 400
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert said["detail"]
    assert not kept()


@pytest.mark.parametrize("encoding", ["br", "gzip", "deflate", "zstd", "rot13"])
def test_a_packed_body_is_told_to_come_as_it_is(phone: Phone, run: Run, encoding: str) -> None:
    answer, said = phone.call({"receipts": [row(run)]}, Content_Encoding=encoding)
    assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (415, "*")
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert said["detail"] == "Send the body as it is, without a Content-Encoding."
    assert not kept()
    again, _ = phone.call({"receipts": [row(run)]}, Content_Encoding="identity")
    assert again.status == 200


def test_a_body_that_is_too_long_is_not_read(phone: Phone) -> None:
    answer, said = phone.call(b" " * 200_000)
    assert (answer.status, "bytes" in said["detail"]) == (413, True)


def test_a_receipt_of_recipients_who_were_forgotten_is_of_nobody(
    phone: Phone, ours: Project
) -> None:
    nobody = receipt_id("999999999:1")
    assert phone.reports({"id": nobody, "event": "opened"})["accepted"] == 1
    assert not kept()


def test_any_page_may_report_and_a_page_that_is_left(phone: Phone, run: Run) -> None:
    asked, _ = phone.call(
        b"", "OPTIONS", Origin="https://shop.example", Access_Control_Request_Method="POST"
    )
    assert asked.status == 204
    assert asked.headers["Access-Control-Allow-Origin"] == "*"
    assert "content-type" in asked.headers["Access-Control-Allow-Headers"]
    body = {"receipts": [row(run)]}
    answer, said = phone.call(body, Content_Type="text/plain;charset=UTF-8")
    assert (answer.status, said["accepted"]) == (200, 1)
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in answer.headers


def test_another_method_is_named_those_there_are(phone: Phone) -> None:
    answer, said = phone.call(b"", "GET")
    assert (answer.status, answer.headers["Allow"]) == (405, "POST, OPTIONS")
    assert said["status"] == 405


def test_a_feed_that_is_killed_keeps_what_it_answered_and_counts_none_twice(ours: Project) -> None:
    count = 200
    make_people(ours, count)
    run = make_run(ours)
    feeds = [Feed()]

    def report(seq: int) -> bool:
        """Until it is answered, as a phone does. Whether more than one call took it."""
        tries = 0
        while True:
            tries += 1
            with suppress(OSError, HTTPException):
                answer, _ = Phone(feeds[-1]).call({"receipts": [row(run, seq)]})
                if answer.status == 200:
                    return tries > 1
            assert tries < 200
            time.sleep(0.1)

    with ThreadPoolExecutor(8) as pool:
        told = pool.map(report, range(1, count + 1))
        eventually("some are kept", lambda: len(kept()) > 20)
        feeds[-1].kill()
        feeds.append(Feed(port=feeds[-1].port))
        again = list(told)
    feeds[-1].kill()
    assert any(again), "nobody had to call again"
    assert kept() == [(seq, Event.OPENED) for seq in range(1, count + 1)]
    assert sums(run) == {("", Event.OPENED): count}


def test_while_postgresql_is_away_nobody_is_told_that_it_is_kept(ours: Project) -> None:
    make_people(ours, 1)
    run = make_run(ours)
    relay = Relay(urlsplit(os.environ["DATABASE_URL"]).port or 5432)
    url = urlsplit(database_of_the_tests())
    address = url._replace(netloc=f"{url.netloc.rpartition(':')[0]}:{relay.port}").geturl()
    feed = Feed({"DATABASE_URL": address})
    try:
        relay.hang_up()
        answer, said = Phone(feed).call({"receipts": [row(run)]})
        assert (answer.status, answer.headers["Retry-After"]) == (503, "2")
        assert said["status"] == 503
        assert not kept()
        relay.mend()
        assert Phone(feed).reports(row(run))["accepted"] == 1
        assert kept() == [(1, Event.OPENED)]
    finally:
        feed.kill()
        relay.stop()


def test_calls_that_come_at_once_are_each_kept_once(feed: Feed, ours: Project) -> None:
    count = 60
    make_people(ours, count)
    run = make_run(ours)

    def call(number: int) -> Any:
        seq = number % count + 1
        return Phone(feed).reports(row(run, seq, "received"), row(run, seq))

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(call, range(3 * count)))
    assert answers == [{"accepted": 2, "rejected": []}] * (3 * count)
    assert len(kept()) == 2 * count
    assert sums(run) == {("", Event.RECEIVED): count, ("", Event.OPENED): count}
