"""Asking: whether people of a kind may get a message at this moment. A worker makes the same checks
for each person, in the same order, when their message is about to leave.

An answer holds for a while, so a million people cost only a few questions each hour.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from campaigns.forecast.solver.rules import Caps, PersonKind, Rules, Skip

FOR_EVER = datetime.max.replace(tzinfo=UTC)
A_DAY, A_WEEK = timedelta(days=1), timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether they may get it, wait, or get nothing. It holds until `holds_until`."""

    holds_until: datetime
    waits_until: datetime | None = None
    skip: str = ""


def check(rules: Rules, kind: PersonKind, now: datetime) -> Answer:
    if skip := kind.out or never(rules, kind):
        return Answer(FOR_EVER, skip=skip)
    hour = _own_hour(rules, kind)
    deadline = (hour or rules.start) + rules.ttl
    awake_until = FOR_EVER
    if now < deadline:
        waits = _waits_until(rules, kind, max(hour or now, now))
        if waits and waits >= deadline:
            return Answer(deadline, skip=Skip.QUIET_HOURS)
        if waits and waits > now:
            return Answer(waits, waits_until=waits)
        awake_until = rules.quiet.awake_until(kind.zone, now) if rules.quiet else FOR_EVER
        awake_until = min(awake_until, deadline)
    enough, counts_until = _has_enough(rules.caps, kind.counted, now)
    until = min(awake_until, counts_until or FOR_EVER)
    if enough:
        return Answer(until, skip=Skip.CAPPED)
    return Answer(until, skip="" if now < deadline else Skip.EXPIRED)


def never(rules: Rules, kind: PersonKind) -> str:
    """Return why they get nothing at any time, because of their time zone."""
    local = rules.local_time
    if local is None or kind.wakes_at:
        return ""
    if not local.knows(kind.zone):
        return Skip.NO_ZONE
    return "" if local.due_for(kind.zone, kind.best_hour) else Skip.LOCAL_TIME


def _own_hour(rules: Rules, kind: PersonKind) -> datetime | None:
    if rules.local_time is None:
        return None
    return kind.wakes_at or rules.local_time.due_for(kind.zone, kind.best_hour)


def _waits_until(rules: Rules, kind: PersonKind, hour: datetime) -> datetime | None:
    """Return their own time, or the end of the quiet hours around it. People who already sleep keep
    the time that they were given."""
    if kind.wakes_at:
        return kind.wakes_at
    asleep = rules.quiet.asleep_until(kind.zone, hour) if rules.quiet else None
    return asleep or hour


def _has_enough(
    caps: Caps | None, counted: tuple[datetime, ...], now: datetime
) -> tuple[bool, datetime | None]:
    """Return whether they reach the caps with what they got so far, and until when that holds;
    None: for ever."""
    if caps is None or not counted:
        return False, None
    received = [at for at in counted if now - A_WEEK < at <= now]
    today = [at for at in received if at > now - A_DAY]
    enough = (
        (caps.per_day is not None and len(today) >= caps.per_day)
        or (caps.per_week is not None and len(received) >= caps.per_week)
        or (caps.gap is not None and bool(received) and max(received) > now - caps.gap)
    )
    lasts = [A_DAY, A_WEEK, *([caps.gap] if caps.gap else [])]
    changes = [at for at in counted if at > now]
    changes += [at + last for at in received for last in lasts if at + last > now]
    return enough, min(changes, default=None)
