"""Left: a chunk's recipients without an outcome, read once per claim with person and device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.db import connection, transaction
from psycopg.rows import namedtuple_row

from campaigns.runs import newer_devices
from campaigns.runs.caps import counted_pushes
from campaigns.runs.chunk import WINDOW, Chunk
from campaigns.runs.claiming import OUT, OUT_OR_ENOUGH, Claim
from campaigns.runs.ledger import copies
from campaigns.runs.reasons import Reason
from campaigns.runs.run import Run
from campaigns.sending import message_settings
from campaigns.sending.message_settings import MessageSettings
from campaigns.sending.rehearsed_places import kept_for_others
from campaigns.texts.rendering import Reader
from notifications.people.consent import eligibility
from notifications.people.consent.caps import Caps
from notifications.values import exact


@dataclass(slots=True)
class UnsettledRecipient:
    """A recipient without an outcome, and what is known of earlier tries."""

    seq: int
    contact_id: int
    device_id: int
    reader: Reader
    settings: MessageSettings
    tries: int
    first_tried_at: datetime | None
    # Requests that may have arrived. After a person's “send again” it starts at MAX_COPIES - 1, so
    # that one request is left.
    copies: int
    out: str  # the reason why nothing may be sent to them just now; empty: it may
    released: bool = False  # a person chose “send again”, though the outcome is ambiguous
    in_windows: int = 0  # those of `copies` in dead workers' windows: each claim counts them anew
    message: int | None = None  # the number of its message, in a run of messages
    group: int | None = None  # the group that decides its text, in a run with variants
    why: str = ""  # the detail of `out`
    best_hour: int | None = None  # the hour of the person's day, in a run that uses best hours

    @property
    def ambiguous(self) -> bool:
        return self.copies > 0

    @property
    def could_leave_at(self) -> datetime | None:
        """When a message could leave first: when it was due, or the quiet hours ended."""
        due, woke = self.settings.due, None if self.tries else self.first_tried_at
        return max(due, woke) if due and woke else due

    @property
    def its_hour(self) -> datetime | None:
        """When a run in local time is due for this person; None: it is not in local time, or it
        never is due."""
        local = self.settings.local_time
        return local.due_for(self.reader.timezone, self.best_hour) if local else None

    @property
    def deadline(self) -> datetime:
        """The time after which nothing is sent to them."""
        since = self.its_hour
        expires_after = timedelta(seconds=self.settings.ttl_seconds)
        return since + expires_after if since else self.settings.deadline

    def seconds_left(self, now: datetime) -> int:
        """The rest of the time to live in seconds; every attempt computes it again."""
        age = now - (self.its_hour or self.settings.since or now)
        return max(0, self.settings.ttl_seconds - int(age.total_seconds()))

    def waits_until(self, now: datetime) -> tuple[datetime, Reason] | None:
        """When their phone may ring, and the reason of the wait; None: it may ring now."""
        its_hour = max(self.its_hour or now, now)
        if wakes_at := self._asleep_until(its_hour):
            return wakes_at, Reason.QUIET_HOURS
        return (its_hour, Reason.LOCAL_TIME) if its_hour > now else None

    def missed(self, went_on_late_at: datetime | None) -> bool:
        """Whether a pause lasted until it was too late for them.

        Only a pause longer than the lateness counts, so its start does not matter. A slow rate is
        no reason to skip anybody. A person who is sent to again is late on purpose.
        """
        local, its_hour = self.settings.local_time, self.its_hour
        if not (local and its_hour and went_on_late_at) or self.released:
            return False
        since = self._asleep_until(its_hour) or its_hour
        if self.tries and self.first_tried_at:
            since = max(since, self.first_tried_at)
        return since + local.lateness < went_on_late_at

    def _asleep_until(self, now: datetime) -> datetime | None:
        quiet = self.settings.quiet_hours
        return quiet.asleep_until(self.reader.timezone, now) if quiet else None


# Recipients without an outcome. Combined with HELD, it leaves out platforms that are held back; a
# recipient whose device is gone is settled all the same.
UNSETTLED = """
FROM campaigns_recipient r
LEFT JOIN campaigns_retry t ON t.run_id = r.run_id AND t.seq = r.seq
LEFT JOIN notifications_device d ON d.id = r.device_id
{joins}
WHERE r.run_id = %(run)s AND r.seq BETWEEN %(first)s AND %(last)s
    AND NOT EXISTS (SELECT 1 FROM campaigns_delivery x WHERE x.run_id = r.run_id AND x.seq = r.seq)
"""
HELD = "COALESCE(d.platform = ANY(%(held)s), FALSE)"

# Recipients who wait by the clock of a time zone that they have left.
TRAVELLED = (
    "(%(by_clock)s AND t.reason IN ('local_time', 'quiet_hours')"
    " AND c.timezone IS DISTINCT FROM r.timezone)"
)

SENDABLE = f"""
SELECT r.seq, r.contact_id, r.device_id, d.kind, d.address, d.platform, c.external_id,
    c.attributes, c.locale, c.timezone, COALESCE(t.tries, 0) AS tries, t.first_tried_at,
    COALESCE(i.windows, 0) + {copies("t")} AS copies,
    r.message, r.variant, r.best_hour, t.released IS NOT NULL AS released,
    COALESCE(i.windows, 0) AS in_windows,
    {{out}} AS out
{
    UNSETTLED.format(
        joins='''
LEFT JOIN (
    SELECT w.seq, count(*) AS windows
    FROM (
        SELECT unnest(seqs) AS seq, attempt FROM campaigns_window
        WHERE chunk_id = %(chunk)s AND attempt < %(fence)s AND settled_at IS NULL
    ) w LEFT JOIN campaigns_retry t ON t.run_id = %(run)s AND t.seq = w.seq
    WHERE w.attempt > COALESCE(t.released, 0)
    GROUP BY w.seq
) i ON i.seq = r.seq
LEFT JOIN notifications_contact c ON c.id = r.contact_id
'''
        + eligibility.JOIN
        + '''
{joins}'''
    )
}
    AND (t.not_before IS NULL OR t.not_before <= now() OR {TRAVELLED}) AND NOT {HELD}
ORDER BY r.seq
"""
TO_SEND = SENDABLE.format(out=OUT, joins="")
OF_CHUNK = (
    "SELECT contact_id FROM campaigns_recipient"
    " WHERE run_id = %(run)s AND seq BETWEEN %(first)s AND %(last)s"
)


@lru_cache(maxsize=100)
def to_send(caps: Caps | None, kept: bool, foreseen: bool) -> str:
    if caps is None or not caps.holds:
        return TO_SEND
    look = counted_pushes.first_look(caps, OF_CHUNK, kept=kept, foreseen=foreseen)
    return SENDABLE.format(out=OUT_OR_ENOUGH, joins=look)


def left_to_send(claim: Claim) -> list[UnsettledRecipient]:
    """The recipients of the chunk who may be tried now."""
    claim.unseen_since = claim.now() - counted_pushes.UNSEEN_FOR
    foreseen, values = kept_for_others(claim), place_of(claim)
    if foreseen:
        runs, people = map(list, zip(*foreseen, strict=True))
        values |= {"foreseen_runs": runs, "foreseen_people": people}
        values["above"] = [*{*claim.above, *runs}]
    query = to_send(claim.caps or claim.foresees, bool(claim.above), bool(foreseen))
    rows = _read_rows(claim, query, values)
    gone_seqs = [row.seq for row in rows if row.out == Reason.DEVICE_GONE]
    if gone_seqs and (newer := newer_devices.find(claim.run.pk, gone_seqs)):
        claim.newer |= newer
        rows = _read_rows(claim, query, values)
    its_settings = message_settings.of_chunk(claim)
    by_what = "message" if claim.run.kind == Run.Kind.MESSAGES else "variant"
    recipients = [
        _recipient_of_row(claim, row, its_settings[getattr(row, by_what)]) for row in rows
    ]
    for recipient in recipients:
        recipient.out = recipient.out or _skip_reason_by_local_time(recipient, claim.run)
    return recipients


def _read_rows(claim: Claim, query: str, values: dict[str, Any]) -> list[Any]:
    with _without_parallel_workers(claim.chunk), connection.cursor() as cursor:
        cursor.cursor.row_factory = namedtuple_row
        named_devices = newer_devices.named(claim.newer)
        cursor.execute(newer_devices.joined(query, claim.newer), values | named_devices)
        rows: list[Any] = cursor.fetchall()
    return rows


def _skip_reason_by_local_time(left: UnsettledRecipient, run: Run) -> str:
    """Why they get nothing of a run in local time; empty: they get it."""
    local = left.settings.local_time
    if local is None:
        return ""
    if not local.knows(left.reader.timezone):
        return Reason.NO_ZONE
    never = left.its_hour is None or left.missed(run.went_on_late_at)
    return Reason.LOCAL_TIME if never else ""


@contextmanager
def _without_parallel_workers(chunk: Chunk) -> Iterator[None]:
    """Read without parallel workers: for a thousand rows, starting one costs more than it saves,
    15 ms against 8. For a few rows, PostgreSQL uses none anyway."""
    if chunk.size <= WINDOW:
        yield
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL max_parallel_workers_per_gather = 0")
        yield


def place_of(claim: Claim) -> dict[str, Any]:
    """The parameters of the statements about the chunk's recipients."""
    chunk = claim.chunk
    return {
        "run": chunk.run_id,
        "chunk": chunk.pk,
        "fence": chunk.attempt,
        "first": chunk.first_seq,
        "last": chunk.last_seq,
        "held": claim.run.held_platforms,
        "above": claim.above,
        "by_clock": claim.run.hour is not None,
        **claim.asks,
    }


def _attributes(row: Any) -> dict[str, Any]:
    return exact.loads(row.attributes) if row.attributes else {}


def _recipient_of_row(claim: Claim, row: Any, its_settings: MessageSettings) -> UnsettledRecipient:
    reader = Reader(
        reference=f"{claim.run.pk}:{row.seq}",
        external_id=row.external_id,
        attributes={**_attributes(row), **its_settings.variables},
        locale=row.locale or "",
        timezone=row.timezone,
        kind=row.kind,
        address=row.address,
        platform=row.platform,
    )
    out, detail = counted_pushes.parse_reason(row.out) if row.out else ("", "")
    return UnsettledRecipient(
        seq=row.seq,
        contact_id=row.contact_id,
        device_id=claim.newer.get(row.seq, row.device_id),
        reader=reader,
        settings=its_settings,
        tries=row.tries,
        first_tried_at=row.first_tried_at,
        copies=row.copies,
        out=out,
        why=detail,
        released=row.released,
        in_windows=row.in_windows,
        message=row.message,
        group=row.variant,
        best_hour=row.best_hour,
    )
