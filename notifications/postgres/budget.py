"""Budgets: limit how long queries take, and how many slow ones run at once.

The web server has few threads. No page may hold one for long, and slow pages must never hold all.
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

AT_ONCE = 4  # slow queries of one process; its web server has twice as many threads
AT_ONCE_OF_A_PROJECT = 3  # otherwise one project would block the others
ROOM_SECONDS = 0.1  # how long to wait for a place; most queries take less

clock = time.monotonic
_asked: Counter[int] = Counter()  # by project id
_room = Condition()
_ends: ContextVar[float] = ContextVar("ends", default=float("inf"))


class TooSlow(Exception):
    """The query took longer than its budget, so PostgreSQL was stopped."""


class Busy(Exception):
    """The maximum number of slow queries is running. This one was not started."""


@contextmanager
def slow_query_slot(project_id: int) -> Iterator[None]:
    """Hold one of the few places for slow queries. Raises Busy if none is free."""
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


class SlowQueryStream:
    """A streamed response that holds a place for slow queries. Raises Busy before the first piece.

    The place is free again when Django closes the response at its end."""

    def __init__(self, project_id: int, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._place = ExitStack()
        self._place.enter_context(slow_query_slot(project_id))

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    def close(self) -> None:
        self._place.close()


def _has_room(project_id: int) -> bool:
    return _asked[project_id] < AT_ONCE_OF_A_PROJECT and _asked.total() < AT_ONCE


@contextmanager
def until(ends: float) -> Iterator[None]:
    """Limit all budgets inside to the time left until this moment of `clock`."""
    before = _ends.set(min(ends, _ends.get()))
    try:
        yield
    finally:
        _ends.reset(before)


def left() -> float:
    """Return the seconds left in the enclosing budget; infinity without one."""
    return _ends.get() - clock()


@contextmanager
def statement_timeout(*, seconds: float) -> Iterator[None]:
    """Stop each statement inside after this time, and raise TooSlow. Budgets can be nested."""
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
def total_timeout(*, seconds: float) -> Iterator[None]:
    """Limit many statements: none begins after this time, and none takes longer. Raises TooSlow."""
    ends = clock() + seconds

    def in_time(execute: Any, *params: Any) -> Any:
        if clock() > ends:
            raise TooSlow
        return execute(*params)

    with until(ends), statement_timeout(seconds=seconds), connection.execute_wrapper(in_time):
        yield


def _allow(cursor: Any, time: str) -> str:
    """Set the statement timeout. Returns the one before."""
    setting = "current_setting('statement_timeout')"
    cursor.execute(f"SELECT {setting}, set_config('statement_timeout', %s, true)", [time])
    before: str = cursor.fetchone()[0]
    return before
