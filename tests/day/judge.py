"""What came of the day, held against what was foreseen, and against what people may expect.

The forecast is the product's own solver, asked for each person; the windows are reckoned here from
the zones' own clocks, by what FCM's stand-in witnessed.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection

from campaigns.forecast.solver.capacity import Capacity
from campaigns.forecast.solver.rules import Caps, People, PersonKind, Rules, Skip
from campaigns.forecast.solver.solving import solve
from campaigns.launch_check.stored_forecast import load_course as kept
from campaigns.runs.run import Run
from tests.day.story import Day
from tests.day.when import A_DAY_TWICE, HOME, LATENESS, NEWS, PAUSED, RESUMED, TTL

A_DAY = timedelta(days=1)
PASSES = 5  # until what the runs take from each other stays the same
WORKERS = 1_000.0  # messages a second: what the stage's two can do


@dataclass(frozen=True)
class Row:
    """What became of one person in one run: when it left, or why it did not."""

    left_at: datetime | None
    reason: str = ""


Ends = dict[int, Row]  # by the person


# --- What came of it ------------------------------------------------------------------------------


def came(run: Run) -> Ends:
    rows = _query(
        "SELECT r.contact_id, w.opened_at, d.status, d.reason FROM campaigns_recipient r"
        " LEFT JOIN campaigns_delivery d ON d.run_id = r.run_id AND d.seq = r.seq"
        " LEFT JOIN (SELECT run_id, unnest(seqs) AS seq, max(opened_at) AS opened_at"
        "   FROM campaigns_window WHERE run_id = %(run)s GROUP BY 1, 2) w"
        "   ON w.run_id = r.run_id AND w.seq = r.seq WHERE r.run_id = %(run)s",
        run=run.pk,
    )
    return {
        person: Row(opened_at) if status == "accepted" else Row(None, reason or status or "no row")
        for person, opened_at, status, reason in rows
    }


def witnessed(day: Day) -> Iterator[tuple[int, int, datetime]]:
    """Each message that arrived: of which run, to whom, and when."""
    whose = {
        (run, seq): person
        for run, seq, person in _query("SELECT run_id, seq, contact_id FROM campaigns_recipient")
    }
    day.stage.fcm.witness()  # what is still in its memory goes to the file
    for record in day.stage.fcm.everything_witnessed():
        run, _, seq = str(record["id"]).partition(":")
        yield int(run), whose[int(run), int(seq)], datetime.fromtimestamp(record["at"], UTC)


# --- What was foreseen ----------------------------------------------------------------------------


def planned(day: Day) -> dict[str, Ends]:
    """By the solver, person by person. What one run sends counts in the others: it is asked again
    until nothing changes."""
    zones = _zones()
    order = {name: _order(run) for name, run in day.runs.items()}
    known: dict[str, Ends] = {name: {} for name in day.runs}
    for _ in range(PASSES):
        before = {name: dict(ends) for name, ends in known.items()}
        for name, run in day.runs.items():
            others = [ends for other, ends in known.items() if other != name]
            kept_for = [NEWS - A_DAY] if name == "nine" else []
            known[name] = _solved(run, order[name], zones, others, kept_for)
        if known == before:
            return known
    raise AssertionError(f"the runs still change each other after {PASSES} passes")


def _solved(
    run: Run,
    people: list[int],
    zones: dict[int, str],
    others: list[Ends],
    kept_for: list[datetime],
) -> Ends:
    """A place that is kept for a message to come counts from a day before it, until it comes."""
    kinds = [PersonKind(zones[one], (*kept_for, *_counted(one, others))) for one in people]
    rules = Rules(
        start=_begins(run),
        ttl=TTL,
        local_time=run.local_time,
        quiet=run.quiet_hours,
        caps=Caps(per_day=A_DAY_TWICE),
    )
    capacity = Capacity(WORKERS, most=run.own_rate)
    plan = solve(People(kinds, array("I", range(len(kinds)))), rules, capacity)
    rows = (Row(plan.departure(n), plan.reason(n)) for n in range(len(people)))
    ends = dict(zip(people, rows, strict=True))
    return _held_up(ends) if run.resumed_at else ends


def _begins(run: Run) -> datetime:
    assert run.started_at
    return max(run.scheduled_at, run.started_at) if run.local_time is None else run.scheduled_at


def _held_up(ends: Ends) -> Ends:
    """Nobody foresees a pause. Whose hour came in it gets it when it is over, or not at all."""
    return {
        person: _later(row) if row.left_at and PAUSED <= row.left_at < RESUMED else row
        for person, row in ends.items()
    }


def _later(row: Row) -> Row:
    assert row.left_at
    return Row(RESUMED) if RESUMED - row.left_at <= LATENESS else Row(None, Skip.LOCAL_TIME)


def _counted(person: int, others: list[Ends]) -> tuple[datetime, ...]:
    found = (ends[person].left_at for ends in others if person in ends)
    return tuple(sorted(at for at in found if at))


# --- Held against each other ----------------------------------------------------------------------


def troubles(day: Day) -> list[str]:
    found = []
    plans = planned(day)
    for name, run in day.runs.items():
        found += _differences(name, plans[name], came(run))
    return [*found, *_told(day), *_outside(day)]


def _differences(name: str, plan: Ends, ends: Ends) -> list[str]:
    """Row by row: the same people, and each sent to or skipped for the same reason."""
    differ = [who for who in plan if plan[who].reason != ends[who].reason]
    left = ((row.left_at, ends[who].left_at) for who, row in plan.items())
    late = sorted(abs((came_at - at).total_seconds()) for at, came_at in left if at and came_at)
    counted = Counter(row.reason or "sent" for row in plan.values())
    said = ", ".join(f"{count:,} {reason}" for reason, count in sorted(counted.items()))
    print(f"{name}: foreseen {said}; {len(differ)} of {len(plan):,} rows differ; ", end="")
    print(f"half left within {late[len(late) // 2]:.0f} s of it, all within {late[-1]:.0f} s")
    if plan.keys() != ends.keys():
        return [f"{name}: other people than were foreseen"]
    kinds = Counter((plan[who].reason or "sent", ends[who].reason or "sent") for who in differ)
    return [f"{name}: foreseen {a}, came {b}: {count}" for (a, b), count in kinds.items()]


def _told(day: Day) -> Iterator[str]:
    """What the check said before the launch, and what the run kept as it began: of those that
    nothing came in between."""
    for name in ("early", "news"):
        told = [course and course.sent for course in (day.said[name], kept(day.runs[name]))]
        sent = sum(1 for row in came(day.runs[name]).values() if not row.reason)
        if told != [sent, sent]:
            yield f"{name}: the check said {told[0]}, the run kept {told[1]}, {sent} left"


def _outside(day: Day) -> Iterator[str]:
    zones, home = _zones(), ZoneInfo(HOME)
    clocks = {zone: ZoneInfo(zone) if zone else home for zone in {*zones.values()}}
    nine, got = day.runs["nine"].pk, defaultdict[int, list[datetime]](list)
    asleep = hour = 0
    for run, person, at in witnessed(day):
        here = at.astimezone(clocks[zones[person]])
        got[person].append(at)
        asleep += not 8 <= here.hour < 21
        if run == nine:
            begins = here.replace(hour=9, minute=0, second=0, microsecond=0)
            hour += not begins <= here <= begins + LATENESS
    often = sum(1 for ats in got.values() if _too_often(sorted(ats)))
    print(f"witnessed: {sum(map(len, got.values())):,} messages to {len(got):,} people")
    for count, what in (
        (asleep, "were rung in their quiet hours"),
        (hour, "were rung outside the hour that “nine” asks for"),
        (often, f"were rung more than {A_DAY_TWICE} times in a day"),
    ):
        if count:
            yield f"{count} {what}"


def _too_often(ats: list[datetime]) -> bool:
    beyond = zip(ats, ats[A_DAY_TWICE:], strict=False)
    return any(last - first < A_DAY for first, last in beyond)


def _zones() -> dict[int, str]:
    return dict(_query("SELECT id, timezone FROM notifications_contact"))


def _order(run: Run) -> list[int]:
    """As they were numbered: so they leave."""
    rows = _query(
        "SELECT contact_id FROM campaigns_recipient WHERE run_id = %(run)s ORDER BY seq", run=run.pk
    )
    return [person for (person,) in rows]


def _query(sql: str, **values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values or None)
        return list(cursor.fetchall())
