"""Results by group: how many people of each variant or control group opened or reached the goal.

It counts people, not devices: people were put into the groups, and two phones of one person are not
two trials. The goal counts whether or not a person opened anything: the control group has nothing
to open, and could not be compared otherwise.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.db import connection

from campaigns.engagement.receipt import Event
from campaigns.runs import ledger
from campaigns.runs.run import Run
from campaigns.runs.variants import split
from notifications.people.events.partitions import TABLE
from notifications.postgres.budget import TooSlow, statement_timeout

COUNTING_SECONDS = 2.0

OPENED = """
SELECT r.variant, count(DISTINCT r.contact_id)
FROM campaigns_receipt t JOIN campaigns_recipient r ON r.run_id = %(run)s AND r.seq = t.seq
WHERE t.run_id = %(run)s AND t.event = %(opened)s AND r.variant IS NOT NULL GROUP BY 1
"""
DID = f"""
SELECT r.variant, count(DISTINCT r.contact_id)
FROM {TABLE} e JOIN campaigns_recipient r ON r.run_id = %(run)s AND r.contact_id = e.contact_id
WHERE e.project_id = %(project)s AND e.name = %(goal)s AND e.at >= %(began)s AND e.at < %(ends)s
    AND r.variant IS NOT NULL GROUP BY 1
"""

People = dict[int, int]  # counts by group


def groups(run: Run) -> tuple[People, People]:
    """The number of people and of devices in each group. Freezing counts them at its end; until
    then they are counted here."""
    counts: dict[str, Any] = run.split
    if "people" not in counts:
        with suppress(TooSlow), statement_timeout(seconds=COUNTING_SECONDS):
            counts = split.count_groups(ledger.partition("campaigns_recipient", run.pk))
    people, devices = (counts.get(name, {}) for name in ("people", "devices"))
    return _numbers_by_group(people), _numbers_by_group(devices)


def _numbers_by_group(counts: dict[str, int]) -> People:
    return {int(group): count for group, count in counts.items()}


def opened(run: Run, *, seconds: float | None = None) -> People | None:
    """People of each group who opened. None: counting takes longer than `seconds`, or by default
    than a page may wait."""
    return _count_by_group(OPENED, {"run": run.pk, "opened": int(Event.OPENED)}, seconds)


def did(run: Run, *, seconds: float | None = None) -> People | None:
    """People of each group who caused the goal's event, from the run's start for as long as the
    goal counts."""
    if not run.goal_event or run.started_at is None:
        return {}
    ends = run.started_at + timedelta(seconds=run.goal_within_seconds)
    about = {"project": run.project_id, "goal": run.goal_event}
    about |= {"run": run.pk, "began": run.started_at, "ends": ends}
    return _count_by_group(DID, about, seconds)


def _count_by_group(statement: str, values: dict[str, Any], seconds: float | None) -> People | None:
    try:
        with statement_timeout(seconds=seconds or COUNTING_SECONDS), connection.cursor() as cursor:
            cursor.execute(statement, values)
            return dict(cursor.fetchall())
    except TooSlow:
        return None
