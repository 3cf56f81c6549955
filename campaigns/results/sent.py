"""What was sent to one person? Found among millions of recipients, in many runs at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from campaigns.runs.ledger import PERSON_INDEX
from campaigns.runs.run import Run
from notifications.people.contact import Contact

MOST_DEVICES = 1_000  # of one person; a test phone may collect many


@dataclass(frozen=True)
class Sent:
    """One recipient row of a person, with its outcome if there is one yet."""

    run_id: int
    seq: int
    device_id: int
    status: str  # empty while it waits
    reason: str
    detail: str
    resent: bool
    at: datetime | None


# Found by the index that freezing makes at its end; until then all of the run is looked through.
# For the release before: what it froze has none, but is numbered in the order of its people's ids,
# and twenty-two looks into its primary key find anybody among 5,000,000.
FIND = """
WITH RECURSIVE run (id, planned, by_device) AS (
    SELECT id, planned, unfrozen IS NOT NULL OR to_regclass(%(index)s || id) IS NOT NULL
    FROM campaigns_run
    WHERE id = ANY(%(runs)s) AND planned IS NOT NULL
), search (run_id, low, high) AS (
    SELECT id, 1, planned + 1 FROM run WHERE NOT by_device
    UNION ALL
    SELECT s.run_id,
        CASE WHEN r.contact_id < %(contact)s THEN s.middle + 1 ELSE s.low END,
        CASE WHEN r.contact_id < %(contact)s THEN s.high ELSE s.middle END
    FROM (
        SELECT run_id, low, high, (low + high) / 2 AS middle FROM search WHERE low < high
    ) s
    CROSS JOIN LATERAL (
        SELECT contact_id FROM campaigns_recipient
        WHERE run_id = s.run_id AND seq = s.middle OFFSET 0
    ) r
), found (run_id, seq, device_id) AS (
    SELECT run.id, r.seq, r.device_id
    FROM run CROSS JOIN LATERAL (
        SELECT seq, device_id FROM campaigns_recipient
        WHERE run_id = run.id AND run_id = ANY(%(runs)s) AND contact_id = %(contact)s
        LIMIT %(most)s
    ) r
    WHERE run.by_device
    UNION ALL
    SELECT s.run_id, r.seq, r.device_id
    FROM search s CROSS JOIN LATERAL (
        SELECT seq, device_id FROM campaigns_recipient
        WHERE run_id = s.run_id AND seq >= s.low AND seq < s.low + %(most)s
            AND contact_id = %(contact)s OFFSET 0
    ) r
    WHERE s.low = s.high
)
SELECT f.run_id, f.seq, f.device_id, COALESCE(d.status, ''), COALESCE(d.reason, ''),
    COALESCE(d.detail, ''), COALESCE(d.resent, FALSE), d.at
FROM found f
LEFT JOIN LATERAL (
    SELECT status, reason, detail, resent, at FROM campaigns_delivery
    WHERE run_id = f.run_id AND seq = f.seq OFFSET 0
) d ON TRUE
ORDER BY f.run_id DESC, f.seq
"""


def sent_to(contact_id: int, runs: Iterable[int]) -> list[Sent]:
    """The person's rows in these runs; none in those that they were not chosen for."""
    values: dict[str, Any] = {"runs": list(runs), "contact": contact_id, "most": MOST_DEVICES}
    values["index"] = PERSON_INDEX
    with connection.cursor() as cursor:
        cursor.execute(FIND, values)
        return [Sent(*row) for row in cursor.fetchall()]


def seqs_in(run: Run, external_id: str) -> list[int]:
    """The numbers under which this person is in the run."""
    person = Contact.objects.filter(project=run.project_id, external_id=external_id).first()
    return [sent.seq for sent in sent_to(person.pk, [run.pk])] if person else []
