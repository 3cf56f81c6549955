"""The chunk grid of a run: one letter for the state of each chunk, so 5,000 chunks are 5 kB.

`static/run.js` draws it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from campaigns.canary.first_part import HELD_UNTIL
from campaigns.results import reports
from campaigns.runs import sums
from campaigns.runs.chunk import Chunk
from campaigns.runs.reasons import OWN_TIMES
from campaigns.runs.run import Run

# In the order of a chunk's life. Several attempts come from retries, a low rate, a pause, or a dead
# worker.
KINDS = {
    "w": _("Waiting"),
    "f": _("Waits for the first part"),
    "t": _("Waits to be taken up again"),
    "q": _("Queued"),
    "s": _("Sending"),
    "h": _("Held back"),
    "x": _("Quarantined"),
    "d": _("Done"),
    "r": _("Done, in several attempts"),
    "c": _("Cut short by cancelling"),
    "n": _("Closed, never sent to"),
}
LETTERS = """
SELECT string_agg(
    CASE state
        WHEN 'closed' THEN CASE
            WHEN attempt = 0 AND accepted + rejected + unknown = 0 THEN 'n'
            WHEN reasons ?| ARRAY['cancelled', 'cut_short'] THEN 'c'
            WHEN attempt > 1 THEN 'r' ELSE 'd' END
        WHEN 'leased' THEN 's'
        WHEN 'queued' THEN 'q'
        WHEN 'held' THEN 'h'
        WHEN 'quarantined' THEN 'x'
        ELSE CASE WHEN not_before = %s THEN 'f' WHEN attempt > 0 THEN 't' ELSE 'w' END
    END, '' ORDER BY number)
FROM campaigns_chunk WHERE run_id = %s
"""


@dataclass(frozen=True)
class Grid:
    """The letters of all chunks, in the order of their numbers."""

    cells: str

    @property
    def size(self) -> int:
        return len(self.cells)

    @property
    def legend(self) -> list[tuple[str, str, int]]:
        counts = ((letter, str(label), self.cells.count(letter)) for letter, label in KINDS.items())
        return [kind for kind in counts if kind[2]]

    @property
    def in_words(self) -> str:
        return ", ".join(f"{label}: {count:,}" for _, label, count in self.legend)


def grid(run: Run) -> Grid:
    with connection.cursor() as cursor:
        cursor.execute(LETTERS, [HELD_UNTIL, run.pk])
        return Grid(cursor.fetchone()[0] or "")


def one(run: Run, number: int, now: datetime) -> dict[str, Any]:
    """The details of one chunk, for a user who clicked its cell or typed its number."""
    chunk = run.chunks.filter(number=number).first()
    if chunk is None:
        return {"run": run, "asked": number, "size": run.chunks.count()}
    asleep = Q(reason__in=OWN_TIMES, not_before__gt=now)
    retrying = chunk.retries.exclude(asleep).order_by("not_before")
    sleeping = chunk.retries.filter(asleep).order_by("not_before")
    return {
        "run": run,
        "chunk": chunk,
        "state": Chunk.State(chunk.state).label,
        "counts": [(name, getattr(chunk, name)) for name in (*sums.STATUSES, "waiting")],
        "reasons": reports.in_plain_words(chunk.reasons),
        "sleeping": sleeping.count(),
        "wakes_at": getattr(sleeping.first(), "not_before", None),
        "retrying": retrying.count(),
        "due_now": retrying.filter(not_before__lte=now).count(),
        "retry_at": getattr(retrying.filter(not_before__gt=now).first(), "not_before", None),
        "zone": run.project.timezone,
    }
