"""How many is that? The people whom rules select, and the devices on which they can be reached.

The web server has few threads: rules over millions of people must not hold one for long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import connection
from django.utils.translation import gettext as _

from campaigns.audiences import estimating
from campaigns.audiences.selection import PEOPLE_AND_DEVICES, Sql, compile_tree
from notifications.people.device import Device
from notifications.postgres.budget import TooSlow, within

EXACT_SECONDS = 2.5  # of a web thread; a launch report has twice that for all it says

Counted = TypeVar("Counted")


@dataclass(frozen=True)
class Reach:
    """People the rules select, and the devices on which they can be reached."""

    people: int
    reachable_people: int
    devices: int
    platforms: dict[str, int]  # only those that anybody has
    exact: bool = True

    @property
    def unreachable_people(self) -> int:
        return self.people - self.reachable_people

    @property
    def by_platform(self) -> list[tuple[str, int]]:
        """As a page calls them."""
        return [(str(Device.Platform(name).label), n) for name, n in self.platforms.items()]


# People first, then their sum: counting distinct people in one step sorts every device, and takes
# twice as long (1.5 s instead of 0.8 s for a million people).
REACH = """
SELECT count(*), count(*) FILTER (WHERE devices > 0), {sums}
FROM (
    SELECT count(d.id) AS devices, {counts}
    FROM {source} WHERE c.project_id = %s AND {where} GROUP BY c.id
) person
"""
PLATFORMS = tuple(Device.Platform)


def count(project_id: int, tree: dict[str, Any], *, part: estimating.Part | None = None) -> Reach:
    """Everybody, counted; or a part of them, extrapolated."""
    where = compile_tree(tree)
    statement = REACH.format(
        sums=", ".join(f"COALESCE(sum({name}), 0)::bigint" for name in PLATFORMS),
        counts=", ".join(
            f"count(*) FILTER (WHERE d.platform = '{name}') AS {name}" for name in PLATFORMS
        ),
        source=part.source if part else PEOPLE_AND_DEVICES,
        where=where.sql,
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [project_id, *where.params])
        counts = cursor.fetchone()
    people, reachable, *devices = (part.all(count) if part else count for count in counts)
    found = {name.value: count for name, count in zip(PLATFORMS, devices, strict=True) if count}
    return Reach(people, reachable, sum(devices), found, exact=part is None)


def quick(project_id: int, tree: dict[str, Any]) -> Reach:
    """Exact when that is quick, else an estimate: nobody waits for a number while typing."""
    return _in_time(
        lambda part: count(project_id, tree, part=part), seconds=estimating.SAMPLE_SECONDS
    )


def exact(project_id: int, tree: dict[str, Any]) -> Reach:
    """Before a launch, the real number is worth some seconds."""
    return _in_time(lambda part: count(project_id, tree, part=part), seconds=EXACT_SECONDS)


@dataclass(frozen=True)
class Lack:
    """Devices of people without a value, and one of these people."""

    name: str
    devices: int
    example: str
    exact: bool = True


def lacking(
    project_id: int, tree: dict[str, Any], values: Mapping[str, Sql], found: Reach
) -> list[Lack]:
    """Of each value, if anybody lacks it; an empty text is none. Where the people could only be
    estimated, nobody waits as long a second time."""
    if not values:
        return []
    return _in_time(
        lambda part: _lacking(project_id, tree, values, part=part),
        seconds=EXACT_SECONDS if found.exact else estimating.SAMPLE_SECONDS,
    )


def _lacking(
    project_id: int,
    tree: dict[str, Any],
    values: Mapping[str, Sql],
    *,
    part: estimating.Part | None,
) -> list[Lack]:
    where = compile_tree(tree)
    without = [f"FILTER (WHERE COALESCE({value.sql}, '') = '')" for value in values.values()]
    columns = ", ".join(f"count(*) {them}, min(c.external_id) {them}" for them in without)
    asked = [param for value in values.values() for param in (*value.params, *value.params)]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {columns} FROM {part.source if part else PEOPLE_AND_DEVICES}"
            f" WHERE c.project_id = %s AND d.id IS NOT NULL AND {where.sql}",
            [*asked, project_id, *where.params],
        )
        row = cursor.fetchone()
    return [
        Lack(name, part.all(devices) if part else devices, example, exact=part is None)
        for name, devices, example in zip(values, row[::2], row[1::2], strict=True)
        if devices
    ]


def _in_time(ask: Callable[[estimating.Part | None], Counted], *, seconds: float) -> Counted:
    """Raises Uncountable, after a second more, when not even a part can be counted."""
    try:
        with within(seconds=seconds):
            return ask(None)
    except TooSlow:
        with uncountable(), within(seconds=estimating.PART_SECONDS):
            return ask(estimating.part())


class Uncountable(ValidationError):
    """These rules hold PostgreSQL up for longer than anybody waits."""


@contextmanager
def uncountable() -> Iterator[None]:
    try:
        yield
    except TooSlow as error:
        raise Uncountable(
            _("It takes too long to look with these rules. Use fewer of them, or shorter lists "
              "of values.")
        ) from error  # fmt: skip
