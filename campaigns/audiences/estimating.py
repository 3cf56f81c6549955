"""A sample of the people to count, if counting all of them takes too long."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil, sqrt

from django.db import connection

from campaigns.audiences.last_seen import policy
from notifications.people.contact import Contact
from notifications.postgres.budget import TooSlow, within

# Counted exactly when that takes no longer. A page has half a second, and the part takes the rest.
SAMPLE_SECONDS = 0.2
PART_SECONDS = 1.0  # after which not even the part is worth waiting for
PEOPLE = 20_000  # looked at: a rule that one in a hundred fits is right to 7 %
SEED = 1
PAGE = "(c.ctid::text::point)[0]::bigint"
ENOUGH_PAGES = 30  # with any of them, to say from how they differ how far an estimate may be off
MOST = 20.0  # percent: of a small table most pages would be read anyway


@dataclass(frozen=True)
class Part:
    """Where to count instead of everywhere, and how many people each one found stands for.

    `pages`: how many people of the project are on each page of the table that is looked at.
    """

    source: str
    times: float
    pages: Mapping[int, int] = field(default_factory=dict)

    def all(self, found: int) -> int:
        return round(found * self.times)

    def margin(self, found: Mapping[int, int]) -> int:
        """Of an estimate: the true number lies within it 95 times in 100. `found`: how many were
        found on each page. Only of a part with people.

        People on one page are alike, as they came together: so pages are compared, not people.
        """
        pages, share = len(self.pages), sum(found.values()) / sum(self.pages.values())
        differs = sum((found.get(page, 0) - share * people) ** 2
                      for page, people in self.pages.items())  # fmt: skip
        per_page = differs / max(1, pages - 1)
        unseen = max(0.0, 1 - 1 / self.times)  # there is no doubt about those who were looked at
        spread = _student(pages - 1) * sqrt(pages * per_page * unseen) * self.times
        others = {page: people - found.get(page, 0) for page, people in self.pages.items()}
        return ceil(max(spread, self._of_rare(found), self._of_rare(others)))

    def _of_rare(self, found: Mapping[int, int]) -> float:
        """Where few pages have any, or none has, how they differ says little: as wide as for so
        few of so many pages (Agresti and Coull)."""
        held = [count for count in found.values() if count > 0]
        if len(held) >= ENOUGH_PAGES:
            return 0.0
        pages = len(self.pages)
        on_one = sum(held) / len(held) if held else sum(self.pages.values()) / pages
        share = (len(held) + 2) / (pages + 4)
        width = 1.96 * sqrt(share * (1 - share) / (pages + 4)) + abs(share - len(held) / pages)
        return width * pages * on_one * self.times * sqrt(max(0.0, 1 - 1 / self.times))


def part(fewer: int = 1, seen_since: datetime | None = None, project_id: int | None = None) -> Part:
    """Whole pages of the table, chosen at random; `fewer` times less where each costs more.

    A number that jumps while nothing changed would be doubted, so they are the same ones each time.
    Their devices are looked up one by one: joined as a whole, all devices would be read for a few.
    """
    rows = _rows()
    percent = round(_percent(rows) / fewer, 4)
    table = f"notifications_contact c TABLESAMPLE SYSTEM ({percent}) REPEATABLE ({SEED})"
    source = f"""
        {table}
        LEFT JOIN LATERAL (
            SELECT * FROM notifications_device d
            WHERE contact_id = c.id AND retired_at IS NULL AND {policy.fresh(seen_since)} OFFSET 0
        ) d ON TRUE
    """
    if project_id is None:
        return Part(source, 100 / percent)
    pages, everybody = _looked_at(table, project_id)
    seen = sum(pages.values())
    if seen and (people := _people(project_id)):
        return Part(source, people / seen, pages)
    # As many as PostgreSQL believes there are: how far that is off nobody knows.
    return Part(source, rows / everybody if rows > 0 and everybody else 100 / percent)


def _looked_at(table: str, project_id: int) -> tuple[dict[int, int], int]:
    """How many people of the project are on each page, and how many of all projects there are."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {PAGE}, count(*) FILTER (WHERE project_id = %s), count(*) FROM {table}"
            " GROUP BY 1",
            [project_id],
        )
        rows = cursor.fetchall()
    return {page: mine for page, mine, _ in rows if mine}, sum(row[2] for row in rows)


def _people(project_id: int) -> int | None:
    """None: counting takes too long."""
    with suppress(TooSlow), within(seconds=PART_SECONDS / 2), connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM notifications_contact WHERE project_id = %s", [project_id]
        )
        found: int = cursor.fetchone()[0]
        return found
    return None


def _student(freedom: int) -> float:
    """How many standard errors hold the truth 95 times in 100: 1.96, and more of few pages."""
    freedom = max(1, freedom)
    return 1.96 + 2.4 / freedom + 8.4 / freedom**3


def _rows() -> float:
    """Of the table, as of PostgreSQL's last ANALYZE; -1 if there was none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [Contact._meta.db_table]
        )
        rows: float = cursor.fetchone()[0]
    return rows


def _percent(rows: float) -> float:
    return MOST if rows <= 0 else min(MOST, round(100 * PEOPLE / rows, 4))
