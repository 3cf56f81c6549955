"""The messages sent to one person, found among millions of recipients in many runs at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from campaigns.runs.run import Run
from notifications.people.contact import Contact

SEQ_BITS = 31
RUNS_AT_ONCE = 100  # runs in one statement: its plan includes the partitions of each
RUNS_A_PAGE = 1_000
MOST_DEVICES = 1_000  # rows of one person; a test phone may collect many


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
    message_id: str
    revision: int | None  # of the run's text; empty while it waits

    @property
    def place(self) -> int:
        """The row's place among all deliveries: higher in newer runs, lower for later numbers."""
        return (self.run_id << SEQ_BITS) + (1 << SEQ_BITS) - 1 - self.seq


# Uses the index that freezing creates at its end; until then the whole run is searched.
FIND = """
WITH run (id) AS (
    SELECT id FROM campaigns_run WHERE id = ANY(%(runs)s) AND planned IS NOT NULL
), found (run_id, seq, device_id) AS (
    SELECT run.id, r.seq, r.device_id
    FROM run CROSS JOIN LATERAL (
        SELECT seq, device_id FROM campaigns_recipient
        WHERE run_id = run.id AND run_id = ANY(%(runs)s) AND contact_id = %(contact)s
        LIMIT %(most)s
    ) r
)
SELECT f.run_id, f.seq, COALESCE(d.device_id, f.device_id), COALESCE(d.status, ''),
    COALESCE(d.reason, ''), COALESCE(d.detail, ''), COALESCE(d.resent, FALSE), d.at,
    COALESCE(d.message_id, ''), d.revision
FROM found f
LEFT JOIN LATERAL (
    SELECT device_id, status, reason, detail, resent, at, message_id, revision
    FROM campaigns_delivery WHERE run_id = f.run_id AND seq = f.seq OFFSET 0
) d ON TRUE
ORDER BY f.run_id DESC, f.seq
"""


def sent_to(contact_id: int, runs: Iterable[int]) -> list[Sent]:
    """The person's rows in these runs; runs without the person have none."""
    values: dict[str, Any] = {"runs": list(runs), "contact": contact_id, "most": MOST_DEVICES}
    with connection.cursor() as cursor:
        cursor.execute(FIND, values)
        return [Sent(*row) for row in cursor.fetchall()]


@dataclass(frozen=True)
class Page:
    """Some of a person's deliveries, newest first; `last` is where the next page begins."""

    rows: list[Sent]
    last: int | None


def page_of(contact: Contact, *, after: int | None, limit: int) -> Page:
    """A page of final outcomes. It ends early after RUNS_A_PAGE runs were searched."""
    matching: list[Sent] = []
    looked_at = 0
    for runs in _newest_runs(contact.project_id, after):
        rows = [row for row in sent_to(contact.pk, runs) if row.status]
        matching += [row for row in rows if after is None or row.place < after]
        looked_at += len(runs)
        if len(matching) > limit:
            return Page(matching[:limit], matching[limit - 1].place)
        if looked_at >= RUNS_A_PAGE:
            return Page(matching, runs[-1] << SEQ_BITS)
    return Page(matching, None)


def every_run(contact: Contact) -> Iterator[list[int]]:
    """The ids of all runs that may have rows of the person, message runs too; the newest first."""
    return _newest_runs(contact.project_id, None, Run.every)


def _newest_runs(
    project_id: int, after: int | None, among: Any = Run.objects
) -> Iterator[list[int]]:
    runs = among.filter(project=project_id, planned__isnull=False, forgotten_at=None)
    last = None if after is None else (after - 1 >> SEQ_BITS) + 1  # the run of its last row
    while True:
        older = runs if last is None else runs.filter(pk__lt=last)
        some = list(older.order_by("-pk").values_list("pk", flat=True)[:RUNS_AT_ONCE])
        if not some:
            return
        yield some
        last = some[-1]


def deliveries_of(contact: Contact) -> Iterator[dict[str, Any]]:
    """All deliveries of a person, in all runs."""
    platforms = dict(contact.devices.values_list("pk", "platform"))
    return (
        {**sent_json(row), "platform": platforms.get(row.device_id, "")}
        for runs in every_run(contact)
        for row in sent_to(contact.pk, runs)
        if row.status
    )


def sent_json(row: Sent) -> dict[str, Any]:
    """A row as the API shows it."""
    return {
        "run": row.run_id,
        "seq": row.seq,
        "status": row.status,
        "reason": row.reason,
        "detail": row.detail,
        "message_id": row.message_id,
        "resent": row.resent,
        "at": row.at,
        "revision": row.revision,
    }


def seqs_in(run: Run, external_id: str) -> list[int]:
    """The person's recipient numbers in the run."""
    person = Contact.objects.filter(project=run.project_id, external_id=external_id).first()
    return [row.seq for row in sent_to(person.pk, [run.pk])] if person else []
