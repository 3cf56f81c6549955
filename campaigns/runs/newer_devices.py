"""Newer devices: finds a recipient's phone after its app registered another address.

The snapshot names the device that received pushes then. If that device was retired since, and the
same installation of the same person receives at another address, the message goes there.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from django.db import connection

from notifications.people.installations import same_installation

# A run names an installation twice only if its address changed while the run chose its people.
# Then no newer device is used, or one phone might ring twice. OFFSET 0 makes PostgreSQL look
# devices up one by one, by the person.
FIND = f"""
SELECT r.seq, newer.id
FROM campaigns_recipient r
JOIN notifications_device d ON d.id = r.device_id
CROSS JOIN LATERAL (
    SELECT n.id FROM notifications_device n
    WHERE n.project_id = d.project_id AND n.contact_id = r.contact_id AND n.retired_at IS NULL
        AND {same_installation("n", "d")} OFFSET 0
) newer
WHERE r.run_id = %(run)s AND r.seq = ANY(%(seqs)s::int[]) AND NOT EXISTS (
    SELECT FROM campaigns_recipient other JOIN notifications_device o ON o.id = other.device_id
    WHERE other.run_id = %(run)s AND other.contact_id = r.contact_id AND other.seq <> r.seq
        AND other.message IS NOT DISTINCT FROM r.message AND {same_installation("o", "d")}
)
"""


def find(run_id: int, seqs: Collection[int]) -> dict[int, int]:
    """The newer device of each of these recipients who has one, by the recipient's number."""
    with connection.cursor() as cursor:
        cursor.execute(FIND, {"run": run_id, "seqs": list(seqs)})
        return dict(cursor.fetchall())


ITS_DEVICE = "d.id = r.device_id"
NEWER_DEVICE = "d.id = COALESCE((%(newer)s::jsonb ->> r.seq::text)::bigint, r.device_id)"


def joined(statement: str, newer: Mapping[int, int]) -> str:
    """The statement about recipients `r` and devices `d`, changed to join newer devices.

    Hardly any chunk has some, and the others pay nothing.
    """
    return statement.replace(ITS_DEVICE, NEWER_DEVICE) if newer else statement


def named(newer: Mapping[int, int]) -> dict[str, Any]:
    """The parameter of a statement that `joined` changed."""
    return {"newer": json.dumps(newer)} if newer else {}
