"""The recipients of a run with their outcomes: in pages, or as one CSV of any size."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from campaigns.audiences.behavior import reported
from campaigns.engagement.receipt import STEPS, Event
from campaigns.results.sent import seqs_in
from campaigns.runs.run import Run
from campaigns.runs.variants import group
from notifications.values.spreadsheet import neutral

ROWS_AT_ONCE = 2_000
WAITING = "waiting"
MISSED = "missed"  # everybody who did not get it, certainly or perhaps


@dataclass(frozen=True)
class Filters:
    """Filters on the recipients of a run. If all are empty, everybody matches."""

    status: str = ""
    reason: str = ""
    platform: str = ""
    person: str = ""  # an external id
    chunk: int | None = None
    resent: bool = False
    reported: str = ""  # what their phone reported, or NOT_OPENED
    settled: bool = False  # only those with an outcome
    revision: int | None = None  # of the run's text
    variant: int | None = None  # or another group, see `variants/group.py`

    def conditions(self, run: Run) -> tuple[str, str, dict[str, Any]]:
        """SQL for chunks that can hold such recipients, SQL for the recipients, and the parameters.

        The chunks' sums say where to look: three unknown outcomes among five million are in at most
        three chunks.
        """
        values: dict[str, Any] = {
            "status": self.status,
            "reason": self.reason,
            "platform": self.platform,
            "chunk": self.chunk,
            "revision": self.revision,
            "variant": self.variant,
            "events": [*map(int, reported.BY.get(self.reported, reported.BY[OPENED]))],
        }
        if self.person:
            values["seqs"] = seqs_in(run, self.person)
        active_rules = [(chunks, rows) for is_set, chunks, rows in self._iter_rules() if is_set]
        chunks, rows = zip(EVERYBODY, *active_rules, strict=True)
        return " AND ".join(chunks), " AND ".join(rows), values

    def _iter_rules(self) -> Iterator[tuple[bool, str, str]]:
        """(whether the filter is set, which chunks to search, which recipients match)."""
        yield self.status == WAITING, "k.state <> 'closed'", "d.seq IS NULL"
        yield self.status in COUNTED, f"k.{self.status} > 0", "d.status = %(status)s"
        yield self.status == MISSED, ANY_MISSED, "d.status IN ('rejected', 'skipped', 'unknown')"
        yield self.reported in TOLD, "TRUE", TOLD_OF_IT
        yield (
            self.reported == NOT_OPENED,
            "k.accepted > 0",
            f"d.status = 'accepted' AND NOT {TOLD_OF_IT}",
        )
        yield self.settled, "TRUE", "d.seq IS NOT NULL"
        yield bool(self.reason), "k.reasons ? %(reason)s", "d.reason = %(reason)s"
        # Only a chunk that was leased again can send again.
        yield self.resent, "k.attempt > 1", "d.resent"
        yield self.chunk is not None, "k.number = %(chunk)s", "TRUE"
        yield self.revision is not None, OF_REVISION, "d.revision = %(revision)s"
        yield self.variant is not None, "TRUE", "r.variant = %(variant)s"
        yield bool(self.platform), "TRUE", "r.platform = %(platform)s"
        yield bool(self.person), WITH_THE_PERSON, "r.seq = ANY(%(seqs)s::int[])"


EVERYBODY = ("TRUE", "TRUE")
WITH_THE_PERSON = """
EXISTS (SELECT 1 FROM unnest(%(seqs)s::int[]) s WHERE s BETWEEN k.first_seq AND k.last_seq)
"""
# A chunk counts recipients of later revisions only; those of the first one are the remainder.
OF_REVISION = """
CASE WHEN %(revision)s > 1 THEN k.revisions ?| ARRAY[
    %(revision)s || '.accepted', %(revision)s || '.rejected',
    %(revision)s || '.skipped', %(revision)s || '.unknown'
] ELSE k.accepted + k.rejected + k.skipped + k.unknown > (
    SELECT COALESCE(sum(later.count::int), 0) FROM jsonb_each_text(k.revisions) later (name, count)
) END
"""
# Rules, lists and this page use the same codes.
NOT_OPENED, OPENED = reported.NOT_OPENED, "opened"
TOLD = ("received", "displayed", OPENED)
TOLD_OF_IT = """
EXISTS (
    SELECT FROM campaigns_receipt t
    WHERE t.run_id = %(run)s AND t.seq = r.seq AND t.event = ANY(%(events)s::int[])
)
"""
ANY_MISSED = "k.rejected + k.skipped + k.unknown > 0"
COUNTED = ("accepted", "rejected", "skipped", "unknown")
# It reads chunk by chunk, in their order, so that it stops as soon as the page is full.
SELECT = """
SELECT x.seq, x.contact_id, x.device_id, c.external_id,
    x.platform, v.address, x.status, x.reason,
    x.detail, x.message_id, x.resent, x.at, x.revision, (
        SELECT max(t.event) FROM campaigns_receipt t
        WHERE t.run_id = %(run)s AND t.seq = x.seq AND t.event = ANY(%(steps)s::int[])
    ) AS reported, x.variant
FROM (
    SELECT k.number, y.*
    FROM campaigns_chunk k
    CROSS JOIN LATERAL (
        SELECT r.seq, r.contact_id, COALESCE(d.device_id, r.device_id) AS device_id, r.platform,
            r.variant,
            COALESCE(d.status, 'waiting') AS status, COALESCE(d.reason, '') AS reason,
            COALESCE(d.detail, '') AS detail, COALESCE(d.message_id, '') AS message_id,
            COALESCE(d.resent, FALSE) AS resent, d.at, d.revision
        FROM campaigns_recipient r
        LEFT JOIN campaigns_delivery d ON d.run_id = %(run)s AND d.seq = r.seq
            AND d.seq BETWEEN k.first_seq AND k.last_seq  -- or the whole run is read per chunk
        WHERE r.run_id = %(run)s AND r.seq BETWEEN k.first_seq AND k.last_seq
            AND r.seq > %(after)s AND {rows}
        ORDER BY r.seq LIMIT %(limit)s
    ) y
    WHERE k.run_id = %(run)s AND k.last_seq > %(after)s AND {chunks}
    ORDER BY k.number, y.seq LIMIT %(limit)s
) x
LEFT JOIN notifications_contact c ON c.id = x.contact_id
LEFT JOIN notifications_device v ON v.id = x.device_id
ORDER BY x.number, x.seq
"""


@dataclass(frozen=True)
class Row:
    """A recipient with its outcome; person and address are empty if they were erased since."""

    seq: int
    contact_id: int
    device_id: int
    external_id: str | None
    platform: str | None
    address: str | None
    status: str
    reason: str
    detail: str
    message_id: str
    resent: bool
    at: datetime | None
    revision: int | None  # of the text that left last, or would have; empty while it waits
    reported: int | None  # the last step that its phone reported
    variant: int | None  # its group; empty if the run was not split

    @property
    def step(self) -> Event | None:
        return Event(self.reported) if self.reported else None


def page(run: Run, filters: Filters, *, after: int, limit: int) -> list[Row]:
    chunks, rows, values = filters.conditions(run)
    with connection.cursor() as cursor:
        cursor.execute(
            SELECT.format(chunks=chunks, rows=rows),
            {
                **values,
                "run": run.pk,
                "after": after,
                "limit": limit,
                "steps": [*map(int, STEPS)],
            },
        )
        return [Row(*row) for row in cursor.fetchall()]


# No address: one could push to it. The contact is empty if the person was erased since.
COLUMNS = (
    "seq", "contact", "platform", "status", "reason", "detail", "message_id", "resent", "at",
    "reported", "revision", "variant",
)  # fmt: skip


def csv_lines(run: Run, filters: Filters) -> Iterator[str]:
    """Stream the recipients as CSV, page by page.

    A million rows take no memory, and the first rows are sent at once. A cursor would not do:
    outside a transaction PostgreSQL computes the whole result first (seven seconds for a million
    rows), and inside one a slow client would keep the transaction open.
    """
    writer, after = csv.writer(_Echo()), 0
    yield writer.writerow(COLUMNS)
    while rows := page(run, filters, after=after, limit=ROWS_AT_ONCE):
        yield "".join(writer.writerow(_csv_cells(row)) for row in rows)
        after = rows[-1].seq


class _Echo:
    """A file for csv.writer that returns each line, to be streamed at once."""

    def write(self, line: str) -> str:
        return line


def _csv_cells(row: Row) -> list[Any]:
    return [
        row.seq,
        neutral(row.external_id or ""),
        row.platform or "",
        row.status,
        row.reason,
        neutral(row.detail),
        neutral(row.message_id),
        str(row.resent).lower(),
        row.at.isoformat() if row.at else "",
        row.step.name.lower() if row.step else "",
        row.revision or "",
        group.name_of(row.variant),
    ]
