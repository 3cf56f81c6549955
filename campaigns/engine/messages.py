"""Messages to single people: taking, cancelling and cleaning up in the run of a day.

Such a run is never advanced like a campaign's. Workers take due messages themselves, and the sweep
picks up what dead workers left behind.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import datetime
from functools import partial

from django.db import connection, transaction
from django.db.models import ExpressionWrapper, F, Max, Min, Q, QuerySet, fields
from django.db.models.functions import Now

from campaigns.engine import cancelling
from campaigns.runs import sums
from campaigns.runs.chunk import NEXT_SWEEP, Chunk
from campaigns.runs.claiming import Claim
from campaigns.runs.lapsing import free_lapsed
from campaigns.runs.messages import bulk_messages, day, due_days
from campaigns.runs.messages.message import Message, forget_keys
from campaigns.runs.messages.taking import take
from campaigns.runs.run import Run
from campaigns.sending.inbox import message_items
from notifications.postgres import clock
from notifications.postgres.outage import retry_during_outage, skip_if_locked
from notifications.postgres.row_lock import set_lock_timeout

MAX_TIMERS = 20
LOOK_EVERY = 0.5  # seconds between two reads of the projects: their settings may change


class Due:
    """Iterates over chunks of messages to send now, one project after another, until none is left
    or the time is over."""

    def __init__(self, *, seconds: float) -> None:
        self.ends_at = time.monotonic() + seconds
        # Seconds until more of the due messages may be taken; None: there are no more.
        self.ripens_in: float | None = None
        self._open_runs: dict[int, Run] = {}
        self._looked_at = time.monotonic()

    def __iter__(self) -> Iterator[Claim]:
        found_any = True
        while found_any:
            waits = retry_during_outage(due_days.waits)
            self.ripens_in = min(waits.values(), default=None)
            found_any = False
            for run in self._runs_of_days([run_id for run_id, wait in waits.items() if not wait]):
                if claim := _take_chunk(run):
                    found_any = True
                    yield claim
            if time.monotonic() > self.ends_at:
                return

    def _runs_of_days(self, ripe: list[int]) -> list[Run]:
        """The runs of the day with these ids, at most LOOK_EVERY old."""
        is_old = time.monotonic() > self._looked_at + LOOK_EVERY
        if is_old or not self._open_runs.keys() >= set(ripe):
            self._looked_at = time.monotonic()
            self._open_runs = {run.pk: run for run in _open_runs()}
        return [self._open_runs[run_id] for run_id in ripe if run_id in self._open_runs]


def next_of_many() -> Claim | None:
    """Claim a chunk of messages to many people, from a random project; None: there is none."""
    days = _open_runs()
    random.shuffle(days)
    return next((claim for run in days if (claim := _take_chunk(run, bulk=True))), None)


def _open_runs() -> list[Run]:
    return retry_during_outage(lambda: list(day.open_runs().select_related("project")))


def _take_chunk(run: Run, *, bulk: bool = False) -> Claim | None:
    return retry_during_outage(lambda: take(run, message_items.keep, bulk=bulk))


def many_wait() -> bool:
    """Whether messages to many people are due or must be tried again."""
    due_messages = Message.objects.filter(state=Message.State.WAITING, bulk=True, at__lte=Now())
    return due_messages.exists() or _open_chunks(bulk=True).exists()


def unfold(*, seconds: float) -> bool:
    """Write message rows for members of long lists, for this long. Returns whether more remain."""
    ends_at = time.monotonic() + seconds
    for run_id, number in bulk_messages.unfolding():
        while bulk_messages.unfold(run_id, number):
            if time.monotonic() >= ends_at:
                return True
    return False


def due_soon() -> list[float]:
    """The seconds until messages come due before the next sweep; 0 for those already due."""
    waits = ExpressionWrapper(F("at") - Now(), output_field=fields.DurationField())
    waiting = Message.objects.filter(
        state=Message.State.WAITING, bulk=False, at__lt=Now() + NEXT_SWEEP
    )
    soon = waiting.order_by("at").values_list(waits, flat=True)[:MAX_TIMERS]
    return sorted({max(0.0, round(left.total_seconds(), 2)) for left in soon}) or (
        [0.0] if _open_chunks(bulk=False).exists() else []
    )


def _open_chunks(*, bulk: bool) -> QuerySet[Chunk]:
    """Open chunks due before the next sweep: not those that wait for quiet hours to end."""
    is_due = Q(not_before=None) | Q(not_before__lte=Now() + NEXT_SWEEP)
    waiting = (Chunk.State.WAITING, Chunk.State.QUEUED)
    return Chunk.objects.filter(is_due, run__in=day.open_runs(), bulk=bulk, state__in=waiting)


# --- Cancelling -----------------------------------------------------------------------------------

# Messages of which nothing was sent: all their devices are cancelled, or were surely not reached.
MARK = """
UPDATE campaigns_message m SET state = 'cancelled'
WHERE m.run_id = %(run)s AND m.number = ANY(%(numbers)s) AND NOT EXISTS (
    SELECT FROM campaigns_recipient r
    LEFT JOIN campaigns_delivery d ON d.run_id = r.run_id AND d.seq = r.seq
    WHERE r.run_id = %(run)s AND r.seq BETWEEN m.first_seq AND m.last_seq
        AND COALESCE(d.status, '') NOT IN ('skipped', 'rejected')
)
RETURNING m.number, m.contact_id
"""


def cancel(head: Message) -> bool:
    """Cancel what an API call has not sent yet. Returns whether there was anything to cancel.

    Unsent messages were not taken yet, or wait for quiet hours to end, or for another try. It works
    chunk by chunk: if the process dies here, the chunks before are cancelled, and a second call
    goes on.
    """
    stopped = bulk_messages.cancel(head)
    taken_messages = bulk_messages.of_call(head).filter(state=Message.State.TAKEN)
    within = taken_messages.aggregate(first=Min("first_seq"), last=Max("last_seq"))
    if within["last"] is None:
        return stopped
    run, number = Run.every.select_related("project").get(pk=head.run_id), 0
    open_ones = run.chunks.exclude(state=Chunk.State.CLOSED).filter(
        last_seq__gte=within["first"], first_seq__lte=within["last"]
    )
    while True:
        with transaction.atomic():
            set_lock_timeout(bulk_messages.CANCEL_SECONDS)
            behind = open_ones.filter(number__gt=number).order_by("number")
            chunk = behind.select_for_update(no_key=True).first()
            if chunk is None:
                return stopped
            stopped = _cancel_in_chunk(run, chunk, head) or stopped
            number = chunk.number


def _cancel_in_chunk(run: Run, chunk: Chunk, head: Message) -> bool:
    ended = cancelling.close_call(run, chunk, head.number, clock.now())
    if ended:
        numbers = [*{ending.message for ending in ended}]
        with connection.cursor() as cursor:
            cursor.execute(MARK, {"run": run.pk, "numbers": numbers})
            message_items.withdraw(run.pk, cursor.fetchall())
    return bool(ended)


# --- The sweep ------------------------------------------------------------------------------------


def look_after(now: datetime) -> None:
    """Free what dead workers left behind, so that it is sent, and close days that are over."""
    for run in retry_during_outage(lambda: list(day.open_runs()), seconds=0):
        skip_if_locked(partial(_look_after_run, run, now))
    skip_if_locked(forget_keys)


def _look_after_run(run: Run, now: datetime) -> None:
    with transaction.atomic():
        free_lapsed(run)
    _give_up_quarantined(run, now)
    Run.every.filter(pk=run.pk).update(**sums.sums_of(run))
    day.close(run, now)


def _give_up_quarantined(run: Run, now: datetime) -> None:
    """Close quarantined chunks, over which five workers died: no person decides about single
    messages. Open recipients are skipped, or unknown if a request may have been sent."""
    with transaction.atomic():
        quarantined = run.chunks.filter(state=Chunk.State.QUARANTINED)
        for chunk in quarantined.select_for_update(skip_locked=True):
            cancelling.give_up(run, chunk, now)
