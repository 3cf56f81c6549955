"""Best hour: the hours in which a person opened messages lately, by their own clock.

One row for each person, of some hundred bytes. It keeps the hour of each open, counted from 1970
as their clock showed it, so that 24 hours are a day in any zone. The transaction that keeps the
receipt writes the row, with the new best hour. The row outlives the run's recipients. Beat
computes it again when some of its opens have become too old to count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.utils.translation import gettext as _

from notifications.people.locking import lock_people_against_erasure
from notifications.values.zones import known_zones

DAYS = 90  # habits change with the season; a weekly campaign is opened a dozen times in one
MOST = 100  # the newest opens: a person who opens messages all day has no longer row
# Fewer opens are chance: two opens tie, and of three in three different hours none stands out.
LEAST, MIN_IN_IT = 3, 2
AT_ONCE = 50_000
HOUR = timedelta(hours=1)
MIDNIGHT = datetime(1970, 1, 1)  # noqa: DTZ001  # local time, without a zone


class Opens(models.Model):
    """The hours in which a person opened messages lately, and the hour with most opens."""

    contact_id = models.BigIntegerField(primary_key=True)
    hours = ArrayField(models.IntegerField())  # by their clock, from 1970 on, the newest first
    # Computed from `hours`; a recipient has the same three columns. Empty if no hour stands out.
    best_hour = models.SmallIntegerField(null=True)
    opened_then = models.SmallIntegerField(null=True)
    opened = models.SmallIntegerField(null=True)
    oldest_day = models.DateField()  # of the oldest open; says when the row must be computed again

    class Meta:
        indexes = [models.Index(fields=["oldest_day"], name="opens_by_oldest_day")]

    def __str__(self) -> str:
        return f"{len(self.hours)} opens of person {self.contact_id}"


@dataclass(frozen=True)
class Best:
    """The hour in which a person opened most messages, and how many of all their opens."""

    hour: int
    opened: int
    of: int

    @classmethod
    def of_row(cls, row: Any) -> Best | None:
        """From a row of a person or of a recipient."""
        if row.best_hour is None:
            return None
        return cls(row.best_hour, row.opened_then, row.opened)

    @property
    def words(self) -> str:
        text = _(
            "Best hour: %(hour)d (opened %(opened)d of %(of)d between %(from)s and %(until)s in "
            "the last %(days)d days)."
        )
        return text % {
            "hour": self.hour, "opened": self.opened, "of": self.of, "days": DAYS,
            "from": f"{self.hour}:00", "until": f"{self.hour + 1}:00",
        }  # fmt: skip


# From a list of hours: the newest ones, and the best hour. Of hours that tie, the one with the
# latest open wins. Ages are measured in UTC, at most 14 hours away from the person's clock.
JUDGED = f"""
SELECT newest.hours, best.hour AS best_hour, best.opened_then, best.opened, newest.oldest_day
FROM (
    SELECT array_agg(at ORDER BY at DESC) AS hours, date '1970-01-01' + min(at) / 24 AS oldest_day
    FROM (
        SELECT at FROM unnest({{hours}}) AS at
        WHERE at > (SELECT floor(extract(epoch FROM statement_timestamp()) / 3600) - {DAYS * 24})
        ORDER BY at DESC LIMIT {MOST}
    ) those
) newest LEFT JOIN LATERAL (
    SELECT mod(at, 24) AS hour, count(*) AS opened_then, sum(count(*)) OVER () AS opened
    FROM unnest(newest.hours) AS at GROUP BY 1 ORDER BY 2 DESC, max(at) DESC LIMIT 1
) best ON best.opened >= {LEAST} AND best.opened_then >= {MIN_IN_IT}
"""
COLUMNS = "hours, best_hour, opened_then, opened, oldest_day"


def join(contact: str) -> str:
    """SQL that joins a person's best hour as `best`, with a recipient's columns; NULL without."""
    return f"""
    LEFT JOIN (
        SELECT contact_id AS person, best_hour, opened_then, opened FROM campaigns_opens
    ) best ON best.person = {contact}
    """


def hour_of(contact: str) -> str:
    """SQL for the best hour of the person with this id; NULL without one."""
    return f"(SELECT best_hour FROM campaigns_opens WHERE contact_id = {contact})"


def best_of(contact_id: int) -> Best | None:
    """The person's best hour. None: they opened too few messages, or no hour stands out."""
    row = Opens.objects.filter(pk=contact_id).first()
    return Best.of_row(row) if row else None


KEEP = f"""
INSERT INTO campaigns_opens AS kept (contact_id, {COLUMNS})
SELECT contact_id, judged.*
FROM (
    SELECT contact_id, array_agg(hour) AS hours
    FROM unnest(%(contacts)s::bigint[], %(hours)s::int[]) AS opened (contact_id, hour) GROUP BY 1
) theirs CROSS JOIN LATERAL ({JUDGED.format(hours="theirs.hours")}) judged
WHERE judged.hours IS NOT NULL ORDER BY contact_id
ON CONFLICT (contact_id)
DO UPDATE SET ({COLUMNS}) = ({JUDGED.format(hours="kept.hours || excluded.hours")})
"""


def keep(opens: Iterable[tuple[int, str | None, datetime]]) -> None:
    """Add opens: each is a person's id, their time zone and the moment. Skips unknown zones.

    It runs in the transaction that keeps the receipts, so that no open counts twice. It locks
    people before their rows, in the same order as their erasure does.
    """
    known = known_zones()
    by_hour = [(person, on_their_clock(at, zone)) for person, zone, at in opens if zone in known]
    existing = lock_people_against_erasure(person for person, _ in by_hour) if by_hour else set()
    if rows := [(person, hour) for person, hour in by_hour if person in existing]:
        contacts, hours = zip(*rows, strict=True)
        with connection.cursor() as cursor:
            cursor.execute(KEEP, {"contacts": [*contacts], "hours": [*hours]})


def on_their_clock(at: datetime, zone: str) -> int:
    return (at.astimezone(ZoneInfo(zone)).replace(tzinfo=None) - MIDNIGHT) // HOUR


def stored_opens(contact_id: int) -> list[str]:
    """A person's stored opens: the hours on their clock, the newest first."""
    hours = Opens.objects.filter(pk=contact_id).values_list("hours", flat=True).first() or []
    return [f"{MIDNIGHT + hour * HOUR:%Y-%m-%dT%H}" for hour in hours]


# Rows that another transaction has locked are skipped; the next tick tries them again.
LOOK_AGAIN = f"""
WITH due AS (
    SELECT contact_id, hours FROM campaigns_opens WHERE oldest_day < %(end)s
    ORDER BY contact_id LIMIT %(most)s FOR UPDATE SKIP LOCKED
), judged AS MATERIALIZED (
    SELECT due.contact_id, judged.* FROM due
    CROSS JOIN LATERAL ({JUDGED.format(hours="due.hours")}) judged
), gone AS (
    DELETE FROM campaigns_opens kept USING judged
    WHERE kept.contact_id = judged.contact_id AND judged.hours IS NULL
)
UPDATE campaigns_opens kept SET ({COLUMNS}) = ROW ({
    ", ".join(f"judged.{name}" for name in COLUMNS.split(", "))
})
FROM judged WHERE kept.contact_id = judged.contact_id AND judged.hours IS NOT NULL
"""


def remove_old(now: datetime) -> None:
    """Remove opens that are too old to count, for up to AT_ONCE people at a time."""
    end = (now.astimezone(UTC) - timedelta(days=DAYS)).date()
    with connection.cursor() as cursor:
        cursor.execute(LOOK_AGAIN, {"end": end, "most": AT_ONCE})


def forget(contact_ids: Sequence[int]) -> None:
    """Remove the opens of people who are being erased."""
    Opens.objects.filter(contact_id__in=contact_ids).delete()
