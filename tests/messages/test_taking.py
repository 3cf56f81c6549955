"""Two who take a project's messages at the same moment each get their own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from campaigns.engine import messages
from campaigns.runs.claiming import Claim
from campaigns.runs.messages.taking import take
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_contact, make_device
from tests.given.by_hand import let_leases_lapse
from tests.given.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)
HELLO = {"title": "Hello", "body": "x"}
# The plan that PostgreSQL chooses by itself for a small table: the subquery once for each row.
OFF = ("hashjoin", "mergejoin", "hashagg", "sort", "indexscan", "bitmapscan", "material")
NESTED_LOOPS = ";".join(f"SET LOCAL enable_{way} = off" for way in OFF)
WAITS = "SELECT count(*) FROM pg_locks WHERE NOT granted"


@pytest.fixture
def send(transactional_db: None, project: Project) -> Callable[[str], Run]:
    def send(name: str) -> Run:
        make_device(make_contact(project, external_id=name))
        body = {"to": {"contact": name}, "content": HELLO}
        assert Caller(project).post("messages", body).status_code == 202
        return Run.every.get(project=project)

    return send


def taken(run: Run) -> Claim | None:
    try:
        return take(run, lambda *_: None)
    finally:
        if not connection.in_atomic_block:
            connection.close()


def somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(WAITS)
        count: int = cursor.fetchone()[0]
        return count > 0


def test_who_waited_for_another_taker_takes_what_came_meanwhile(send: Any) -> None:
    run = send("ada")
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            first = taken(run)
            other = pool.submit(taken, send_beside(pool, send))
            eventually("the other taker waits", somebody_waits)
        second = other.result(20)
    assert first and second
    assert [(c.chunk.number, c.chunk.first_seq) for c in (first, second)] == [(1, 1), (2, 2)]
    assert list(run.chunks.order_by("number").values_list("first_seq", "last_seq")) == [
        (1, 1),
        (2, 2),
    ]


def test_one_taking_takes_one_chunk_however_postgresql_plans_it(send: Any) -> None:
    """PostgreSQL may run a subquery once for each row. If the subquery skips locked rows, each
    execution returns another row, and a chunk is leased that no worker knows of."""
    for name in ("ada", "bob", "cleo"):
        day = send(name)
        assert take(day, lambda *_: None)
    let_leases_lapse()
    messages.look_after(timezone.now())

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(NESTED_LOOPS)
        claim = take(day, lambda *_: None)

    assert claim
    assert claim.chunk.number == 1
    assert list(day.chunks.order_by("number").values_list("number", "state")) == [
        (1, "leased"),
        (2, "waiting"),
        (3, "waiting"),
    ]


def send_beside(pool: ThreadPoolExecutor, send: Callable[[str], Run]) -> Run:
    def and_leave() -> Run:
        try:
            return send("bob")
        finally:
            connection.close()

    return pool.submit(and_leave).result(20)
