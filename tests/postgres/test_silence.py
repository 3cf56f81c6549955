"""That a kept connection is alive is known before a request uses it, without asking PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import ProgrammingError, connection
from django.db.backends.postgresql import base

from tests.given.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def kept() -> Iterator[Any]:
    """A connection as a thread of the web keeps it between two requests."""
    kept: Any = connection.copy()
    kept.ensure_connection()
    yield kept
    kept.close()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What Django's own question found, each time it was put."""
    found: list[bool] = []
    ask = base.DatabaseWrapper.is_usable

    def noted(self: Any) -> bool:
        found.append(ask(self))
        return found[-1]

    monkeypatch.setattr(base.DatabaseWrapper, "is_usable", noted)
    return found


def run(statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def end(kept: Any) -> None:
    """And wait until it has: so long, nobody can know."""
    run("SELECT pg_terminate_backend(%s, 5000)", kept.connection.info.backend_pid)


def test_one_that_is_silent_is_used_unasked(kept: Any, asked: list[bool]) -> None:
    assert kept.is_usable()
    assert asked == []


def test_one_that_postgresql_ended_is_given_up(kept: Any, asked: list[bool]) -> None:
    end(kept)
    eventually("it is known", lambda: not kept.is_usable())
    assert asked[-1] is False


def test_one_that_was_closed_here_is_given_up(kept: Any) -> None:
    kept.connection.close()
    assert not kept.is_usable()


def test_a_notice_is_no_farewell(kept: Any, asked: list[bool]) -> None:
    """What came is read with Django's question; then it is silent again."""
    with kept.cursor() as cursor:
        cursor.execute("LISTEN news")
    run("NOTIFY news")
    eventually("it is heard", lambda: kept.is_usable() and asked)
    assert asked == [True]
    assert kept.is_usable()
    assert asked == [True]


def test_a_request_after_the_end_gets_a_new_connection(kept: Any) -> None:
    kept.health_check_enabled = True
    end(kept)
    ended = kept.connection
    kept.close_if_unusable_or_obsolete()  # as Django does where a request begins
    with kept.cursor() as cursor:
        cursor.execute("SELECT 1")
    assert kept.connection is not ended


def test_one_whose_transaction_failed_is_not_in_order(kept: Any, asked: list[bool]) -> None:
    with kept.cursor() as cursor:
        cursor.execute("BEGIN")
        with pytest.raises(ProgrammingError):
            cursor.execute("SELECT * FROM nowhere")
    assert not kept.is_usable()
