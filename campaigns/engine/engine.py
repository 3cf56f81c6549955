"""The engine: moves a run one step forward, from its rows alone. Read this, then `sending.py`.

`advance` may be called 0, 1 or n times, by any process, in any order: the end is the same. It
returns the chunks to enqueue; only `tasks.py` enqueues. Here a Celery task is a doorbell, and to
ring is to enqueue it: the work itself stands in the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import transaction
from django.db.models import F, Max, Q, QuerySet

from campaigns.canary.figures import count_able_to_report
from campaigns.canary.first_part import held
from campaigns.engine import breakdowns, broken_runs, cancelling, first_part, freezing, wrong_items
from campaigns.planning.schedule import plan_and_start
from campaigns.runs import absence, details, prior_recipients, sums
from campaigns.runs.chunk import (
    NEXT_SWEEP,
    ONE_WORKER,
    SMALLEST,
    Chunk,
    unlocked,
    worked_on,
)
from campaigns.runs.lapsing import free_lapsed
from campaigns.runs.reasons import Cause
from campaigns.runs.run import LEAVING, Run
from campaigns.runs.wave import Wave
from campaigns.sending import breakers, recovery_probe
from notifications.pacing import gate
from notifications.postgres import clock

WAVE = 500  # chunks of one chord: 0.4 s to publish, under 1 MB of Redis
OUTSTANDING = 1_000  # chunks enqueued at once; a flushed Redis loses this many tasks
AHEAD_SECONDS = 10  # seconds of the project's rate in the queue: others wait that long behind it
LOST_DOORBELL = timedelta(seconds=15)
LONGEST_SILENCE = timedelta(minutes=10)


@dataclass(frozen=True)
class ReleasedWave:
    """Chunks to enqueue as one chord, with the run's present epoch."""

    run_id: int
    epoch: int
    wave: int
    chunks: list[int]


class Capacity(NamedTuple):
    """How many chunks may be enqueued or in work at once."""

    chunks: int
    fcm_fails: bool = False


def sweep(now: datetime) -> list[int]:
    """Start due runs, and return all runs to advance: unfinished, not counted, or not indexed.

    Safe to do twice, concurrently, or late.
    """
    plan_and_start(now)
    unfinished = Run.driven.filter(finished_at__isnull=True)
    moving = unfinished.exclude(state=Run.State.SCHEDULED)
    in_order = (moving.order_by("pk"), breakdowns.uncounted(), prior_recipients.runs_to_index())
    run_ids = (pk for runs in in_order for pk in runs.values_list("pk", flat=True))
    return [*dict.fromkeys(run_ids)]


def advance(run_id: int, *, now: datetime) -> ReleasedWave | None:
    """Move the run one step; return the chunks to enqueue, if any.

    If the process dies here: the step is not committed, and the next call does it. If it dies after
    the commit and before the ring: the chunks stay queued, and are enqueued again once stale.
    """
    run = Run.driven.filter(pk=run_id).select_related("project__load").first()
    if run is None:
        return None  # a day of messages, which has no waves: an old task may name one
    room = _free_capacity(run, now)  # asks Redis, so it comes before the lock on the run
    if _pause_for_decision(run_id, now):
        return None
    # Each of these commits by itself and does nothing if it is not its turn. None of them keeps the
    # run's row locked while it works, so a pause or a cancel does not wait.
    freezing.freeze_next(run_id, now=now)
    breakdowns.count_next(run_id)
    prior_recipients.index_next(run_id)
    if run.first_percent is not None:
        count_able_to_report(run_id)
    wrong_items.remove_wrong_items(run_id)
    with transaction.atomic():
        run = _lock_run(run_id)
        if run.state in LEAVING:
            return _send_on(run, now, room)
        if step := STEPS.get(Run.State(run.state)):
            step(run, now)
        return None


def _pause_for_decision(run_id: int, now: datetime) -> bool:
    """Pause the run after a long absence, or if one of its texts can no longer be used. Returns
    whether a person must decide."""
    with suppress(Run.InvalidMove), transaction.atomic():
        run = _lock_run(run_id)
        return absence.pause_after_absence(run, now) or broken_runs.pause_if_broken(run)
    return False


def _lock_run(run_id: int) -> Run:
    # `no_key`: workers write windows that refer to the run, and must not wait for this lock.
    return Run.driven.select_for_update(no_key=True).get(pk=run_id)


def has_more(run_id: int) -> bool:
    """Whether more can be frozen, closed, counted or indexed at once: then enqueue another step."""
    left = any(run.freezing for run in Run.driven.filter(pk=run_id))
    if (left and freezing.try_lock(run_id)) or cancelling.has_more(run_id):
        return True
    return breakdowns.has_more(run_id) or prior_recipients.has_more(run_id)


def give_up(run_id: int, error: Exception) -> None:
    """Pause the run: an error that PostgreSQL's trouble did not cause would come again.

    A person has to look at it.
    """
    detail = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    with suppress(Run.InvalidMove):
        Run.driven.get(pk=run_id).pause(Cause.BROKEN, detail)


# --- Sending: release the next wave, or finish ----------------------------------------------------


def _send_on(run: Run, now: datetime, room: Capacity) -> ReleasedWave | None:
    free_lapsed(run)
    _free_lost_chunks(run, now)
    _free_held_chunks(run)
    open_chunks = run.chunks.exclude(state=Chunk.State.CLOSED)
    if part := held(run):  # then the rest is not due yet
        open_chunks = open_chunks.filter(follows=False)
    # Read once, before the sums: a chunk that closes in between must not count as stuck.
    states = set(open_chunks.values_list("state", flat=True).distinct())
    if not states and not run.freezing and not part:
        run.move_to(Run.State.FINISHED, finished_at=clock.after(now), **sums.sums_of(run))
        return None
    Run.driven.filter(pk=run.pk).update(**sums.sums_of(run))
    if trip := breakers.look_back(run):
        run.pause(trip.cause, trip.detail)
        return None
    if states and states <= STUCK and not run.freezing:
        _ask_a_person(run, open_chunks)
        return None
    if part:
        first_part.step(run, part, now, sent=not states)
        if run.state != Run.State.SENDING:
            return None
    return _next_wave(run, now, room)


STUCK = {Chunk.State.QUARANTINED, Chunk.State.HELD}


def _ask_a_person(run: Run, stuck: QuerySet[Chunk]) -> None:
    """Pause the run: only chunks are left that cannot go on without a person's decision."""
    held_chunks = stuck.filter(state=Chunk.State.HELD)
    if held_chunks.exists():
        waiting = sum(chunk.waiting for chunk in held_chunks)
        detail = details.make("held", count=waiting, platforms=run.held_platforms)
        run.pause(Cause.PLATFORM_KEY, detail)
    else:
        run.pause(Cause.QUARANTINED, details.make("stuck", count=stuck.count()))


def _free_lost_chunks(run: Run, now: datetime) -> None:
    """Free chunks whose task was lost: queued a while ago, with no living worker on this run."""
    if not worked_on(run):
        lost = run.chunks.filter(state=Chunk.State.QUEUED, queued_at__lt=now - _max_queued_for(run))
        run.chunks.filter(pk__in=unlocked(lost)).update(state=Chunk.State.WAITING)


def _free_held_chunks(run: Run) -> None:
    """Free held chunks: a worker that had not noticed the resume may have handed one back."""
    if not run.held_platforms:
        run.chunks.filter(state=Chunk.State.HELD).update(state=Chunk.State.WAITING)


def _max_queued_for(run: Run) -> timedelta:
    """How long a chunk may stay queued before its task counts as lost.

    The time doubles with each unanswered wave in a row: with all workers down, a new task every
    15 s would fill Redis overnight. The first worker that is back finds the tasks, however old.
    """
    answered = run.waves.filter(called_back_at__isnull=False).aggregate(last=Max("number"))
    silent = run.waves.filter(number__gt=answered["last"] or 0).count()
    doublings = max(0, min(silent, 10) - 1)
    return min(LONGEST_SILENCE, LOST_DOORBELL * (1 << doublings))


def _next_wave(run: Run, now: datetime, room: Capacity) -> ReleasedWave | None:
    busy = run.chunks.filter(state__in=(Chunk.State.QUEUED, Chunk.State.LEASED)).count()
    more = room.chunks - busy
    if more < busy:
        return None  # refill once half is done: a chord of one chunk costs as much as one of fifty
    due_chunks = run.chunks.filter(
        Q(not_before__isnull=True) | Q(not_before__lte=now), state=Chunk.State.WAITING
    )
    # A worker that vanished while writing a chunk blocks only that chunk, not the wave.
    ordered = (
        recovery_probe.freshest_first(due_chunks, now)
        if room.fcm_fails
        else due_chunks.order_by("number")
    )
    free = ordered.select_for_update(skip_locked=True, no_key=True)
    chosen_numbers = list(free.values_list("number", flat=True)[: min(WAVE, more)])
    if not chosen_numbers:
        return None
    wave = 1 + (run.waves.aggregate(last=Max("number"))["last"] or 0)
    Wave.objects.create(run=run, number=wave, chunks=len(chosen_numbers), rung_at=now)
    run.chunks.filter(number__in=chosen_numbers).update(
        state=Chunk.State.QUEUED, queued_at=now, wave=wave, not_before=None
    )
    return ReleasedWave(run.pk, run.epoch, wave, chosen_numbers)


def _free_capacity(run: Run, now: datetime) -> Capacity:
    """How many chunks of this run may be enqueued or in work now.

    A slow campaign gets only the workers that its rate can use; a slow project gets a short queue.
    While FCM is down, one chunk goes when a try is due, and the others wait for its result.
    """
    allowed = gate.pace_of(run.project, run.reference, run.own_rate, safe=run.safe_rate)
    if allowed.limit is gate.Limit.FAILING and now < run.deadline:
        may_try = allowed.until is None or allowed.until < now + NEXT_SWEEP
        return Capacity(int(may_try), fcm_fails=True)
    if run.is_rehearsal and _is_campaign_sending(run):
        return Capacity(1)
    if rates := [rate for rate in (run.own_rate, run.safe_rate) if rate is not None]:
        return Capacity(min(OUTSTANDING, math.ceil(min(rates) / ONE_WORKER)))
    ahead = AHEAD_SECONDS * gate.full_rate(run.project)
    return Capacity(min(OUTSTANDING, math.ceil(ahead / _chunk_size(run))))


def _chunk_size(run: Run) -> int:
    chunks = run.chunks.order_by("number")
    if run.first_percent is not None:  # chunks of a first part are smaller
        chunks = run.chunks.order_by(F("first_seq") - F("last_seq"))
    first = chunks.first()
    return first.size if first else SMALLEST


def _is_campaign_sending(run: Run) -> bool:
    """Whether a campaign of the project is sending: then a rehearsal gets one worker only."""
    return Run.objects.filter(project=run.project_id, state=Run.State.SENDING).exists()


def _maintain_paused(run: Run, now: datetime) -> None:
    """Free the chunks that dead workers hold in a paused run, and update its totals."""
    free_lapsed(run)
    Run.driven.filter(pk=run.pk).update(**sums.sums_of(run))


STEPS: dict[Run.State, Callable[[Run, datetime], None]] = {
    Run.State.PAUSED: _maintain_paused,
    Run.State.CANCELLED: cancelling.close_the_rest,
}
