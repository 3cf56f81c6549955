"""The doorbells of imports, figures and reports. They carry an id at most; ringing one twice, late
or never changes no result."""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import datetime, timedelta

from celery import shared_task
from django.core.cache import cache
from django.db import transaction

from notifications import imports
from notifications.fcm_data import fetching
from notifications.outgoing import claiming, working
from notifications.people.importing.model import waiting
from notifications.postgres import clock
from notifications.postgres.outage import DATABASE_TROUBLE, if_free, patiently

log = logging.getLogger(__name__)

KEPT = timedelta(days=7)  # the bytes of a file that waits for its owner
URGENT = 3  # of 0 to 9, where 0 is first; what is not said is 6
REPORTS_RUNG, RUNG_SECONDS = "reports-rung", 5  # one that is lost silences others that long
REPORTING_SECONDS = 60.0
RUNG_EXPIRES = 60  # seconds; the sweep rings as long as anything waits
AT_A_TIME = 20.0  # seconds; then whatever else waits for this worker has its turn


def ring_import(import_id: int) -> None:
    """Have it worked on as soon as this transaction commits."""
    transaction.on_commit(lambda: _publish(import_id))


def ring_waiting(now: datetime) -> None:
    """Those that should be worked on, and nobody does; and away with what nobody went on with."""
    if_free(lambda: imports.forget_abandoned(before=now - KEPT))
    for import_id in if_free(lambda: waiting(now)) or ():
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


def ring_figures(now: datetime) -> None:
    """Have FCM asked for the figures of whichever project is due."""
    for project_id in patiently(lambda: fetching.due(now), seconds=0):
        try:
            fetch_figures.delay(project_id=project_id)
        except Exception as error:  # the broker's, as above
            log.warning("figures of project=%s could not be rung: %s", project_id, error)


@shared_task
def fetch_figures(project_id: int) -> None:
    """Never raises: what went wrong stands on the project's page."""
    try:
        fetching.fetch(project_id, now=clock.now())
    except DATABASE_TROUBLE as error:  # then with a later tick
        log.warning("figures of project=%s not fetched: %s", project_id, error)
    except Exception:
        log.exception("figures of project=%s cannot be fetched", project_id)


def ring_reports() -> None:
    """Have them sent as soon as this transaction commits. One doorbell serves all who ring before
    it is heard."""
    transaction.on_commit(_publish_reports)


def ring_waiting_reports(now: datetime) -> None:
    """Those that nobody sends: a worker died, the doorbell was lost, or their time has come."""
    if_free(lambda: claiming.give_up_old(now=now))
    if if_free(lambda: claiming.waiting(now)):
        _publish_reports()


def _publish_reports() -> None:
    try:
        if cache.add(REPORTS_RUNG, 1, timeout=RUNG_SECONDS):
            # Who works on them looks for new ones, too: what was rung meanwhile is old then.
            send_reports.apply_async(expires=RUNG_EXPIRES)
    except Exception as error:  # the broker's, or the cache's
        log.warning("reports could not be rung, the sweep will: %s", error)


@shared_task
def send_reports() -> None:
    """Tell the endpoints what waits for them. Never raises: what is left is in the rows."""
    with suppress(Exception):  # before the rows are read: who commits later rings again
        cache.delete(REPORTS_RUNG)
    try:
        more = working.work(seconds=REPORTING_SECONDS)
    except DATABASE_TROUBLE as error:  # the sweep rings again
        log.warning("reports not sent: %s", error)
        return
    except Exception:
        log.exception("reports cannot be sent")
        return
    if more:
        _publish_reports()
