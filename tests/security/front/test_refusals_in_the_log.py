"""What strangers send is logged as a counted line now and then: a line for each fills the disk."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator
from io import StringIO
from urllib.parse import urlsplit

import pytest
from django.test import Client, RequestFactory

from config.front import refusals
from notifications.requests.counted_lines import SECONDS, CountedLines, Interval
from tests.security.conftest import Start

LONG = "x" * 8_000
Ask = Callable[[int], int]


@pytest.fixture
def written() -> Iterator[StringIO]:
    """What the process writes into its log."""
    stream = StringIO()
    handlers = [each for each in _handlers() if isinstance(each, logging.StreamHandler)]
    before = {each: each.setStream(stream) for each in handlers}
    _forget_intervals()
    yield stream
    for handler, old in before.items():
        if old is not None:
            handler.setStream(old)
    _forget_intervals()


def _handlers() -> list[logging.Handler]:
    return list(logging._handlers.values())  # type: ignore[attr-defined]


def _forget_intervals() -> None:
    for handler in _handlers():
        if isinstance(handler, CountedLines):
            handler.intervals.clear()


def a_moment_passes() -> None:
    for handler in _handlers():
        if isinstance(handler, CountedLines):
            for interval in handler.intervals.values():
                interval.due_at -= SECONDS


def stranger() -> Client:
    return Client(enforce_csrf_checks=True, raise_request_exception=False)


def of_another_site(number: int) -> int:
    headers = {"Origin": f"https://{number}{LONG}", "Host": "localhost"}
    return stranger().post("/admin/login/", {"username": "ada"}, headers=headers).status_code


def without_a_token(number: int) -> int:
    return stranger().post(f"/admin/{number}{LONG}").status_code


def of_many_fields(number: int) -> int:
    return stranger().post("/admin/login/", {f"f{each}": "" for each in range(1_100)}).status_code


@pytest.mark.parametrize(
    ("ask", "status"), [(of_another_site, 403), (without_a_token, 403), (of_many_fields, 400)]
)
def test_refused_requests_are_one_short_line_with_a_count(
    db: None, written: StringIO, ask: Ask, status: int
) -> None:
    assert {ask(number) for number in range(30)} == {status}
    (line,) = written.getvalue().splitlines()
    assert len(line) < 400 and "django.security" in line
    assert "; 0 others since the last such line" in line
    a_moment_passes()
    ask(30)
    assert "; 29 others since the last such line" in written.getvalue().splitlines()[1]


def test_what_the_front_refuses_is_one_short_line(
    written: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "_lines", Interval())
    request = RequestFactory().post(f"/api/{LONG}")
    for _ in range(30):
        assert refusals.answer(refusals.TwoKeys(), request.META).status_code == 400
    (line,) = written.getvalue().splitlines()
    assert len(line) < 400 and "refused with 400: POST" in line


def test_clients_that_hang_up_in_an_answer_are_one_line(start: Start) -> None:
    web = start()
    place = urlsplit(web.url)
    request = f"GET /api/schema/ HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode()
    for _ in range(20):
        with socket.create_connection((str(place.hostname), place.port or 80)) as caller:
            caller.sendall(request)
            assert caller.recv(100).startswith(b"HTTP/1.1 200")
    assert web.answers()
    lines = [line for line in web.log.splitlines() if "transport error" in line]
    assert 1 <= len(lines) <= 2, "at most one for each of the two processes"
