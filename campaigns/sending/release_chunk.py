"""Release chunk: hands back a chunk that is not done, with the time when to queue it again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction

from campaigns.runs.chunk import Chunk
from campaigns.runs.claiming import Claim
from campaigns.sending.unsettled import HELD, UNSETTLED, place_of

GATHERING = timedelta(seconds=2)
LOOKS_AGAIN = timedelta(hours=1)  # for people who wait for their local time: some travel meanwhile

REST = f"""
SELECT count(*) FILTER (WHERE t.seq IS NULL AND NOT {HELD}), count(*) FILTER (WHERE {HELD}),
    min(t.not_before) FILTER (WHERE NOT {HELD})
{UNSETTLED.format(joins="")}
"""


@dataclass(frozen=True)
class Rest:
    """The unsettled recipients of a chunk: free to send to now, held back with their platform, or
    retrying."""

    free: int
    held: int
    retry_at: datetime | None

    @property
    def only_held(self) -> bool:
        return self.held > 0 and not self.free and self.retry_at is None

    @property
    def due(self) -> datetime | None:
        """When the chunk is due again: a little after its first retry. Jitter spreads retries, and
        a chord for each of them is too much."""
        return None if self.free or self.retry_at is None else self.retry_at + GATHERING


def hand_back(claim: Claim, *, opens_at: datetime | None) -> None:
    """Let the chunk wait for its next turn: when the gate opens, or its first retries are due."""
    with transaction.atomic():
        # Locked before its rows are read: a person may be sending again to some of them right now.
        if not claim.held.select_for_update(no_key=True).exists():
            return
        rest = _load_rest(claim)
        not_before = max((at for at in (opens_at, rest.due) if at), default=None)
        if not_before and claim.run.hour is not None:
            not_before = min(not_before, claim.now() + LOOKS_AGAIN)
        claim.held.update(
            state=Chunk.State.HELD if rest.only_held else Chunk.State.WAITING,
            lease_until=None,
            not_before=not_before,
        )


def _load_rest(claim: Claim) -> Rest:
    with connection.cursor() as cursor:
        cursor.execute(REST, place_of(claim))
        return Rest(*cursor.fetchone())
