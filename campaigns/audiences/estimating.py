"""A sample of the people to count, if counting all of them takes too long."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from campaigns.audiences.seen import policy
from notifications.people.contact import Contact

# Counted exactly when that takes no longer. A page has half a second, and the part takes the rest.
SAMPLE_SECONDS = 0.2
PART_SECONDS = 1.0  # after which not even the part is worth waiting for
PEOPLE = 20_000  # looked at: a rule that one in a hundred fits is right to 7 %
MOST = 20.0  # percent: of a small table most pages would be read anyway


@dataclass(frozen=True)
class Part:
    """Where to count instead of everywhere, and how many people each one found stands for."""

    source: str
    times: float

    def all(self, found: int) -> int:
        return round(found * self.times)


def part(fewer: int = 1, seen_since: datetime | None = None) -> Part:
    """Whole pages of the table, chosen at random; `fewer` times less where each costs more.

    A number that jumps while nothing changed would be doubted, so they are the same ones each time.
    Their devices are looked up one by one: joined as a whole, all devices would be read for a few.
    """
    percent = round(_percent() / fewer, 4)
    source = f"""
        notifications_contact c TABLESAMPLE SYSTEM ({percent}) REPEATABLE (1)
        LEFT JOIN LATERAL (
            SELECT * FROM notifications_device d
            WHERE contact_id = c.id AND retired_at IS NULL AND {policy.fresh(seen_since)} OFFSET 0
        ) d ON TRUE
    """
    return Part(source, 100 / percent)


def _percent() -> float:
    """As of PostgreSQL's last ANALYZE of the table; -1 if there was none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [Contact._meta.db_table]
        )
        rows: float = cursor.fetchone()[0]
    return MOST if rows <= 0 else min(MOST, round(100 * PEOPLE / rows, 4))
