"""Retention: how long a project keeps what, and what a kind of rows has to bring along for that.

What is kept is counted by its own room, and removed by it; when, `DEFAULT_DAYS` and the rows here
say. Beat's tick goes through the kinds.
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

# Who was in old sendings is kept until somebody says otherwise: an upgrade must remove nothing.
DEFAULT_DAYS: dict[str, int | None] = {
    "ledger": None,
    "events": 400,
    "imports": 90,
    "inbox": 90,
    "reports": 30,
    "alerts": 400,
}
MOST_DAYS = 3_650


class Retention(OfProject):
    """How many days does this project keep rows of this kind? Without days, for ever."""

    kind = models.CharField(max_length=20)
    days = models.PositiveIntegerField(
        null=True, validators=[MinValueValidator(1), MaxValueValidator(MOST_DAYS)]
    )
    # Rows before this may be gone by an earlier, shorter time; longer days bring none back.
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
    """How much there is, how much of it is older than some moment, and when the first of what is
    left ends its time."""

    there: int
    older: int
    next_at: datetime | None = None  # of the oldest that is not older
    exact: bool = True


@dataclass(frozen=True)
class Kind:
    """One kind of rows that grow old."""

    name: str
    # What there is of a project, and what a removal of everything before that moment would take;
    # None: of nothing. May raise TooSlow.
    look: Callable[[int, datetime | None], Kept]
    # Removes what is older than each project's moment, in steps of some seconds at most, and gives
    # after each how much went. Whoever asks may stop between two.
    remove: Callable[[dict[int, datetime | None]], Iterator[int]]


def days_of(project_id: int, kind: str) -> int | None:
    """None: for ever."""
    kept = Retention.objects.filter(project=project_id, kind=kind).values_list("days", flat=True)
    return next(iter(kept), DEFAULT_DAYS[kind])


def change(project: Project, kind: str, days: int | None) -> bool:
    """Whether it is new. If the process dies here: the next pass of removal knows of it or not."""
    now, earlier = clock.now(), days_of(project.pk, kind)
    if earlier == days:
        return False
    values = {"days": days, "removed_before": _removed_before(project, kind, earlier, now)}
    Retention.objects.update_or_create(project=project, kind=kind, defaults=values)
    return True


def _removed_before(
    project: Project, kind: str, days: int | None, now: datetime
) -> datetime | None:
    """What the days so far may have removed. A project of today has lost nothing by them."""
    row = Retention.objects.filter(project=project, kind=kind).first()
    ends = [row.removed_before if row else None]
    end = before(days, now=now)
    if end and days and project.created_at < end + timedelta(days=days):
        ends.append(end)
    return max((end for end in ends if end), default=None)


def kept_since(project_id: int, kind: str, *, now: datetime) -> datetime | None:
    """Older rows are removed, or will be within a day; None: every row is kept."""
    row = Retention.objects.filter(project=project_id, kind=kind).first()
    ends = [before(row.days if row else DEFAULT_DAYS[kind], now=now)]
    if row:
        ends.append(row.removed_before)
    return max((end for end in ends if end), default=None)


def ends_of_life(kind: str, *, now: datetime) -> dict[int, datetime | None]:
    """What is older than this may go, of every project there is; None: nothing."""
    told = dict(Retention.objects.filter(kind=kind).values_list("project", "days"))
    ids = Project.objects.values_list("pk", flat=True)
    return {pk: before(told.get(pk, DEFAULT_DAYS[kind]), now=now) for pk in ids}


def before(days: int | None, *, now: datetime) -> datetime | None:
    """The start of a day in UTC: the same all day long, so that one pass a day removes all of it
    instead of a few rows with each tick."""
    if days is None:
        return None
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days=days)
