"""Sampling: count a part of the people when counting all of them takes too long."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil, sqrt

from django.db import connection

from campaigns.audiences.last_seen import fresh
from notifications.people.contact import Contact
from notifications.postgres.budget import TooSlow, statement_timeout

# The time for an exact count. A page has half a second; the sample takes the rest.
SAMPLE_SECONDS = 0.2
PART_SECONDS = 1.0  # the time for the sample; a longer wait is not worth it
PEOPLE = 20_000  # in the sample; if 1 in 100 match a rule, the estimate is right to 7 %
SEED = 1
PAGE = "(c.ctid::text::point)[0]::bigint"
ENOUGH_PAGES = 30  # pages with a match; with fewer, their variance does not give a margin
MOST = 20.0  # percent of the table; of a small table, most pages would be read anyway


@dataclass(frozen=True)
class Part:
    """A sample: the SQL to count from, and how many people each one found stands for.

    `pages`: how many people of the project are on each sampled page of the table.
    """

    source: str
    times: float
    pages: Mapping[int, int] = field(default_factory=dict)

    def all(self, found: int) -> int:
        return round(found * self.times)

    def margin(self, found: Mapping[int, int]) -> int:
        """The margin of an estimate: the true number lies within it 95 times in 100.

        `found`: how many people match on each page. Call it only for a sample with people. People
        on one page are alike, because they were created together. So the variance is computed
        between pages, not between people.
        """
        pages, share = len(self.pages), sum(found.values()) / sum(self.pages.values())
        differs = sum((found.get(page, 0) - share * people) ** 2
                      for page, people in self.pages.items())  # fmt: skip
        per_page = differs / max(1, pages - 1)
        unseen = max(0.0, 1 - 1 / self.times)  # people in the sample are counted exactly
        spread = _student(pages - 1) * sqrt(pages * per_page * unseen) * self.times
        others = {page: people - found.get(page, 0) for page, people in self.pages.items()}
        return ceil(max(spread, self._margin_of_rare(found), self._margin_of_rare(others)))

    def _margin_of_rare(self, found: Mapping[int, int]) -> float:
        """The margin if few pages, or none, have a match; 0 if enough pages have one.

        The variance between pages says little then, so the margin is that of the share of pages
        with a match (Agresti and Coull).
        """
        counts = [count for count in found.values() if count > 0]
        if len(counts) >= ENOUGH_PAGES:
            return 0.0
        pages = len(self.pages)
        on_one = sum(counts) / len(counts) if counts else sum(self.pages.values()) / pages
        share = (len(counts) + 2) / (pages + 4)
        width = 1.96 * sqrt(share * (1 - share) / (pages + 4)) + abs(share - len(counts) / pages)
        return width * pages * on_one * self.times * sqrt(max(0.0, 1 - 1 / self.times))


def part(fewer: int = 1, seen_since: datetime | None = None, project_id: int | None = None) -> Part:
    """Draw a sample of whole table pages; `fewer` times smaller if each person costs more.

    Each call draws the same pages: people would doubt a number that jumps while nothing changed.
    Devices are looked up person by person, because a plain join would read all devices.
    """
    rows = _rows()
    percent = round(_percent(rows) / fewer, 4)
    table = f"notifications_contact c TABLESAMPLE SYSTEM ({percent}) REPEATABLE ({SEED})"
    source = f"""
        {table}
        LEFT JOIN LATERAL (
            SELECT * FROM notifications_device d
            WHERE contact_id = c.id AND retired_at IS NULL AND {fresh(seen_since)} OFFSET 0
        ) d ON TRUE
    """
    if project_id is None:
        return Part(source, 100 / percent)
    pages, everybody = _count_sampled(table, project_id)
    sampled = sum(pages.values())
    if sampled and (people := _people(project_id)):
        return Part(source, people / sampled, pages)
    # PostgreSQL's own estimate of the rows: nobody knows how far it is off, so there is no margin.
    return Part(source, rows / everybody if rows > 0 and everybody else 100 / percent)


def _count_sampled(table: str, project_id: int) -> tuple[dict[int, int], int]:
    """The people of the project on each sampled page, and the people of all projects in total."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {PAGE}, count(*) FILTER (WHERE project_id = %s), count(*) FROM {table}"
            " GROUP BY 1",
            [project_id],
        )
        rows = cursor.fetchall()
    return {page: mine for page, mine, _ in rows if mine}, sum(row[2] for row in rows)


def _people(project_id: int) -> int | None:
    """Count the people of a project; None if counting takes too long."""
    with (
        suppress(TooSlow),
        statement_timeout(seconds=PART_SECONDS / 2),
        connection.cursor() as cursor,
    ):
        cursor.execute(
            "SELECT count(*) FROM notifications_contact WHERE project_id = %s", [project_id]
        )
        count: int = cursor.fetchone()[0]
        return count
    return None


def _student(freedom: int) -> float:
    """The standard errors of a 95 % interval (Student's t): 1.96, and more for few pages."""
    freedom = max(1, freedom)
    return 1.96 + 2.4 / freedom + 8.4 / freedom**3


def _rows() -> float:
    """The rows in the table of people, as of PostgreSQL's last ANALYZE; -1 if there was none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [Contact._meta.db_table]
        )
        rows: float = cursor.fetchone()[0]
    return rows


def _percent(rows: float) -> float:
    return MOST if rows <= 0 else min(MOST, round(100 * PEOPLE / rows, 4))
