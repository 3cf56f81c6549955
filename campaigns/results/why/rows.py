"""A person's rows in a run: for each device, what was sent to it and what came back.

Every query uses an index: a run of five million costs no more than a small one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection

from campaigns.engagement.receipt import Receipt
from campaigns.results.sent import Sent, sent_to
from campaigns.results.why.answers import answers_to
from campaigns.runs.best_hour import Best
from campaigns.runs.ledger import Answer, Recipient, Retry
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.device import Device

MAX_WINDOWS = 20  # of one recipient; a day of messages that FCM refuses opens one each half minute


@dataclass(frozen=True)
class Opened:
    """A window with the person's request in it. `lost`: the worker that opened it died."""

    opened_at: datetime
    settled_at: datetime | None
    lost: bool
    revision: int  # of the run's text


@dataclass(frozen=True)
class Row:
    """One recipient of the run: a device of the person then, and all that came of its message."""

    sent: Sent
    platform: str
    message: int | None  # its number, in a run of messages
    device: Device | None  # None: removed since
    moved: bool  # the device is another person's now
    windows: list[Opened] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    receipts: list[Receipt] = field(default_factory=list)
    retry: Retry | None = None
    variant: int | None = None  # the person's group, if the run was split
    best: Best | None = None  # the person's best hour then, if the run used it


def rows_of(run: Run, contact: Contact) -> list[Row]:
    """The person's rows in the run, by number; empty if the person is not in it."""
    sent_rows = sent_to(contact.pk, [run.pk]) if run.planned is not None else []
    seqs = [row.seq for row in sent_rows]
    if not seqs:
        return []
    recipients = {row.seq: row for row in Recipient.objects.filter(run_id=run.pk, seq__in=seqs)}
    devices = Device.objects.in_bulk({row.device_id for row in sent_rows})
    windows, answers = _load_windows(run.pk, seqs), answers_to(run.pk, seqs)
    receipts = _group_by_seq(
        Receipt.objects.filter(run_id=run.pk, seq__in=seqs).order_by("at", "event")
    )
    retries = {row.seq: row for row in Retry.objects.filter(run=run, seq__in=seqs)}
    return [
        _build_row(
            row, recipients[row.seq], devices.get(row.device_id), contact, windows=windows[row.seq],
            answers=answers[row.seq], receipts=receipts[row.seq], retry=retries.get(row.seq),
        )
        for row in sent_rows
    ]  # fmt: skip


def _build_row(
    sent: Sent, recipient: Recipient, device: Device | None, contact: Contact, **related: Any
) -> Row:
    platform = recipient.platform or (device.platform if device else "")
    moved = device is not None and device.contact_id != contact.pk
    related["variant"] = recipient.variant
    related["best"] = Best.of_row(recipient)
    return Row(sent, platform, recipient.message, device, moved, **related)


def _group_by_seq(rows: Iterable[Receipt]) -> dict[int, list[Receipt]]:
    by_seq: dict[int, list[Receipt]] = defaultdict(list)
    for row in rows:
        by_seq[row.seq].append(row)
    return by_seq


# Windows are found by the recipients' chunks, which are indexed: a window names up to 200 of them.
WINDOWS = """
SELECT mine.seq, w.opened_at, w.settled_at, w.settled_at IS NULL AND w.attempt < k.attempt,
    w.revision
FROM unnest(%(seqs)s::int[]) AS mine (seq)
JOIN campaigns_chunk k ON k.run_id = %(run)s AND mine.seq BETWEEN k.first_seq AND k.last_seq
CROSS JOIN LATERAL (
    SELECT opened_at, settled_at, attempt, revision FROM campaigns_window
    WHERE chunk_id = k.id AND mine.seq = ANY(seqs) ORDER BY opened_at LIMIT %(most)s
) w
ORDER BY mine.seq, w.opened_at
"""


def _load_windows(run_id: int, seqs: list[int]) -> dict[int, list[Opened]]:
    by_seq: dict[int, list[Opened]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(WINDOWS, {"run": run_id, "seqs": seqs, "most": MAX_WINDOWS})
        for seq, *window in cursor.fetchall():
            by_seq[seq].append(Opened(*window))
    return by_seq
