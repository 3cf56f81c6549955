"""How long may a question take? The web server has few threads; no page may hold one for long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled


class TooSlow(Exception):
    """PostgreSQL was stopped: the answer would have taken longer than it is worth."""


@contextmanager
def within(*, seconds: float) -> Iterator[None]:
    """Each statement inside ends after this time, with TooSlow."""
    milliseconds = max(1, round(seconds * 1000))
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {milliseconds:d}")
            yield
            cursor.execute("SET LOCAL statement_timeout = DEFAULT")
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        raise TooSlow from error
