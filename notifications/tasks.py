"""The doorbell of imports. It carries an id; ringing it twice, late or never changes no result."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from celery import shared_task
from django.db import transaction

from notifications import imports
from notifications.people.importing.model import waiting
from notifications.postgres.outage import DATABASE_TROUBLE, patiently

log = logging.getLogger(__name__)

KEPT = timedelta(days=7)  # the bytes of a file that waits for its owner
URGENT = 3  # of 0 to 9, where 0 is first; what is not said is 6
AT_A_TIME = 20.0  # seconds; then whatever else waits for this worker has its turn


def ring_import(import_id: int) -> None:
    """Have it worked on as soon as this transaction commits."""
    transaction.on_commit(lambda: _publish(import_id))


def ring_waiting(now: datetime) -> None:
    """Those that should be worked on, and nobody does; and away with what nobody went on with."""
    patiently(lambda: imports.forget_abandoned(before=now - KEPT), seconds=0)
    for import_id in patiently(lambda: waiting(now), seconds=0):
        _publish(import_id)


def _publish(import_id: int) -> None:
    try:
        # Ahead of the chunks of a wave that wait, or each slice would wait for all of them.
        work_on_import.apply_async(kwargs={"import_id": import_id}, priority=URGENT)
    except Exception as error:  # the broker's: each of its libraries has errors of its own
        log.warning("import=%s could not be rung, the sweep will: %s", import_id, error)


@shared_task
def work_on_import(import_id: int) -> None:
    """A slice of the work, and ring again for the next."""
    try:
        more = imports.work(import_id, seconds=AT_A_TIME)
    except DATABASE_TROUBLE as error:  # a lock not granted, a restart: the sweep calls again
        log.warning("import=%s is not worked on: %s", import_id, error)
        return
    except Exception as error:
        log.exception("import=%s cannot be worked on", import_id)
        imports.fail(import_id, f"{type(error).__name__}: {error}")
        return
    if more:
        _publish(import_id)
