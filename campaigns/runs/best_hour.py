"""Opens: when did a person open messages lately, by their own clock, and what is their best hour?

One row for each person, of some hundred bytes: of each open its hour, counted from 1970 as their
clock showed it, so that 24 of them are a day whatever the zone. It is written in the transaction
that keeps the receipt, with what comes of it, and outlives the run's recipients. Beat judges anew
where something has become too old to count.
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

from notifications.people.locking import stay
from notifications.values.zones import known_zones

DAYS = 90  # a habit is of a season, and a weekly campaign is opened a dozen times in it
MOST = 100  # the newest: who opens all day has no longer row
# Fewer are chance: of two opens each is as often as the other, and of three in three different
# hours none stands out.
LEAST, LEAST_IN_IT = 3, 2
AT_ONCE = 50_000
HOUR = timedelta(hours=1)
MIDNIGHT = datetime(1970, 1, 1)  # noqa: DTZ001  # on the wall, of no zone


class Opens(models.Model):
    """When did this person open messages lately, and in which hour most?"""

    contact_id = models.BigIntegerField(primary_key=True)
    hours = ArrayField(models.IntegerField())  # by their clock, from 1970 on, the newest first
    # What comes of them, as a recipient has it. Empty where none stands out.
    best_hour = models.SmallIntegerField(null=True)
    opened_then = models.SmallIntegerField(null=True)
    opened = models.SmallIntegerField(null=True)
    oldest_day = models.DateField()  # then it is time to look again

    class Meta:
        indexes = [models.Index(fields=["oldest_day"], name="opens_by_oldest_day")]

    def __str__(self) -> str:
        return f"{len(self.hours)} opens of person {self.contact_id}"


@dataclass(frozen=True)
class Best:
    """The hour in which somebody opened most, and how much of what they opened."""

    hour: int
    opened: int
    of: int

    @classmethod
    def of_row(cls, row: Any) -> Best | None:
        """As a person has it, or a recipient."""
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


# Of some hours the newest, and the best of them. Of hours that tie, the one in which they opened
# something last. Their clock is at most 14 hours away from the one that is asked what is too old.
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
) best ON best.opened >= {LEAST} AND best.opened_then >= {LEAST_IN_IT}
"""
COLUMNS = "hours, best_hour, opened_then, opened, oldest_day"


def join(contact: str) -> str:
    """To people by this number: `best`, with the columns of a recipient; NULL without one."""
    return f"""
    LEFT JOIN (
        SELECT contact_id AS person, best_hour, opened_then, opened FROM campaigns_opens
    ) best ON best.person = {contact}
    """


def hour_of(contact: str) -> str:
    """The best hour of a person by this number, NULL without one."""
    return f"(SELECT best_hour FROM campaigns_opens WHERE contact_id = {contact})"


def best_of(contact_id: int) -> Best | None:
    """None: they opened too little, or at any hour."""
    row = Opens.objects.filter(pk=contact_id).first()
    return Best.of_row(row) if row else None


KEEP = f"""
INSERT INTO campaigns_opens AS kept (contact_id, {COLUMNS})
SELECT contact_id, judged.*
FROM (
    SELECT contact_id, array_agg(hour) AS hours
    FROM unnest(%(contacts)s::bigint[], %(hours)s::int[]) AS told (contact_id, hour) GROUP BY 1
) theirs CROSS JOIN LATERAL ({JUDGED.format(hours="theirs.hours")}) judged
WHERE judged.hours IS NOT NULL ORDER BY contact_id
ON CONFLICT (contact_id)
DO UPDATE SET ({COLUMNS}) = ({JUDGED.format(hours="kept.hours || excluded.hours")})
"""


def keep(told: Iterable[tuple[int, str | None, datetime]]) -> None:
    """Of people, each with the zone and the moment of an open. Where nobody knew their zone, no
    clock of theirs showed anything.

    In the transaction that keeps the receipts, so that none counts twice. People are locked before
    their rows, as by whoever erases them.
    """
    known = known_zones()
    of = [(person, on_their_clock(at, zone)) for person, zone, at in told if zone in known]
    there = stay(person for person, _hour in of) if of else set()
    if mine := [(person, hour) for person, hour in of if person in there]:
        contacts, hours = zip(*mine, strict=True)
        with connection.cursor() as cursor:
            cursor.execute(KEEP, {"contacts": [*contacts], "hours": [*hours]})


def on_their_clock(at: datetime, zone: str) -> int:
    return (at.astimezone(ZoneInfo(zone)).replace(tzinfo=None) - MIDNIGHT) // HOUR


def told_of(contact_id: int) -> list[str]:
    """Their opens as they are kept: the hours on their clock, the newest first."""
    kept = Opens.objects.filter(pk=contact_id).values_list("hours", flat=True).first() or []
    return [f"{MIDNIGHT + hour * HOUR:%Y-%m-%dT%H}" for hour in kept]


# Nobody else is at work at these rows, or it is tried again with the next tick.
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
    """What counts no more, of a part of the people at a time."""
    end = (now.astimezone(UTC) - timedelta(days=DAYS)).date()
    with connection.cursor() as cursor:
        cursor.execute(LOOK_AGAIN, {"end": end, "most": AT_ONCE})


def forget(contact_ids: Sequence[int]) -> None:
    """With who is erased."""
    Opens.objects.filter(contact_id__in=contact_ids).delete()
