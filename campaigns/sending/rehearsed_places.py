"""Rehearsed places: places under frequency caps that a launch would keep for other campaigns.

A launch writes these places when its recipients are frozen. A rehearsal must write none, so it
computes them for each chunk.
"""

from __future__ import annotations

from django.db import connection

from campaigns.audiences.planned_people import people_of
from campaigns.runs.caps import reserved_places
from campaigns.runs.claiming import Claim

OF_CHUNK = "SELECT contact_id FROM campaigns_recipient WHERE run_id = %s AND seq BETWEEN %s AND %s"


def kept_for_others(claim: Claim) -> list[tuple[int, int]]:
    """Return (run, contact) for each place that another run would have in this chunk."""
    run, chunk, places = claim.run, claim.chunk, list[tuple[int, int]]()
    for other in reserved_places.higher_runs(
        run.project_id, run.precedence, claim.foresees, claim.now()
    ):
        audience = people_of(other)
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT DISTINCT contact_id FROM ({audience.sql}) audience"
                f" WHERE contact_id IN ({OF_CHUNK})",
                [*audience.params, run.pk, chunk.first_seq, chunk.last_seq],
            )
            places += [(other.pk, contact) for (contact,) in cursor.fetchall()]
    return places
