"""Raise alerts, remind of them, and end them, by what the conditions find.

An alert changes in the transaction that puts its event into the outbox, so each change is sent
exactly once. If the process dies in between, the next minute's tick does what is left.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from campaigns.alerts import events
from campaigns.alerts.conditions import CONDITIONS, Condition, Problem
from campaigns.alerts.models import Alert, open_alerts, unacknowledged_alerts
from campaigns.failpoints import hit
from campaigns.runs.tick import Tick
from notifications.postgres.budget import TooSlow, statement_timeout
from notifications.postgres.outage import DATABASE_TROUBLE
from notifications.webhooks.endpoint import is_wanted
from notifications.webhooks.event_types import EventType as EventKind

log = logging.getLogger(__name__)

EVERY = timedelta(minutes=1)
REMIND_EVERY = timedelta(hours=1)
CHECK_SECONDS = 3.0  # at most, of one condition; it takes milliseconds


def is_due(now: datetime) -> bool:
    return Tick.objects.filter(_is_due(now)).exists()


def evaluate_alerts(now: datetime) -> bool:
    """Evaluate all conditions, at most once a minute. Returns False if it was done already."""
    if not Tick.objects.filter(_is_due(now)).update(judged_at=now):
        return False
    for condition in CONDITIONS:
        problems = _check(condition, now)
        if problems is not None:
            _apply(condition, problems, now)
    _send_reminders(now)
    return True


def _is_due(now: datetime) -> Q:
    return Q(pk=1) & (Q(judged_at=None) | Q(judged_at__lte=now - EVERY))


def _check(condition: Condition, now: datetime) -> list[Problem] | None:
    """Returns None if it could not be checked: then nothing of this kind is raised or ended."""
    try:
        with statement_timeout(seconds=CHECK_SECONDS):
            return list(condition.find(now))
    except TooSlow:
        log.warning("alerts=%s took too long to check", condition.kind)
    except DATABASE_TROUBLE:
        raise
    except Exception:  # a bug in one condition must not stop the others
        log.exception("alerts=%s cannot be checked", condition.kind)
    return None


def _apply(condition: Condition, problems: list[Problem], now: datetime) -> None:
    alerts = open_alerts().filter(kind=condition.kind)
    by_key = {(alert.project_id, alert.run_id): alert for alert in alerts}
    for problem in problems:
        if alert := by_key.pop(problem.key, None):
            _update(alert, problem, now)
        else:
            _raise(condition, problem, now)
    for alert in by_key.values():
        if alert.held_at + condition.ends_after <= now:
            _end(alert, now)


def _raise(condition: Condition, problem: Problem, now: datetime) -> None:
    key = {"project_id": problem.project_id, "kind": condition.kind, "run": problem.run}
    values = {"numbers": problem.numbers, "raised_at": now, "held_at": now}
    with transaction.atomic():
        # Of two ticks at once, the second finds the row of the first.
        alert, created = Alert.objects.get_or_create(**key, ended_at=None, defaults=values)
        if created:
            hit("alert_changed")
            _send_raised(alert, now)
    if created:
        log.warning("alert=%s kind=%s project=%s run=%s raised", alert.pk, *_names(alert))


def _update(alert: Alert, problem: Problem, now: datetime) -> None:
    """It is still true, perhaps by other numbers."""
    open_alerts().filter(pk=alert.pk).update(held_at=now, numbers=problem.numbers)


def _end(alert: Alert, now: datetime) -> None:
    with transaction.atomic():
        if not open_alerts().filter(pk=alert.pk).update(ended_at=now):
            return
        hit("alert_changed")
        alert.refresh_from_db()
        events.send_ended(alert, now)
    log.info("alert=%s kind=%s project=%s run=%s ended", alert.pk, *_names(alert))


def _send_reminders(now: datetime) -> None:
    """Send unacknowledged alerts each hour, also to endpoints that were made after the alert."""
    due = unacknowledged_alerts().filter(Q(told_at=None) | Q(told_at__lte=now - REMIND_EVERY))
    for alert in due.select_related("project").order_by("pk"):
        if not is_wanted(alert.project, [EventKind.ALERT_RAISED]):
            continue
        with transaction.atomic():
            # Locked and read again: it may be acknowledged, or sent by another tick.
            locked = due.select_for_update(no_key=True).filter(pk=alert.pk).first()
            if locked is not None:
                _send_raised(locked, now)


def _send_raised(alert: Alert, now: datetime) -> None:
    """`told_at` stays empty while no endpoint gets it."""
    if events.send_raised(alert, now):
        Alert.objects.filter(pk=alert.pk).update(told_at=now)


def _names(alert: Alert) -> tuple[str, int, int | None]:
    return alert.kind, alert.project_id, alert.run_id
