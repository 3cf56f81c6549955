"""Foreseen: for whom in a rehearsal's chunk would a launch keep a place?

A launch writes places down as it chooses its people. A rehearsal writes none, as another run would
leave them: it asks again for each chunk.
"""

from __future__ import annotations

from django.db import connection

from campaigns.audiences.planned.people import people_of
from campaigns.runs.caps import places
from campaigns.runs.claiming import Claim

OF_CHUNK = "SELECT contact_id FROM campaigns_recipient WHERE run_id = %s AND seq BETWEEN %s AND %s"


def kept_by_launch(claim: Claim) -> list[tuple[int, int]]:
    """Of a rehearsal: which runs would have a place for which people of the chunk."""
    run, chunk, kept = claim.run, claim.chunk, list[tuple[int, int]]()
    for other in places.above(run.project_id, run.precedence, claim.foresees, claim.now()):
        theirs = people_of(other)
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT DISTINCT contact_id FROM ({theirs.sql}) theirs"
                f" WHERE contact_id IN ({OF_CHUNK})",
                [*theirs.params, run.pk, chunk.first_seq, chunk.last_seq],
            )
            kept += [(other.pk, person) for (person,) in cursor.fetchall()]
    return kept
