"""Funnel: planned, accepted, received, displayed, opened – each of those that can tell."""

from __future__ import annotations

from dataclasses import dataclass

from campaigns.echo.receipt import STEPS, EchoSum, Event
from campaigns.runs.run import Run
from campaigns.runs.sums import CUT_BY, Breakdown, Totals
from notifications.values.shares import share

BESIDE = (Event.DISMISSED, Event.ACTION_1, Event.ACTION_2, Event.ACTION_3)
SLOT_MINUTES = 10

Sums = dict[tuple[str, str, int], EchoSum]


@dataclass(frozen=True)
class Told:
    """How many devices told of an event, and of how many it would be known.

    `able` is None until the recipients of a finished run are counted. A share of all of them would
    be wrong: of a device that reports nothing, nobody knows whether it opened anything.
    """

    event: Event
    count: int
    able: int | None

    @property
    def share(self) -> str:
        return share(self.count, self.able) if self.able else ""

    def coverage(self, asked: int) -> str:
        """Of how many it would be known, in percent."""
        return share(self.able, asked) if self.able is not None and asked else ""


@dataclass(frozen=True)
class Group:
    """Those with one platform, language, time zone or app version."""

    value: str
    told: Told


@dataclass(frozen=True)
class Funnel:
    steps: list[Told]
    beside: list[Told]  # what else they told of
    groups: dict[str, list[Group]]  # of the last step that anybody told of, by what
    last: Event | None
    may_have: int  # devices that may have got it: FCM took it, or nobody knows

    @property
    def heard(self) -> bool:
        return any(step.count for step in (*self.steps, *self.beside))


def funnel(run: Run, totals: Totals, kept: Breakdown | None) -> Funnel:
    """`kept`: what was counted of the finished run."""
    sums = _sums(run.pk)
    able = kept if kept and kept.knows_who_reports else None
    steps = [_told(event, sums, able) for event in STEPS]
    beside = [_told(event, sums, None) for event in BESIDE]
    last = next((step.event for step in reversed(steps) if step.count), None)
    return Funnel(
        steps=steps,
        beside=[told for told in beside if told.count],
        groups=_groups(sums, able, last) if able and last else {},
        last=last,
        may_have=totals.accepted + totals.unknown,
    )


def over_time(run_id: int, event: Event) -> list[int]:
    """How many told of it in each ten minutes since the run began; empty if nobody did."""
    rows = EchoSum.objects.filter(run_id=run_id, by=EchoSum.By.AFTER, event=event)
    counts = {int(value): count for value, count in rows.values_list("value", "count")}
    return [counts.get(slot, 0) for slot in range(max(counts) + 1)] if counts else []


def _sums(run_id: int) -> Sums:
    rows = EchoSum.objects.filter(run_id=run_id).exclude(by=EchoSum.By.AFTER)
    return {(row.by, row.value, row.event): row for row in rows}


def _told(event: Event, sums: Sums, kept: Breakdown | None, by: str = "", value: str = "") -> Told:
    row = sums.get((by, value, event))
    count = row.count if row else 0
    return Told(event, count, _able(event, sums, kept, by, value) if kept else None)


def _able(event: Event, sums: Sums, kept: Breakdown, by: str, value: str) -> int:
    """Those known to tell of this step or an earlier one: before the run, and since."""
    of = kept.reporting.get(by, {})
    known: dict[str, int] = of.get(value, {}) if by else of
    steps = [step for step in STEPS if step <= event]
    since = (row.first for step in steps if (row := sums.get((by, value, step))))
    return sum(known.get(str(step.value), 0) for step in steps) + sum(since)


def _groups(sums: Sums, kept: Breakdown, event: Event) -> dict[str, list[Group]]:
    """Those of whom somebody can tell; the largest first."""
    groups = {}
    for by in CUT_BY:
        told = {value: _told(event, sums, kept, by, value) for value in kept.counts[by]}
        found = [Group(value, one) for value, one in told.items() if one.able]
        groups[by] = sorted(found, key=lambda group: (-(group.told.able or 0), group.value))
    return groups
