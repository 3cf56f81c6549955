"""How long may a question take? The web server has few threads; no page may hold one for long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled


class TooSlow(Exception):
    """PostgreSQL was stopped: the answer would have taken longer than it is worth."""


@contextmanager
def within(*, seconds: float) -> Iterator[None]:
    """Each statement inside ends after this time, with TooSlow. One may stand inside another."""
    milliseconds = max(1, round(seconds * 1000))
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('statement_timeout')")
            before: str = cursor.fetchone()[0]
            _allow(cursor, str(milliseconds))
            yield
            _allow(cursor, before)
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        raise TooSlow from error


def _allow(cursor: Any, time: str) -> None:
    cursor.execute("SELECT set_config('statement_timeout', %s, true)", [time])
