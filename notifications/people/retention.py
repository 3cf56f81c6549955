"""Retention: how many days a project keeps each kind of rows, such as events or imports.

The folder of a kind counts and removes its own rows (see `Kind`). `DEFAULT_DAYS` and the rows here
say when. Beat's tick goes through the kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from notifications.people.project import OfProject, Project
from notifications.postgres import clock

# The ledger, who was in old sendings, has no default: an upgrade must remove nothing.
DEFAULT_DAYS: dict[str, int | None] = {
    "ledger": None,
    "events": 400,
    "imports": 90,
    "inbox": 90,
    "reports": 30,
    "alerts": 400,
}
MAX_DAYS = 3_650


class Retention(OfProject):
    """How many days a project keeps rows of one kind. Without days, for ever."""

    kind = models.CharField(max_length=20)
    days = models.PositiveIntegerField(
        null=True, validators=[MinValueValidator(1), MaxValueValidator(MAX_DAYS)]
    )
    # Rows before this may be gone, because fewer days applied earlier: more days bring none back.
    removed_before = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "kind"], name="one_retention_per_kind"),
            models.CheckConstraint(
                condition=Q(days__isnull=True) | Q(days__gte=1), name="a_retention_is_a_day_or_more"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.project}"


@dataclass(frozen=True)
class Kept:
    """How many rows there are, how many of them are older than some moment, and the time of the
    oldest other one."""

    there: int
    older: int
    next_at: datetime | None = None  # of the oldest row that is not older than the moment
    exact: bool = True


@dataclass(frozen=True)
class Kind:
    """A kind of rows that are removed when they are old."""

    name: str
    # Counts the rows of a project, and those before the moment, which a removal would take. None:
    # it would take none. May raise TooSlow.
    look: Callable[[int, datetime | None], Kept]
    # Removes what is older than each project's moment, in steps of some seconds at most. Yields
    # after each step how much it removed. The caller may stop between two steps.
    remove: Callable[[dict[int, datetime | None]], Iterator[int]]


def days_of(project_id: int, kind: str) -> int | None:
    """How many days the project keeps rows of this kind; None: for ever."""
    stored = Retention.objects.filter(project=project_id, kind=kind).values_list("days", flat=True)
    return next(iter(stored), DEFAULT_DAYS[kind])


def change(project: Project, kind: str, days: int | None) -> bool:
    """Set how many days the project keeps rows of this kind. Returns whether that is a change.

    If the process dies here: the next pass of removal knows of it or not.
    """
    now, earlier = clock.now(), days_of(project.pk, kind)
    if earlier == days:
        return False
    values = {"days": days, "removed_before": _removed_before(project, kind, earlier, now)}
    Retention.objects.update_or_create(project=project, kind=kind, defaults=values)
    return True


def _removed_before(
    project: Project, kind: str, days: int | None, now: datetime
) -> datetime | None:
    """Before when rows may be gone by the days so far. A project of today has lost none."""
    row = Retention.objects.filter(project=project, kind=kind).first()
    ends = [row.removed_before if row else None]
    end = before(days, now=now)
    if end and days and project.created_at < end + timedelta(days=days):
        ends.append(end)
    return max((end for end in ends if end), default=None)


def kept_since(project_id: int, kind: str, *, now: datetime) -> datetime | None:
    """The moment before which rows are removed, or will be within a day; None: all are kept."""
    row = Retention.objects.filter(project=project_id, kind=kind).first()
    ends = [before(row.days if row else DEFAULT_DAYS[kind], now=now)]
    if row:
        ends.append(row.removed_before)
    return max((end for end in ends if end), default=None)


def ends_of_life(kind: str, *, now: datetime) -> dict[int, datetime | None]:
    """The moment before which rows may be removed, for every project; None: none may."""
    days = dict(Retention.objects.filter(kind=kind).values_list("project", "days"))
    ids = Project.objects.values_list("pk", flat=True)
    return {pk: before(days.get(pk, DEFAULT_DAYS[kind]), now=now) for pk in ids}


def before(days: int | None, *, now: datetime) -> datetime | None:
    """The moment before which rows are too old: the start of a day in UTC.

    It is the same all day long, so that one pass a day removes all of them instead of a few rows
    with each tick.
    """
    if days is None:
        return None
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days=days)
