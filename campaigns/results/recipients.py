"""The recipients of a run with what became of each: in pages, or as one CSV of any size."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from campaigns.results.sent import seqs_in
from campaigns.runs.run import Run

ROWS_AT_ONCE = 2_000
WAITING = "waiting"
# Where a spreadsheet may find a formula: it skips what is blank before the sign, takes full-width
# signs too, and begins a cell at each semicolon where that separates. An apostrophe before it
# makes it a text; one that stood there gets another, so that each cell can be read back.
FORMULA = re.compile(r"(^|;)(?=[\s']*[=+@＝＋－＠-])|^(?='*[\t\r\n])")


@dataclass(frozen=True)
class Filters:
    """Whom one asks for; everything empty means everybody."""

    status: str = ""
    reason: str = ""
    platform: str = ""
    person: str = ""  # an external id
    chunk: int | None = None
    resent: bool = False
    settled: bool = False  # only those with an outcome

    def conditions(self, run: Run) -> tuple[str, str, dict[str, Any]]:
        """(which chunks can hold such a recipient, which recipients are meant, the values).

        The chunks' sums say where to look: three unknowns among five million are in three chunks.
        """
        values: dict[str, Any] = {
            "status": self.status,
            "reason": self.reason,
            "platform": self.platform,
            "chunk": self.chunk,
        }
        if self.person:
            values["seqs"] = seqs_in(run, self.person)
        meant = [(chunks, rows) for asked, chunks, rows in self._rules() if asked]
        chunks, rows = zip(EVERYBODY, *meant, strict=True)
        return " AND ".join(chunks), " AND ".join(rows), values

    def _rules(self) -> Iterator[tuple[bool, str, str]]:
        """(whether it was asked for, which chunks to look into, which recipients are meant)."""
        yield self.status == WAITING, "k.state <> 'closed'", "d.seq IS NULL"
        yield self.status in COUNTED, f"k.{self.status} > 0", "d.status = %(status)s"
        yield self.settled, "TRUE", "d.seq IS NOT NULL"
        yield bool(self.reason), "k.reasons ? %(reason)s", "d.reason = %(reason)s"
        # Only a chunk that was taken again sends anybody again.
        yield self.resent, "k.attempt > 1", "d.resent"
        yield self.chunk is not None, "k.number = %(chunk)s", "TRUE"
        yield bool(self.platform), "TRUE", ON_PLATFORM
        yield bool(self.person), WITH_THE_PERSON, "r.seq = ANY(%(seqs)s::int[])"


EVERYBODY = ("TRUE", "TRUE")
WITH_THE_PERSON = """
EXISTS (SELECT 1 FROM unnest(%(seqs)s::int[]) s WHERE s BETWEEN k.first_seq AND k.last_seq)
"""
ON_PLATFORM = """
EXISTS (
    SELECT 1 FROM notifications_device p WHERE p.id = r.device_id AND p.platform = %(platform)s
)
"""
COUNTED = ("accepted", "rejected", "skipped", "unknown")
# Chunk by chunk in their order, so that a page ends as soon as it is full.
SELECT = """
SELECT x.seq, x.contact_id, x.device_id, c.external_id, v.platform, v.address, x.status, x.reason,
    x.detail, x.message_id, x.resent, x.at
FROM (
    SELECT k.number, y.*
    FROM campaigns_chunk k
    CROSS JOIN LATERAL (
        SELECT r.seq, r.contact_id, r.device_id, COALESCE(d.status, 'waiting') AS status,
            COALESCE(d.reason, '') AS reason, COALESCE(d.detail, '') AS detail,
            COALESCE(d.message_id, '') AS message_id, COALESCE(d.resent, FALSE) AS resent, d.at
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
    """A recipient; the person and the device are empty when they were erased since."""

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


def page(run: Run, filters: Filters, *, after: int, limit: int) -> list[Row]:
    chunks, rows, values = filters.conditions(run)
    with connection.cursor() as cursor:
        cursor.execute(
            SELECT.format(chunks=chunks, rows=rows),
            {**values, "run": run.pk, "after": after, "limit": limit},
        )
        return [Row(*row) for row in cursor.fetchall()]


# No address: one could push to it. A person erased since has no name here.
COLUMNS = (
    "seq", "contact", "platform", "status", "reason", "detail", "message_id", "resent", "at",
)  # fmt: skip


def csv_lines(run: Run, filters: Filters) -> Iterator[str]:
    """Streamed page by page: a million rows take no memory, and the first leave at once.

    A cursor would not do: outside a transaction PostgreSQL works the whole answer out first (seven
    seconds for a million), and inside one a slow reader would hold the transaction open.
    """
    writer, after = csv.writer(_Echo()), 0
    yield writer.writerow(COLUMNS)
    while rows := page(run, filters, after=after, limit=ROWS_AT_ONCE):
        yield "".join(writer.writerow(_cells(row)) for row in rows)
        after = rows[-1].seq


class _Echo:
    """What csv.writer writes to: hands the line back, to be streamed at once."""

    def write(self, line: str) -> str:
        return line


def _cells(row: Row) -> list[Any]:
    return [
        row.seq,
        _cell(row.external_id or ""),
        row.platform or "",
        row.status,
        row.reason,
        _cell(row.detail),
        _cell(row.message_id),
        str(row.resent).lower(),
        row.at.isoformat() if row.at else "",
    ]


def _cell(text: str) -> str:
    return FORMULA.sub(r"\1'", text)
