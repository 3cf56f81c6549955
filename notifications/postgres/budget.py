"""How long may a question take, and how many at once? The web server has few threads; no page may
hold one for long, and the slow ones together must never hold all.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from threading import Condition
from typing import Any

from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled

AT_ONCE = 4  # slow questions of one process; its web server has twice as many threads
AT_ONCE_OF_A_PROJECT = 3  # or one of them would keep the others out
ROOM_SECONDS = 0.1  # most are answered in less, and make room

clock = time.monotonic
_asked: Counter[int] = Counter()  # by project
_room = Condition()
_ends: ContextVar[float] = ContextVar("ends", default=float("inf"))


class TooSlow(Exception):
    """PostgreSQL was stopped: the answer would have taken longer than it is worth."""


class Busy(Exception):
    """As many slow questions are being answered as there may be. Nothing was looked for."""


@contextmanager
def one_of_few(project_id: int) -> Iterator[None]:
    """Around a question that may be slow. Raises Busy."""
    with _room:
        if not _room.wait_for(lambda: _has_room(project_id), timeout=ROOM_SECONDS):
            raise Busy
        _asked[project_id] += 1
    try:
        yield
    finally:
        with _room:
            _asked[project_id] -= 1
            _room.notify_all()


class OneOfFew:
    """What is sent piece by piece for as long as somebody reads. Raises Busy before the first.

    Its place is free again when the response is closed, which Django does at its end."""

    def __init__(self, project_id: int, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._place = ExitStack()
        self._place.enter_context(one_of_few(project_id))

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    def close(self) -> None:
        self._place.close()


def _has_room(project_id: int) -> bool:
    return _asked[project_id] < AT_ONCE_OF_A_PROJECT and _asked.total() < AT_ONCE


@contextmanager
def until(ends: float) -> Iterator[None]:
    """Whatever budgets stand inside get no more than what is left to this moment of `clock`."""
    before = _ends.set(min(ends, _ends.get()))
    try:
        yield
    finally:
        _ends.reset(before)


def left() -> float:
    """Seconds until whatever stands around ends; of nothing, for ever."""
    return _ends.get() - clock()


@contextmanager
def within(*, seconds: float) -> Iterator[None]:
    """Each statement inside ends after this time, with TooSlow. One may stand inside another."""
    there_is = left()
    if there_is <= 0:
        raise TooSlow
    milliseconds = max(1, round(min(seconds, there_is) * 1000))
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            before = _allow(cursor, str(milliseconds))
            yield
            _allow(cursor, before)
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        raise TooSlow from error


@contextmanager
def in_all(*, seconds: float) -> Iterator[None]:
    """Of many statements: none begins after this time, and none takes longer. Raises TooSlow."""
    ends = clock() + seconds

    def in_time(execute: Any, *asked: Any) -> Any:
        if clock() > ends:
            raise TooSlow
        return execute(*asked)

    with until(ends), within(seconds=seconds), connection.execute_wrapper(in_time):
        yield


def _allow(cursor: Any, time: str) -> str:
    """What was allowed before."""
    setting = "current_setting('statement_timeout')"
    cursor.execute(f"SELECT {setting}, set_config('statement_timeout', %s, true)", [time])
    before: str = cursor.fetchone()[0]
    return before
