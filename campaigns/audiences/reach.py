"""Reach: how many people rules select, and on how many devices they can be reached.

The web server has few threads, so rules over millions of people must not hold one for long. A
count that takes too long is replaced by an estimate from a sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import connection
from django.utils.translation import gettext as _

from campaigns.audiences import estimating, last_seen
from campaigns.audiences.behavior import past
from campaigns.audiences.behavior.kind import Sql
from campaigns.audiences.bounds import leaves
from campaigns.audiences.resolving.settling import rules_for_sql
from campaigns.audiences.selection import compile_tree, drawn, joined, people_and_devices
from campaigns.runs import best_hour
from notifications.people.consent import eligibility
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.postgres.budget import TooSlow, left, statement_timeout

EXACT_SECONDS = 2.5  # of a web thread; a launch report has twice that in all
# Seconds of a report that an exact count leaves free: for its sample if it is too slow, and for the
# sample of a later part of the report. A forecast is worth more than a count of everybody.
SPARED = 2 * estimating.PART_SECONDS
LOOKS = 2  # look-ups in runs that double the cost of a person

Counted = TypeVar("Counted")


@dataclass(frozen=True)
class Margin:
    """How far an estimate may be off: it holds 95 times in 100."""

    people: int
    devices: int  # of those a campaign would be sent to


@dataclass(frozen=True)
class Reach:
    """People the rules select, and their active devices."""

    people: int
    reachable_people: int
    devices: int
    platforms: dict[str, int]  # devices by platform; only platforms with a device
    exact: bool = True
    # Devices of people who unsubscribed or are suppressed; None if that was not counted.
    out: int | None = None
    margin: Margin | None = None  # of an estimate

    @property
    def unreachable_people(self) -> int:
        return self.people - self.reachable_people

    @property
    def reachable(self) -> int:
        """Devices a campaign would be sent to."""
        return self.devices - (self.out or 0)

    @property
    def by_platform(self) -> list[tuple[str, int]]:
        """The platforms by the names that pages show."""
        return [(str(Device.Platform(name).label), n) for name, n in self.platforms.items()]


# The inner SELECT groups by person, the outer one sums. Counting distinct people in one step sorts
# every device and takes twice as long (1.5 s instead of 0.8 s for a million people).
REACH = """
SELECT {page}count(*), count(*) FILTER (WHERE devices > 0), {sums}
FROM (
    SELECT count(d.id) AS devices, {counts}
    FROM {source} {standing} WHERE c.project_id = %s AND {where} GROUP BY c.id
) person{by_page}
"""
PLATFORMS = tuple(Device.Platform)


def count(
    project_id: int,
    tree: dict[str, Any],
    *,
    part: estimating.Part | None = None,
    asks: Mapping[str, Any] | None = None,
) -> Reach:
    """Count the people and devices that rules select: all of them, or from a sample.

    With `asks`, the consent that a message needs, it also counts the devices of people who are out.
    """
    where = compile_tree(as_meant(project_id, tree, part))
    counts = {name.value: Sql(f"d.platform = '{name}'") for name in PLATFORMS}
    if asks is not None:
        is_out = f"d.id IS NOT NULL AND {eligibility.skip_reason_sql('%s', '%s')} <> ''"
        counts["out"] = Sql(is_out, [asks["marketing"], asks["category"]])
    columns = [
        f"count(*) FILTER (WHERE {condition.sql}) AS {name}" for name, condition in counts.items()
    ]
    if part:
        columns.append(f"min({estimating.PAGE}) AS page")
    statement = REACH.format(
        sums=", ".join(f"COALESCE(sum({name}), 0)::bigint" for name in counts),
        counts=", ".join(columns),
        source=part.source if part else people_and_devices(project_id),
        standing=eligibility.JOIN if asks is not None else "",
        where=where.sql,
        page="page, " if part else "",
        by_page=" GROUP BY page" if part else "",
    )
    params = [param for condition in counts.values() for param in condition.params]
    with connection.cursor() as cursor:
        cursor.execute(statement, [*params, project_id, *where.params])
        rows = cursor.fetchall()
    if part is None:
        return _reach(counts, rows[0])
    sums = [part.all(sum(column)) for column in zip(*(row[1:] for row in rows), strict=True)]
    reach = _reach(counts, sums or [0] * (2 + len(counts)), exact=False)
    people = {row[0]: row[1] for row in rows}
    devices = {row[0]: _reach(counts, row[1:]).reachable for row in rows}
    if not part.pages:  # nobody of the project is in it
        return reach
    return replace(reach, margin=Margin(part.margin(people), part.margin(devices)))


def _reach(counts: Iterable[str], row: Sequence[int], *, exact: bool = True) -> Reach:
    people, reachable, *rest = row
    totals = dict(zip(counts, rest, strict=True))
    out = totals.pop("out", None)
    platforms = {name: devices for name, devices in totals.items() if devices}
    return Reach(people, reachable, sum(platforms.values()), platforms, exact=exact, out=out)


def quick(project_id: int, tree: dict[str, Any], *, asks: Mapping[str, Any] | None = None) -> Reach:
    """An exact count if it is quick, else an estimate: nobody should wait while typing."""
    return _in_time(
        lambda part: count(project_id, tree, part=part, asks=asks),
        seconds=estimating.SAMPLE_SECONDS,
        of=project_id,
        fewer=_shrink_factor(project_id, tree),
    )


def _shrink_factor(project_id: int, tree: dict[str, Any]) -> int:
    """How many times smaller the sample is if each person is looked up in many runs."""
    rules = [
        leaf for leaf in leaves(rules_for_sql(project_id, tree)) if leaf["field"] == past.FIELD
    ]
    return 1 + sum(past.looks(leaf["value"]) for leaf in rules) // LOOKS


def exact(project_id: int, tree: dict[str, Any]) -> Reach:
    """The exact count: before a launch it is worth some seconds."""
    return _in_time(
        lambda part: count(project_id, tree, part=part),
        seconds=EXACT_SECONDS,
        of=project_id,
        fewer=_shrink_factor(project_id, tree),
    )


def as_meant(project_id: int, tree: dict[str, Any], part: estimating.Part | None) -> dict[str, Any]:
    """Rules settled for one statement, about everybody or about a sample."""
    rules = rules_for_sql(project_id, tree, singly=part is not None, whole=part is None)
    if part is None:
        return drawn(project_id, rules)
    return drawn(project_id, rules, source=part.source, times=part.times)


@dataclass(frozen=True)
class Alike:
    """Devices of people of one language, on one platform, for which the same conditions hold."""

    locale: str
    platform: str
    holds: list[bool]  # in the order of the conditions
    devices: int
    example: str  # the external id of one of the people


@dataclass(frozen=True)
class Judged:
    """Devices grouped by conditions: each device with at least one is in exactly one group."""

    groups: list[Alike]
    exact: bool = True


# One group for each combination, so that a device that meets two conditions is counted once. `out`
# is computed once for each row, and conditions may use it. Conditions are computed once, too:
# without OFFSET 0, PostgreSQL computes all of them for the WHERE, and again for the GROUP BY.
ALIKE = """
SELECT c.locale, d.platform, holds, count(*), min(c.external_id)
FROM {source} {standing}
CROSS JOIN LATERAL (SELECT {out} AS out OFFSET 0) standing
CROSS JOIN LATERAL (SELECT ARRAY[{conditions}] AS holds OFFSET 0) judged
WHERE c.project_id = %s AND d.id IS NOT NULL AND {where} AND TRUE = ANY(holds)
GROUP BY 1, 2, 3 ORDER BY 4 DESC LIMIT %s
"""
MAX_GROUPS = 10_000  # limits the cost even if each person has a language of their own


def judged(
    project_id: int,
    tree: dict[str, Any],
    conditions: list[Sql],
    found: Reach,
    asks: Mapping[str, Any],
    *,
    seconds: float = EXACT_SECONDS,
) -> Judged:
    """Group the devices for which conditions hold; each condition is true or false, never NULL.

    If the reach `found` is only an estimate, this is one at once, without trying an exact count.
    """
    return _in_time(
        lambda part: _judge(project_id, tree, conditions, asks, part=part),
        seconds=seconds if found.exact else 0.0,
        of=project_id,
        fewer=_shrink_factor(project_id, tree),
    )


def _judge(
    project_id: int,
    tree: dict[str, Any],
    conditions: list[Sql],
    asks: Mapping[str, Any],
    *,
    part: estimating.Part | None,
) -> Judged:
    where = compile_tree(as_meant(project_id, tree, part))
    statement = ALIKE.format(
        conditions=", ".join(condition.sql for condition in conditions),
        source=part.source if part else people_and_devices(project_id),
        standing=eligibility.JOIN,
        out=eligibility.skip_reason_sql("%s", "%s"),
        where=where.sql,
    )
    params = [asks["marketing"], asks["category"]]
    params += [param for condition in conditions for param in condition.params]
    with connection.cursor() as cursor:
        cursor.execute(statement, [*params, project_id, *where.params, MAX_GROUPS])
        rows = cursor.fetchall()
    groups = [
        Alike(locale, platform, holds, part.all(devices) if part else devices, example)
        for locale, platform, holds, devices, example in rows
    ]
    return Judged(groups, exact=part is None and len(rows) < MAX_GROUPS)


@dataclass(frozen=True)
class Filled:
    """How many people the rules select, and for how many of them each condition holds."""

    people: int
    holds: list[int]
    exact: bool = True


def filled(
    project_id: int, tree: dict[str, Any], conditions: list[Sql], *, seconds: float
) -> Filled:
    """Count the people for whom each condition holds. Raises Uncountable."""
    return _in_time(
        lambda part: _count_filled(project_id, tree, conditions, part=part),
        seconds=seconds,
        of=project_id,
        fewer=_shrink_factor(project_id, tree),
    )


def _count_filled(
    project_id: int,
    tree: dict[str, Any],
    conditions: list[Sql],
    *,
    part: estimating.Part | None,
) -> Filled:
    source = part.source if part else people_and_devices(project_id)
    where = compile_tree(as_meant(project_id, tree, part))
    flags = ", ".join(condition.sql for condition in conditions)
    sums = ", ".join(f"count(*) FILTER (WHERE held[{n + 1}])" for n in range(len(conditions)))
    params = [param for condition in conditions for param in condition.params]
    with connection.cursor() as cursor:
        # GROUP BY counts each person once, with any number of devices.
        cursor.execute(
            f"SELECT count(*), {sums} FROM (SELECT ARRAY[{flags}] AS held FROM {source}"
            f" WHERE c.project_id = %s AND {where.sql} GROUP BY c.id) people",
            [*params, project_id, *where.params],
        )
        people, *holds = cursor.fetchone()
    scale = part.all if part else int
    return Filled(scale(people), [scale(one) for one in holds], exact=part is None)


Clock = tuple[str, int | None]  # the time zone of a person, and their best hour


@dataclass(frozen=True)
class Zones:
    """Devices by the time zone of their person; a person without one has an empty name."""

    clocks: dict[Clock, int]  # the hours are None unless best hours were asked for
    exact: bool = True

    @cached_property
    def devices(self) -> dict[str, int]:
        totals: Counter[str] = Counter()
        for (zone, _hour), count in self.clocks.items():
            totals[zone] += count
        return dict(totals)


def zones(
    project_id: int, tree: dict[str, Any], *, seconds: float, best_hours: bool = False
) -> Zones:
    return _in_time(
        lambda part: _count_zones(project_id, tree, best_hours, part=part),
        seconds=seconds,
        of=project_id,
        fewer=_shrink_factor(project_id, tree),
    )


def _count_zones(
    project_id: int, tree: dict[str, Any], best_hours: bool, *, part: estimating.Part | None
) -> Zones:
    source = part.source if part else people_and_devices(project_id)
    where = compile_tree(as_meant(project_id, tree, part))
    hour, best = ("best.best_hour", best_hour.join("c.id")) if best_hours else ("NULL::int", "")
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT c.timezone, {hour}, count(*) FROM {source} {best}"
            f" WHERE c.project_id = %s AND d.id IS NOT NULL AND {where.sql} GROUP BY 1, 2",
            [project_id, *where.params],
        )
        rows = cursor.fetchall()
    clocks = {(zone, hour): part.all(count) if part else count for zone, hour, count in rows}
    return Zones(clocks, exact=part is None)


@dataclass(frozen=True)
class Unseen:
    """Devices that match, but are left out because they were not seen for so many days."""

    devices: int
    days: int
    exact: bool = True


def unseen(project_id: int, tree: dict[str, Any], found: Reach) -> Unseen | None:
    """Count matching devices that are left out as unseen; None if the project leaves out none."""
    days = Project.objects.values_list("leave_out_unseen_days", flat=True).get(pk=project_id)
    since = last_seen.seen_since(project_id)
    if days is None or since is None:
        return None
    devices, exact = _in_time(
        lambda part: _count_unseen(project_id, tree, since, part=part),
        seconds=EXACT_SECONDS if found.exact else estimating.SAMPLE_SECONDS,
        of=project_id,
        fewer=_shrink_factor(project_id, tree),
        leaves_out_unseen=False,  # it counts exactly these devices
    )
    return Unseen(devices, days, exact)


def _count_unseen(
    project_id: int, tree: dict[str, Any], since: datetime, *, part: estimating.Part | None
) -> tuple[int, bool]:
    where = compile_tree(as_meant(project_id, tree, part))
    source = part.source if part else joined(None)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM {source} WHERE c.project_id = %s AND d.id IS NOT NULL"
            f" AND NOT ({last_seen.fresh(since)}) AND {where.sql}",
            [project_id, *where.params],
        )
        count: int = cursor.fetchone()[0]
    return (part.all(count), False) if part else (count, True)


def _in_time(
    ask: Callable[[estimating.Part | None], Counted],
    *,
    seconds: float,
    of: int,
    fewer: int,
    leaves_out_unseen: bool = True,
) -> Counted:
    """Ask about everybody for some seconds, then about a sample.

    Raises Uncountable, after two more seconds, if not even a sample can be counted.
    """
    try:
        # If less time is left, try with a part of it: most audiences are counted at once.
        with statement_timeout(seconds=min(seconds, max(left() - SPARED, left() / 3))):
            return ask(None)
    except TooSlow:
        with uncountable(), statement_timeout(seconds=estimating.PART_SECONDS):
            since = last_seen.seen_since(of) if leaves_out_unseen else None
            return ask(estimating.part(fewer, since, of))


class Uncountable(ValidationError):
    """Counting with these rules takes too long."""


@contextmanager
def uncountable() -> Iterator[None]:
    try:
        yield
    except TooSlow as error:
        raise Uncountable(
            _("These rules take too long to evaluate. Use fewer rules, or shorter lists of "
            "values.")
        ) from error  # fmt: skip
