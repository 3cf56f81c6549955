"""Staging: a table with the valid rows of one file, before they are merged into the people.

The table is unlogged: it can be built again from the parts, which are kept until the end. With the
log, five million rows would take twice as long. After a crash of PostgreSQL the table is empty, and
a pooled connection may not notice the crash. `is_lost` checks when work begins again, and `Lost` is
raised where all rows must be present. Then the file is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection, transaction

from notifications.people.importing.model import Import
from notifications.people.importing.reading import MAX_CELL, Refused
from notifications.people.importing.row_validation import STAGED
from notifications.people.installations import FID, LENGTH

TABLE = """
CREATE UNLOGGED TABLE IF NOT EXISTS {table} (
    row bigint NOT NULL, external_id text NOT NULL, attributes jsonb, locale text, timezone text,
    subscribed bool, choices jsonb, said_at timestamptz, address text, platform text,
    app_version text, seen_at timestamptz
) WITH (autovacuum_enabled = false)
"""
LINES = 2**40  # more than a file has; `row` = the file's place in the archive × LINES + the line
MAX_REFUSED = 100_000  # rows that are kept; nobody corrects more by hand
REFUSAL = """
COPY notifications_importrefusal (owner_id, line, "column", reason, cells, file) FROM STDIN
"""


class Lost(Exception):
    """The table has fewer rows than were staged."""


def table_of(one: Import) -> str:
    return f"notifications_staged_{one.pk}"


def create(one: Import) -> None:
    _do(TABLE.format(table=table_of(one)))


def drop(one: Import) -> None:
    _do(f"DROP TABLE IF EXISTS {table_of(one)}")


def is_lost(one: Import) -> bool:
    """Whether there should be rows, but there are none."""
    if not one.staged:
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s)", [table_of(one)])
        if cursor.fetchone()[0] is None:
            return True
        cursor.execute(f"SELECT FROM {table_of(one)} LIMIT 1")
        return bool(cursor.rowcount == 0)


def without_waiting_for_the_disk() -> None:
    """Let the commit return before it is on the disk.

    If PostgreSQL loses the last commits in a crash, it loses the progress with them, so the work is
    done again.
    """
    _do("SET LOCAL synchronous_commit = off")


def copy_rows(one: Import, lines: list[str], numbers: list[int], *, file: int) -> None:
    """Write valid rows into the table.

    `numbers`: their lines in the file; of one person's rows, later ones take precedence. `file`:
    its place in an archive.
    """
    if not lines:
        return
    rows = zip(numbers, lines, strict=True)
    numbered = "\n".join(f"{file * LINES + number}\t{line}" for number, line in rows)
    into = f"COPY {table_of(one)} ({', '.join(STAGED)}) FROM STDIN"
    with connection.cursor() as cursor, cursor.copy(into) as copy:
        copy.write(f"{numbered}\n".encode())


def copy_refused(one: Import, refused: Sequence[Refused], *, file: str) -> None:
    """Keep refused rows, up to the limit for a file."""
    room = max(0, MAX_REFUSED - one.refused)
    with connection.cursor() as cursor, cursor.copy(REFUSAL) as copy:
        for row in refused[:room]:
            cells = [_storable(cell) for cell in row.cells]
            reason, column = _storable(row.reason)[:500], _storable(row.column)[:200]
            copy.write_row((one.pk, row.line, column, reason, cells, file[:200]))


def _storable(cell: str) -> str:
    """The original text, as far as PostgreSQL can store it.

    Bytes that are not UTF-8 were probably Latin-1.
    """
    cell = cell[:MAX_CELL].replace("\x00", "�")
    try:
        cell.encode()
    except UnicodeEncodeError:
        return "".join(map(_as_latin_1, cell))
    return cell


def _as_latin_1(letter: str) -> str:
    if "\udc80" <= letter <= "\udcff":
        return bytes([ord(letter) - 0xDC00]).decode("cp1252", "replace")
    return "�" if "\ud800" <= letter <= "\udfff" else letter


# --- After reading: steps that make the merge fast and its counts right ---------


def _index(import_: Import) -> dict[str, Any]:
    """Create an index in the order of the merge."""
    table = table_of(import_)
    _do("SET LOCAL maintenance_work_mem = '128MB'")
    _do(f'CREATE INDEX ON {table} (external_id COLLATE "C", row)')
    return {}


# A device belongs to the person in the last row with its address, and of two tokens of an
# installation the last is registered. The people in earlier rows are still imported. Addresses are
# compared by hash: sorting five million of them would take longer than the merge.
MAYBE = f"""
CASE substr(address, {LENGTH + 1}, 1) WHEN ':' THEN left(address, {LENGTH + 1}) ELSE address END
"""
SURELY = f"CASE WHEN address ~ '^{FID.pattern}:' THEN left(address, {LENGTH + 1}) ELSE address END"
LAST_WORD = f"""
WITH twice AS MATERIALIZED (
    SELECT hashtextextended({MAYBE}, 0) AS hash FROM {{table}}
    WHERE address IS NOT NULL GROUP BY 1 HAVING count(*) > 1
), ranked AS (
    SELECT ctid, row_number() OVER (PARTITION BY {SURELY} ORDER BY row DESC) AS place
    FROM {{table}} WHERE hashtextextended({MAYBE}, 0) IN (SELECT hash FROM twice)
)
UPDATE {{table}} s SET address = NULL FROM ranked WHERE s.ctid = ranked.ctid AND ranked.place > 1
"""


def _last_words(import_: Import) -> dict[str, Any]:
    _do("SET LOCAL work_mem = '64MB'")
    _do(LAST_WORD.replace("{table}", table_of(import_)))
    return {}


EVERYBODY = """
SELECT count(*), COALESCE(sum(rows), 0), count(*) FILTER (WHERE rows > 1)
FROM (SELECT count(*) AS rows FROM {table} GROUP BY external_id COLLATE "C") people
"""
# The first people with several rows, and the places of these rows: at most `most` of each person.
TWICE = """
SELECT array(
    SELECT row FROM {table} s WHERE s.external_id COLLATE "C" = often.id ORDER BY row LIMIT {most}
), rows FROM (
    SELECT external_id COLLATE "C" AS id, count(*) AS rows, min(row) AS first FROM {table}
    GROUP BY 1 HAVING count(*) > 1 ORDER BY first LIMIT {people}
) often ORDER BY first
"""
TOLD_PEOPLE, TOLD_LINES = 5, 4


def _count(import_: Import) -> dict[str, Any]:
    """Count the people, and the duplicates: further rows of the same person. Raises Lost."""
    table = table_of(import_)
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {table}")
        cursor.execute(EVERYBODY.format(table=table))
        people, rows, often = cursor.fetchone()
        if rows != import_.staged:
            raise Lost
        first = _first_of_several(table, cursor) if often else []
    repeated = {"people": often, "first": first}
    return {
        "people": people,
        "duplicates": import_.staged - people,
        "sniffed": {**import_.sniffed, "repeated": repeated},
    }


def _first_of_several(table: str, cursor: Any) -> list[dict[str, Any]]:
    """The first people with several rows, by file and line only: the file says who they are."""
    cursor.execute(TWICE.format(table=table, most=TOLD_LINES, people=TOLD_PEOPLE))
    return [
        {"lines": [divmod(row, LINES) for row in rows], "rows": count}
        for rows, count in cursor.fetchall()
    ]


def _index_addresses(import_: Import) -> dict[str, Any]:
    """Index addresses for mode replace: its merge looks them up in other parts of the file."""
    if import_.mode == Import.Mode.REPLACE:
        where = "WHERE address IS NOT NULL"
        _do(f"CREATE INDEX ON {table_of(import_)} (hashtextextended(address, 0)) {where}")
    return {}


STEPS: tuple[Callable[[Import], dict[str, Any]], ...] = (
    _index,
    _last_words,
    _index_addresses,
    _count,
)


def _do(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def afresh(one: Import) -> None:
    """Reset the import, inside a transaction, as if nothing had been read."""
    with transaction.atomic():
        drop(one)
        one.refusals.all().delete()
