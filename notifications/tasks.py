"""Tasks: Celery tasks for imports, FCM's delivery figures and webhooks.

They carry at most an id. A task that runs twice, late or never does not change the result.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from notifications import imports
from notifications.fcm_data import fetching
from notifications.people.importing.model import waiting
from notifications.postgres import clock
from notifications.postgres.outage import retry_during_outage, skip_if_locked
from notifications.task_queue import Flag, background_task, enqueue, enqueue_once
from notifications.webhooks import claiming, send_calls

KEPT = timedelta(days=7)  # then the bytes of an unfinished import are deleted
# The key is the one that the previous release sets.
REPORTS = Flag("reports-rung")
REPORTING_SECONDS = 60.0
REPORTS_EXPIRE = 60  # seconds; the sweep enqueues the task as long as a report waits
AT_A_TIME = 20.0  # seconds for one slice; then other tasks can run


# --- Imports --------------------------------------------------------------------------------------


def enqueue_waiting_imports(now: datetime) -> None:
    """Enqueue imports that no task works on, and remove files that their owner abandoned."""
    skip_if_locked(lambda: imports.forget_abandoned(before=now - KEPT))
    for import_id in skip_if_locked(lambda: waiting(now)) or ():
        enqueue(work_on_import, import_id=import_id)


def _fail(import_id: int, error: Exception) -> None:
    imports.fail(import_id, f"{type(error).__name__}: {error}")


@background_task(on_error=_fail, in_slices=True)
def work_on_import(import_id: int) -> None:
    """Import one slice, then enqueue the next one."""
    if imports.work(import_id, seconds=AT_A_TIME):
        enqueue(work_on_import, import_id=import_id)


# --- FCM's own figures ----------------------------------------------------------------------------


def enqueue_figures(now: datetime) -> None:
    """Enqueue a task for every project whose figures are due."""
    for project_id in retry_during_outage(lambda: fetching.due(now), seconds=0):
        enqueue(fetch_figures, project_id=project_id)


@background_task()
def fetch_figures(project_id: int) -> None:
    """Fetch one project's figures. Its page shows errors."""
    fetching.fetch(project_id, now=clock.now())


# --- Webhooks -------------------------------------------------------------------------------------


def send_reports_on_commit() -> None:
    """Send webhooks as soon as this transaction commits. All callers share one task until it
    starts."""
    transaction.on_commit(lambda: enqueue_once(send_reports, REPORTS))


def enqueue_waiting_reports(now: datetime) -> None:
    """Enqueue reports that no task sends: a worker died, a task was lost, or they are due now."""
    skip_if_locked(lambda: claiming.give_up_old(now=now))
    if skip_if_locked(lambda: claiming.waiting(now)):
        enqueue_once(send_reports, REPORTS)


# A task that expires is not missed: any task that runs sends all waiting reports.
@background_task(expires=REPORTS_EXPIRE)
def send_reports() -> None:
    """Send waiting reports to webhooks, Slack and e-mail."""
    REPORTS.clear()
    if send_calls.work(seconds=REPORTING_SECONDS):
        enqueue_once(send_reports, REPORTS)
