"""Draw: chooses at random the people of a run's first part (canary).

A person's place depends only on their id and the run. So all devices of a person go together,
another run draws other people, and the order of registration does not matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from django.db import connection

from campaigns.runs.run import Run


class Piece(NamedTuple):
    """A range of recipient numbers that is cut into chunks together."""

    seqs: range
    follows: bool  # True: belongs to the rest, which is sent after the first part


def size_of(devices: int, percent: int | None, least: int) -> int:
    """How many devices are in the first part; 0: all go at once, as there are too few to draw."""
    if percent is None or devices <= least:
        return 0
    return max(least, -(-devices * percent // 100))


def wait_of(devices: int, settings: Any) -> int:
    """How many seconds the rest waits. `settings`: a campaign or a run."""
    first = size_of(devices, settings.first_percent, settings.first_least)
    return settings.first_wait_seconds if first else 0


def place(run_id: int) -> str:
    """SQL for a recipient's random place. It differs from audience draws and from other runs."""
    digest = hashlib.sha256(f"first part of run {run_id}".encode()).digest()
    seed = int.from_bytes(digest[:8]) >> 1
    return f"hashint8extended(contact_id, {seed})"


def order_of(run: Run) -> str:
    """SQL order in which freezing numbers recipients: candidates for the first part come first."""
    return "device_id" if run.first_percent is None else f"{place(run.pk)}, device_id"


def drawn(run: Run, parts: Sequence[range], table: str) -> list[Piece]:
    """Split the frozen parts into pieces: in each part, those who go first before the others."""
    everybody = [Piece(seqs, follows=False) for seqs in parts if seqs]
    first = size_of(sum(map(len, parts)), run.first_percent, run.first_least)
    if not first:
        return everybody
    last = _place_of_nth(run, first, table)
    pieces = [piece for seqs in parts for piece in _halves(run, seqs, last, table) if piece.seqs]
    # One person may own every device: then nothing is left for the rest.
    return pieces if any(piece.follows for piece in pieces) else everybody


def _place_of_nth(run: Run, nth: int, table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {place(run.pk)} AS place FROM {table} ORDER BY 1 OFFSET %s LIMIT 1", [nth - 1]
        )
        nth_place: int = cursor.fetchone()[0]
    return nth_place


def _halves(run: Run, seqs: range, last: int, table: str) -> Iterator[Piece]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM {table} WHERE seq >= %s AND seq < %s AND {place(run.pk)} <= %s",
            [seqs.start, seqs.stop, last],
        )
        ends = seqs.start + cursor.fetchone()[0]
    yield Piece(range(seqs.start, ends), follows=False)
    yield Piece(range(ends, seqs.stop), follows=True)
