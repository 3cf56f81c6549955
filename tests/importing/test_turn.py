"""An import's turn: its next slice does not wait for a whole wave of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from kombu import Connection, pools

from campaigns.tasks import send_chunk
from config.celery import app
from notifications.task_queue import enqueue_on_commit
from notifications.tasks import work_on_import
from tests.servers.workers import redis_apart

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    """What is queued goes where no worker of another test would take it."""
    with app.connection_for_write(redis_apart()) as connection:
        monkeypatch.setattr(app.amqp, "_producer_pool", pools.producers[connection])
        yield connection


def test_an_import_runs_before_chunks_that_were_queued_earlier(broker: Connection) -> None:
    bulk: Any = app.amqp.queues["bulk"]
    queue = broker.SimpleQueue(bulk)
    queue.clear()
    for number in range(3):
        send_chunk.delay(run_id=1, number=number, epoch=0)
    with transaction.atomic():
        enqueue_on_commit(work_on_import, import_id=1)
    taken: list[Any] = [queue.get(timeout=5) for _ in range(4)]
    for message in taken:
        message.ack()
    names = [message.headers["task"].rpartition(".")[2] for message in taken]
    assert names == ["work_on_import", "send_chunk", "send_chunk", "send_chunk"]
