"""Claiming: takes a chunk for one worker under a fence, which guards all that the worker writes.

`attempt` is the fence: it grows with every claim, and a worker with an older one writes nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import OperationalError, connection, models, transaction
from django.db.models import Exists, F, Func, OuterRef, Q, Sum
from django.db.models.functions import Now

from campaigns.runs import newer_devices
from campaigns.runs.caps import counted_pushes, reserved_places
from campaigns.runs.chunk import LEASE, Chunk, unlocked
from campaigns.runs.reasons import Reason
from campaigns.runs.run import LEAVING, Run
from campaigns.runs.tick import LONG_SILENCE, Tick
from campaigns.runs.variants.group import CONTROL, HOLDOUT
from notifications.people.consent import eligibility
from notifications.people.consent.caps import Caps
from notifications.postgres import clock

LOCKED_SECONDS = 0.5
OURS_LOCKED_SECONDS = 2.0  # as long as lock_timeout lets a statement wait
LOOK_ABOVE_EVERY = 1.0  # seconds


class Fenced(Exception):
    """Another worker holds the chunk now: write nothing, start nothing, stop."""


class TextChanged(Exception):
    """The run's text changed after it was rendered. Nothing was written: render it again."""

    def __init__(self, revision: int) -> None:
        super().__init__(revision)
        self.revision = revision


class Locked(OperationalError):
    """Another transaction locks our chunk's row for too long; an error like a lock_timeout."""


# People who get nothing on purpose. This comes first: groups are compared as they were drawn.
ON_PURPOSE = f"""CASE r.variant WHEN {CONTROL} THEN '{Reason.CONTROL.value}'
    WHEN {HOLDOUT} THEN '{Reason.HOLDOUT.value}' END"""
# Why nothing may be sent to a recipient just now; empty: it may. Being unsubscribed or suppressed
# comes first: what became of that person's device is then private.
KEPT_FROM = f"""COALESCE(NULLIF({eligibility.skip_reason_sql()}, ''), CASE
    -- An address that moved to another person since must not carry this person's text.
    WHEN d.id IS NULL OR d.retired_at IS NOT NULL OR d.contact_id <> r.contact_id OR c.id IS NULL
    THEN '{Reason.DEVICE_GONE.value}' ELSE '' END)"""
# Why a recipient is skipped; empty: they are not.
OUT = f"COALESCE({ON_PURPOSE}, {KEPT_FROM})"
# The same where the project has caps.
OUT_OR_ENOUGH = f"""COALESCE(NULLIF({OUT}, ''), CASE WHEN {counted_pushes.ENOUGH}
    THEN {counted_pushes.SAID} ELSE '' END)"""

# One statement, written by hand: it runs before every window, and three ORM queries cost a tenth
# of all the CPU. psycopg parses a statement of more than 4,096 characters again each time. The
# recipients' numbers are passed only once.
#
# free    What is read below is as old as the statement, so it must not wait for the chunk's lock.
#         It may have waited for its turn, so it writes clock_timestamp().
# checked People who left or unsubscribed since they were read are out.
# opened  A text that was changed since it was rendered does not leave. Our own clock may be
#         ahead, and jump back before the window is settled.
PROLONGING = f"""
WITH free AS (
    SELECT id FROM campaigns_chunk
    WHERE id = %(chunk)s AND attempt = %(fence)s AND state = 'leased'
    FOR NO KEY UPDATE SKIP LOCKED
), held AS (
    UPDATE campaigns_chunk c SET lease_until = clock_timestamp() + %(lease)s
    FROM free WHERE c.id = free.id AND c.attempt = %(fence)s AND c.state = 'leased'
    RETURNING c.id, c.run_id, c.attempt
), wanted AS (
    SELECT rate_per_second, spread_seconds, planned, revision, safe_rate,
        CASE WHEN opens_per_second IS NOT NULL THEN opens_rate END AS opens_rate
    FROM campaigns_run r
    LEFT JOIN notifications_load l ON l.project_id = r.project_id AND r.kind = 'campaign'
    WHERE id = %(run)s AND epoch = %(epoch)s AND state IN ('sending', 'open', 'rehearsing')
), named AS (
    SELECT seq, contact_id, device_id, message, variant FROM campaigns_recipient
    WHERE run_id = %(run)s AND seq = ANY(%(seqs)s::int[])
), checked AS (
    SELECT r.seq, r.contact_id, r.message, {{out}} AS out FROM named r
    LEFT JOIN notifications_device d ON d.id = r.device_id
    LEFT JOIN notifications_contact c ON c.id = r.contact_id
    {eligibility.JOIN}
    {{joins}}
), opened AS (
    INSERT INTO campaigns_window (run_id, chunk_id, attempt, revision, seqs, opened_at)
    SELECT run_id, id, attempt, wanted.revision, ARRAY(SELECT seq FROM checked WHERE out = ''),
        least(%(now)s, clock_timestamp())
    FROM held, wanted
    WHERE EXISTS (SELECT FROM checked) AND wanted.revision = %(revision)s
    RETURNING id, seqs
){{counts}}
SELECT (SELECT count(*) FROM held), (SELECT revision FROM wanted),
    (SELECT ARRAY[rate_per_second, spread_seconds, planned] FROM wanted),
    (SELECT ARRAY[safe_rate, opens_rate] FROM wanted),
    (SELECT id FROM opened), (SELECT seqs FROM opened),
    (SELECT jsonb_object_agg(seq, out) FROM checked WHERE out <> '')
"""

PROLONG = PROLONGING.format(out=OUT, joins="", counts="")

CLOSE = """
UPDATE campaigns_chunk SET state = 'closed', lease_until = NULL, not_before = NULL
WHERE id = %(chunk)s AND attempt = %(fence)s AND state = 'leased'
    AND last_seq = first_seq - 1 + accepted + rejected + skipped + unknown
"""


@lru_cache(maxsize=100)
def prolong_and_count(caps: Caps, kept: bool) -> str:
    counts = f", counted AS ({counted_pushes.COUNT})"
    if not caps.holds:
        return PROLONGING.format(out=OUT, joins="", counts=counts)
    look = counted_pushes.second_look(caps, "SELECT contact_id FROM named", kept=kept)
    return counted_pushes.TURN + PROLONGING.format(out=OUT_OR_ENOUGH, joins=look, counts=counts)


@dataclass(frozen=True)
class Opened:
    """A window that was committed: its id, its recipients, and those left out of it."""

    pk: int
    seqs: frozenset[int]
    # The recipients left out of it, with the reason and the detail.
    out: dict[int, tuple[Reason, str]] = field(default_factory=dict)


@dataclass
class Claim:
    """A chunk that one worker holds under a fence. All that the worker writes goes through
    `held`."""

    run: Run
    chunk: Chunk
    asks: dict[str, Any]  # parameters of the category, with which standing.py finds who is out
    caps: Caps | None = None  # None: it keeps to no caps and counts nobody
    foresees: Caps | None = None  # of a rehearsal: it skips people by them, and counts nobody
    now: Callable[[], datetime] = field(default_factory=clock.ticking)
    safe_rate: float | None = None  # see `Run.safe_rate`
    above: list[int] = field(default_factory=list)  # the runs for which places are kept
    looked_above: float = field(default_factory=time.monotonic)
    unseen_since: datetime = (
        counted_pushes.LONG_AGO
    )  # the second look at the caps reads what is newer
    # Recipients whose phone has another address by now: their number, and the newer device.
    newer: dict[int, int] = field(default_factory=dict)

    @property
    def held(self) -> models.QuerySet[Chunk]:
        return Chunk.objects.filter(
            pk=self.chunk.pk, attempt=self.chunk.attempt, state=Chunk.State.LEASED
        )

    def renew(self) -> bool:
        """Prolong the lease. Returns whether the run still wants work started. Raises Fenced."""
        newest, _ = self._prolong(seqs=[], now=None)
        return newest is not None

    def open_window(self, seqs: list[int], now: datetime) -> Opened | None:
        """Commit which recipients requests are about to leave for, and the revision of the text.

        Returns None if the run wants no more work. Without recipients it writes no window, and
        only asks. Raises Fenced, and TextChanged if the revision is not the newest. If the process
        dies here: these recipients are ambiguous, whether or not a request left.
        """
        newest, window = self._prolong(seqs, now)
        if newest is None:
            return None
        if newest != self.run.revision:
            raise TextChanged(newest)
        return window or Opened(0, frozenset())

    def _prolong(self, seqs: list[int], now: datetime | None) -> tuple[int | None, Opened | None]:
        """Prolong the lease, open the window, and read the run's rate again.

        Returns the newest revision of the text, or None if the run wants no work; and the window.
        A person may have changed text and rate meanwhile.
        """
        values: dict[str, Any] = {
            "lease": LEASE,
            "chunk": self.chunk.pk,
            "fence": self.chunk.attempt,
        }
        values |= {"run": self.run.pk, "epoch": self.run.epoch, "seqs": seqs, "now": now}
        values |= {"revision": self.run.revision, **self.asks, **newer_devices.named(self.newer)}
        newest, pace, rates, window, seqs, out = self._prolong_row(values)
        if newest is not None:
            self.run.rate_per_second, self.run.spread_seconds, self.run.planned = pace
            self.safe_rate, self.run.opens_rate = rates
        return newest, window and Opened(window, frozenset(seqs), _parse_reasons(out))

    def _prolong_row(self, values: dict[str, Any]) -> tuple[Any, ...]:
        """Run the statement until no other transaction locks the chunk's row; return its values."""
        give_up_at = time.monotonic() + OURS_LOCKED_SECONDS
        while True:
            held, *row = (
                self._count_and_prolong(self.caps, values)
                if self.caps and values["seqs"]
                else self._execute(PROLONG, values)
            )
            if held:
                return tuple(row)
            if not self.held.exists():
                raise Fenced
            if time.monotonic() > give_up_at:
                raise Locked(f"Another process keeps {self.chunk} locked.")
            time.sleep(0.05)

    def _count_and_prolong(self, caps: Caps, values: dict[str, Any]) -> Any:
        """Leave people who reached a frequency cap out of the window, and count the others."""
        if time.monotonic() - self.looked_above > LOOK_ABOVE_EVERY:
            self._look_above()
        values |= {"category": caps.category, "unseen_since": self.unseen_since}
        values |= {"above": self.above, "project": self.run.project_id}
        return self._execute(prolong_and_count(caps, bool(self.above)), values)

    def _look_above(self) -> None:
        """Read again for which runs places are kept: a run of higher precedence may have begun."""
        self.looked_above = time.monotonic()
        self.above = reserved_places.kept_above(self.run)

    def _execute(self, statement: str, values: dict[str, Any]) -> Any:
        with connection.cursor() as cursor:
            cursor.execute(newer_devices.joined(statement, self.newer), values)
            while cursor.nextset():  # skip the result of `counted.TURN`
                pass
            return cursor.fetchone()

    def close(self) -> bool:
        """Close the chunk if every recipient is settled."""
        with connection.cursor() as cursor:
            cursor.execute(CLOSE, {"chunk": self.chunk.pk, "fence": self.chunk.attempt})
            return bool(cursor.rowcount)


def _parse_reasons(out: str | None) -> dict[int, tuple[Reason, str]]:
    return {
        int(seq): counted_pushes.parse_reason(text) for seq, text in json.loads(out or "{}").items()
    }


def claim(run_id: int, number: int, epoch: int, *, task_id: str | None) -> Claim | None:
    """Take a queued chunk. Returns None if it is taken, done, paused or of an older epoch.

    Chunks of messages are claimed as they are taken: see `messages/taking.py`.

    If the process dies here: the lease lapses and the sweep hands the chunk on.
    """
    queued = Chunk.objects.filter(
        Exists(_sendable_run(run_id, epoch)), run=run_id, number=number, state=Chunk.State.QUEUED
    ).exclude(_queued_before_absence())
    with transaction.atomic():
        leased = {"state": Chunk.State.LEASED, "lease_until": Now() + LEASE, "task_id": task_id}
        if not _take(queued) or not queued.update(**leased, attempt=F("attempt") + 1):
            return None
        chunk = Chunk.objects.select_related("run__project__load", "run__category").get(
            run=run_id, number=number
        )
        count_interrupted(chunk)
    run = chunk.run
    above = reserved_places.kept_above(run)
    foresees = run.caps_to_foresee if run.is_rehearsal else None
    return Claim(
        run, chunk, run.asks, run.caps, foresees=foresees, safe_rate=run.safe_rate, above=above
    )


def _take(queued: models.QuerySet[Chunk]) -> bool:
    """Lock the chunk, unless another process keeps its row locked.

    A worker's time is too precious to wait long for that; the chunk is queued again later.
    """
    give_up_at = time.monotonic() + LOCKED_SECONDS
    while not unlocked(queued):
        if not queued.exists() or time.monotonic() > give_up_at:
            return False
        time.sleep(0.05)
    return True


def count_interrupted(chunk: Chunk) -> None:
    """Count the requests that the previous worker had in flight when it died: they may have
    arrived as well."""
    if chunk.attempt == 1:
        return
    interrupted = chunk.windows.filter(attempt=chunk.attempt - 1, settled_at=None)
    people = Func("seqs", function="cardinality", output_field=models.IntegerField())
    if lost := interrupted.aggregate(people=Sum(people))["people"]:
        Chunk.objects.filter(pk=chunk.pk).update(copies=F("copies") + lost)


def _sendable_run(run_id: int, epoch: int) -> models.QuerySet[Run]:
    return Run.driven.filter(pk=run_id, epoch=epoch, state__in=LEAVING)


def _queued_before_absence() -> Q:
    """Whether the chunk was queued before a long absence: its run waits for a person's decision."""
    long_ago = Now() - LONG_SILENCE
    still_away = Q(Exists(Tick.objects.filter(at__lt=long_ago)), queued_at__lt=long_ago)
    back = Tick.objects.filter(back_at__gt=OuterRef("queued_at") + LONG_SILENCE)
    return still_away | Q(Exists(back))
