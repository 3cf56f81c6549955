"""Backtest: what an automation would have done in the last seven days if it had been on."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from campaigns.audiences.behavior.event import matching
from campaigns.triggers.automation import Automation
from campaigns.triggers.unless_event import since
from notifications.postgres.budget import TooSlow, statement_timeout

SPAN = timedelta(days=7)
MAX_EVENTS = 20_000
LOOKING_SECONDS = 2.0

DID = """
WITH did AS (
    SELECT e.contact_id, e.at, e.received_at FROM notifications_event e
    WHERE e.project_id = %s AND e.name = %s AND e.at >= %s AND e.at <= %s AND {matches}
    ORDER BY e.at DESC LIMIT %s
)
SELECT did.contact_id, did.at, {came} FROM did ORDER BY did.at
"""
CAME = """
EXISTS (
    SELECT FROM notifications_event e
    WHERE e.project_id = %s AND e.name = %s AND e.contact_id = did.contact_id
        AND least(e.at, e.received_at) <= did.at + make_interval(secs => %s) AND e.at >= %s
        AND {since} AND {matches}
)
"""


@dataclass(frozen=True)
class Backtest:
    """How many events of the last days would have led to a message."""

    events: int
    people: int
    unless_came: int
    within_window: int
    more: bool  # there were more events: only the newest are counted

    @property
    def sent(self) -> int:
        return self.events - self.unless_came - self.within_window


def look(automation: Automation, *, now: datetime) -> Backtest | None:
    """Run the backtest. None: there are too many events to read in time."""
    with suppress(TooSlow):
        rows = _rows(automation, now)
        return _judge_rows(automation, rows[-MAX_EVENTS:], more=len(rows) > MAX_EVENTS)
    return None


def _rows(automation: Automation, now: datetime) -> list[tuple[int, datetime, bool]]:
    begins, matches = now - SPAN, matching(automation.where)
    came_sql, came_params = _unless_came_sql(automation, begins)
    params = [automation.project_id, automation.event_name, begins, now, *matches.params]
    with statement_timeout(seconds=LOOKING_SECONDS), connection.cursor() as cursor:
        cursor.execute(
            DID.format(matches=matches.sql, came=came_sql), [*params, MAX_EVENTS + 1, *came_params]
        )
        rows: list[tuple[int, datetime, bool]] = cursor.fetchall()
    return rows


def _unless_came_sql(automation: Automation, begins: datetime) -> tuple[str, list[Any]]:
    if not automation.unless_name:
        return "FALSE", []
    matches = matching(automation.unless_where)
    own = automation.unless_name == automation.event_name
    params = [automation.project_id, automation.unless_name, automation.delay_seconds, begins]
    return CAME.format(since=since(own=own), matches=matches.sql), [*params, *matches.params]


def _judge_rows(
    automation: Automation, rows: list[tuple[int, datetime, bool]], *, more: bool
) -> Backtest:
    last: dict[int, datetime] = {}
    came_count, again_count = 0, 0
    for person, at, unless_came in rows:
        if unless_came:
            came_count += 1
        elif (
            automation.once_in_seconds and person in last and at < last[person] + automation.window
        ):
            again_count += 1
        else:
            last[person] = at
    return Backtest(
        len(rows), len({person for person, _, _ in rows}), came_count, again_count, more
    )
