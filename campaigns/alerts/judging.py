"""Judging: what is wrong now is raised, told, reminded of, and ended. The one place that does.

Each change of an alert and what is told of it are one transaction, so each is told exactly once.
If the process dies in between, the next minute's tick does what is left.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from campaigns.alerts import telling
from campaigns.alerts.alert import Alert, open_alerts, unseen
from campaigns.alerts.watching import WATCHES, Watch, Wrong
from campaigns.failpoints import hit
from campaigns.runs.tick import Tick
from notifications.outgoing.endpoint import wanted
from notifications.outgoing.kinds import Kind as Told
from notifications.postgres.budget import TooSlow, within
from notifications.postgres.outage import DATABASE_TROUBLE

log = logging.getLogger(__name__)

EVERY = timedelta(minutes=1)
REMINDED_AFTER = timedelta(hours=1)
LOOKING_SECONDS = 3.0  # of one kind; it takes milliseconds


def due(now: datetime) -> bool:
    return Tick.objects.filter(_is_due(now)).exists()


def judge(now: datetime) -> bool:
    """At most once a minute, whoever calls: whether it was us."""
    if not Tick.objects.filter(_is_due(now)).update(judged_at=now):
        return False
    for watch in WATCHES:
        found = _look(watch, now)
        if found is not None:
            _compare(watch, found, now)
    _remind(now)
    return True


def _is_due(now: datetime) -> Q:
    return Q(pk=1) & (Q(judged_at=None) | Q(judged_at__lte=now - EVERY))


def _look(watch: Watch, now: datetime) -> list[Wrong] | None:
    """None: it is not known, so nothing of this kind is raised or ended."""
    try:
        with within(seconds=LOOKING_SECONDS):
            return list(watch.look(now))
    except TooSlow:
        log.warning("alerts=%s took too long to look for", watch.kind)
    except DATABASE_TROUBLE:
        raise
    except Exception:  # one kind must not silence the others
        log.exception("alerts=%s cannot be looked for", watch.kind)
    return None


def _compare(watch: Watch, found: list[Wrong], now: datetime) -> None:
    standing = {
        (alert.project_id, alert.run_id): alert for alert in open_alerts().filter(kind=watch.kind)
    }
    for wrong in found:
        if alert := standing.pop(wrong.key, None):
            _hold(alert, wrong, now)
        else:
            _raise(watch, wrong, now)
    for alert in standing.values():
        if alert.held_at + watch.calm <= now:
            _end(alert, now)


def _raise(watch: Watch, wrong: Wrong, now: datetime) -> None:
    about = {"project_id": wrong.project_id, "kind": watch.kind, "run": wrong.run}
    measured = {"numbers": wrong.numbers, "raised_at": now, "held_at": now}
    with transaction.atomic():
        # Of two ticks at once the second finds the row of the first.
        alert, is_new = Alert.objects.get_or_create(**about, ended_at=None, defaults=measured)
        if is_new:
            hit("alert_changed")
            _tell_raised(alert, now)
    if is_new:
        log.warning("alert=%s kind=%s project=%s run=%s raised", alert.pk, *_names(alert))


def _hold(alert: Alert, wrong: Wrong, now: datetime) -> None:
    """It is still so, and by how much."""
    open_alerts().filter(pk=alert.pk).update(held_at=now, numbers=wrong.numbers)


def _end(alert: Alert, now: datetime) -> None:
    with transaction.atomic():
        if not open_alerts().filter(pk=alert.pk).update(ended_at=now):
            return
        hit("alert_changed")
        alert.refresh_from_db()
        telling.ended(alert, now)
    log.info("alert=%s kind=%s project=%s run=%s ended", alert.pk, *_names(alert))


def _remind(now: datetime) -> None:
    """Of what stands while nobody has seen it; also whoever began to listen after it was raised."""
    waits = unseen().filter(Q(told_at=None) | Q(told_at__lte=now - REMINDED_AFTER))
    for alert in waits.select_related("project").order_by("pk"):
        if not wanted(alert.project, [Told.ALERT_RAISED]):
            continue
        with transaction.atomic():
            # Locked, and asked once more: somebody may have seen it, or another tick told of it.
            held = waits.select_for_update(no_key=True).filter(pk=alert.pk).first()
            if held is not None:
                _tell_raised(held, now)


def _tell_raised(alert: Alert, now: datetime) -> None:
    """Until anybody hears of it, it counts as told to nobody."""
    if telling.raised(alert, now):
        Alert.objects.filter(pk=alert.pk).update(told_at=now)


def _names(alert: Alert) -> tuple[str, int, int | None]:
    return alert.kind, alert.project_id, alert.run_id
