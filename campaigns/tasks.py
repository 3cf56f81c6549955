"""Celery tasks of campaigns. They carry ids; running one twice, late or never changes no result.

Each task reads the time from PostgreSQL and passes it on: a machine's own clock may jump.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from contextlib import suppress
from datetime import datetime
from typing import Any

from celery import Task, chord, group, shared_task
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from campaigns.alerts import evaluation
from campaigns.alerts import tasks as alert_tasks
from campaigns.audiences.lists import filling, sizes
from campaigns.engagement import recounting
from campaigns.engine import engine, messages, retaining
from campaigns.failpoints import hit
from campaigns.figures import store_figures
from campaigns.launch_check import stored_forecast
from campaigns.planning import schedule
from campaigns.runs import best_hour, prior_recipients
from campaigns.runs.caps import counted_pushes, reserved_places
from campaigns.runs.chunk import NEXT_SWEEP, Chunk, lapses_soon
from campaigns.runs.claiming import Fenced
from campaigns.runs.messages import bulk_messages
from campaigns.runs.tick import Tick
from campaigns.runs.wave import Wave
from campaigns.sending import sending
from campaigns.test_sends import retention as old_tests
from campaigns.test_sends import sending as test_sends
from campaigns.test_sends.tasks import send_test
from campaigns.text_check import model
from campaigns.text_check import worker as text_checks
from campaigns.triggers import create, deciding
from notifications.people.erased_people import delete_leftover_rows
from notifications.people.events.writing import Written
from notifications.postgres import clock
from notifications.postgres.outage import DATABASE_TROUBLE, retry_during_outage, skip_if_locked
from notifications.task_queue import (
    TIMER_SLACK,
    Flag,
    NotEnqueued,
    background_task,
    broker_errors,
    enqueue,
    enqueue_once,
    publish,
)
from notifications.tasks import enqueue_figures, enqueue_waiting_imports, enqueue_waiting_reports

log = logging.getLogger(__name__)

FILLING_SECONDS = 10.0
READING_SECONDS = 10.0
UNFOLDING_SECONDS = 5.0
SENDING_SECONDS = 60.0  # of one task; then other tasks get a turn
AT_LEAST = 0.02  # seconds between two reads: a cancel may hold the rows that are due
DECIDING_SECONDS = 5.0
# The keys that the previous release sets: its processes may still run beside these.
MESSAGES, TRIGGERS = Flag("messages-rung"), Flag("triggers-rung")


# --- Beat's ticks ---------------------------------------------------------------------------------


@shared_task
def sweep() -> None:
    """Beat's tick: enqueue all work that is due, abandoned or unfinished. Raises NotEnqueued."""
    now = retry_during_outage(clock.now, seconds=0)
    for run_id in skip_if_locked(lambda: engine.sweep(now)) or ():
        hit("sweep")
        publish(advance, {"run_id": run_id})
    for at in skip_if_locked(lambda: schedule.due_soon(now)) or ():
        publish(start, eta=at + TIMER_SLACK)
    for audience_id in skip_if_locked(filling.unfinished) or ():
        publish(fill_list, {"audience_id": audience_id})
    for run_id, wait in skip_if_locked(lapses_soon) or ():
        publish(advance, {"run_id": run_id}, countdown=(wait + TIMER_SLACK).total_seconds())
    enqueue_waiting_imports(now)
    enqueue_waiting_reports(now)
    messages.look_after(now)
    _sweep_messages()
    for test_id in skip_if_locked(lambda: test_sends.sweep(now)) or ():
        publish(send_test, {"test_id": test_id})
    for check_id in skip_if_locked(model.unfinished) or ():
        publish(check_texts, {"check_id": check_id})
    for seconds in skip_if_locked(deciding.due_soon) or ():
        publish(decide_triggers, countdown=seconds)
    if retry_during_outage(lambda: evaluation.is_due(now), seconds=0):
        publish(alert_tasks.evaluate_alerts, expires=alert_tasks.EXPIRES)
    Tick.record(now)


def _sweep_messages() -> None:
    for seconds in skip_if_locked(messages.due_soon) or ():
        publish(send_messages, countdown=seconds)
    if skip_if_locked(bulk_messages.unfolding):
        publish(unfold_messages)
    if skip_if_locked(messages.many_wait):
        publish(send_to_many)


@background_task()
def tidy() -> None:
    """Beat's other tick: delete expired data in parts, and refresh audience sizes and the
    overview's figures. Once a day, fetch FCM's figures and recount runs."""
    if retry_during_outage(lambda: retaining.delete_expired(now=clock.now()), seconds=0):
        publish(tidy)
    retry_during_outage(lambda: sizes.count_some(now=clock.now()), seconds=0)
    retry_during_outage(lambda: store_figures.keep_figures(now=clock.now()), seconds=0)
    retry_during_outage(lambda: old_tests.remove_old(clock.now()), seconds=0)
    retry_during_outage(lambda: delete_leftover_rows(clock.now()), seconds=0)
    retry_during_outage(lambda: counted_pushes.remove_old(clock.now()), seconds=0)
    retry_during_outage(reserved_places.remove_old, seconds=0)
    retry_during_outage(prior_recipients.remove_unused, seconds=0)
    retry_during_outage(lambda: best_hour.remove_old(clock.now()), seconds=0)
    enqueue_figures(clock.now())
    if retry_during_outage(lambda: recounting.due(clock.now()).exists(), seconds=0):
        publish(recount_echo)


@background_task()
def recount_echo() -> None:
    """Compare the receipt and goal sums of one run with its rows. Then enqueue the next run, so
    that other tasks get a turn."""
    now = retry_during_outage(clock.now)
    run = retry_during_outage(lambda: recounting.due(now).first())
    if run is not None and recounting.recount(run, now=now) is not None:
        enqueue(recount_echo)


# --- Messages to single people --------------------------------------------------------------------


def send_messages_on_commit(at: datetime | None = None) -> None:
    """Send due messages as soon as this transaction commits, or at a time before the next sweep.
    One task serves all callers until it begins."""
    if at is None or at <= timezone.now() + NEXT_SWEEP:
        transaction.on_commit(lambda: enqueue_once(send_messages, MESSAGES, at=at))


@background_task()
def send_messages() -> None:
    """Send due messages to single people, chunk by chunk.

    The flag stays set while this task waits for its next round: callers that commit meanwhile need
    not enqueue another task. If another task has set the flag, that task sends what is due later.
    """
    ends_at = time.monotonic() + SENDING_SECONDS
    while True:
        MESSAGES.clear()
        wait = _send_due(ends_at - time.monotonic())
        if wait is None:
            return
        if time.monotonic() > ends_at:
            enqueue_once(send_messages, MESSAGES)
            return
        with suppress(Exception):
            if not MESSAGES.set():
                return
        _let_gather(wait)


def _let_gather(seconds: float) -> None:
    time.sleep(max(seconds, AT_LEAST))


def _send_due(seconds: float) -> float | None:
    """Send the chunks that are ready. Return the seconds until more are ready; None: no more."""
    due = messages.Due(seconds=seconds)
    for claimed in due:
        hit("messages_taken")
        try:
            sending.send_claimed(claimed)
        except Fenced:
            log.warning("run=%s chunk=%s lost its lease", claimed.run.pk, claimed.chunk.number)
    return due.ripens_in


@background_task()
def unfold_messages() -> None:
    """Write the next messages of API calls to long lists. Then enqueue itself for the next part,
    so that campaigns get a turn."""
    has_more = messages.unfold(seconds=UNFOLDING_SECONDS)
    enqueue(send_to_many)
    if has_more:
        enqueue(unfold_messages)


@background_task()
def send_to_many() -> None:
    """Send one chunk of messages to many people. It enqueues the next task first, so that all free
    workers send."""
    claimed = messages.next_of_many()
    if claimed is None:
        return
    enqueue(send_to_many)
    try:
        sending.send_claimed(claimed)
    except Fenced:
        log.warning("messages to many lost their lease")


def answer_events(project_id: int, written: Written) -> None:
    """Create the triggers of new events, in the transaction that writes them (registrations.py)."""
    due = create.make_triggers(project_id, written)
    if due is None or due > timezone.now() + NEXT_SWEEP:
        return
    at = due if due > timezone.now() else None
    transaction.on_commit(lambda: enqueue_once(decide_triggers, TRIGGERS, at=at))


@background_task()
def decide_triggers() -> None:
    """Decide the triggers of automations that are due, and send the messages they create."""
    TRIGGERS.clear()
    ends_at = time.monotonic() + DECIDING_SECONDS
    while (decided := retry_during_outage(lambda: deciding.decide(clock.now()))).triggers:
        hit("after_decided")
        if decided.sent:
            enqueue_once(send_messages, MESSAGES)
        if time.monotonic() > ends_at:  # then other tasks get a turn
            enqueue_once(decide_triggers, TRIGGERS)
            return


# --- Lists and text checks, in slices -------------------------------------------------------------


def _give_up_list(audience_id: int, error: Exception) -> None:
    filling.give_up(audience_id, f"{type(error).__name__}: {error}")


@background_task(on_error=_give_up_list)
def fill_list(audience_id: int) -> None:
    """Fill a slice of a list. Then enqueue the next slice, so that runs get a turn."""
    if filling.work(audience_id, seconds=FILLING_SECONDS):
        enqueue(fill_list, audience_id=audience_id)


def _give_up_text_check(check_id: int, error: Exception) -> None:
    model.give_up(check_id, f"{type(error).__name__}: {error}", now=clock.now())


@background_task(on_error=_give_up_text_check, in_slices=True)
def check_texts(check_id: int) -> None:
    """Read a slice of a text check. Then enqueue the next slice, so that runs get a turn. After the
    last slice, enqueue the campaign's next text."""
    has_more = text_checks.work(check_id, seconds=READING_SECONDS)
    next_check_id = check_id if has_more else model.following(check_id)
    if next_check_id is not None:
        enqueue(check_texts, check_id=next_check_id)


# --- Runs -----------------------------------------------------------------------------------------


@background_task()
def start() -> None:
    """Start the runs that are due now, without waiting for the next sweep."""
    for run_id in retry_during_outage(lambda: schedule.plan_and_start(clock.now()), seconds=0):
        enqueue(advance, run_id=run_id)


@background_task(on_error=engine.give_up)
def advance(run_id: int) -> None:
    """Move a run one step, and publish the wave of chunks that this step released."""
    released = retry_during_outage(lambda: engine.advance(run_id, now=clock.now()), seconds=0)
    if released:
        hit("advance")
        publish_wave(released)
    if engine.has_more(run_id):
        enqueue(advance, run_id=run_id)
    _foresee(run_id)


def _foresee(run_id: int) -> None:
    """Keep the forecast of a run that has just begun and already sends its first messages.

    It has no task of its own: an old worker would not know it. If it fails, the run's page shows no
    forecast.
    """
    try:
        stored_forecast.keep(run_id, clock.now())
    except DATABASE_TROUBLE as error:
        log.warning("run=%s was not foreseen: %s", run_id, error)
    except Exception:
        log.exception("run=%s cannot be foreseen", run_id)


def publish_wave(released: engine.ReleasedWave) -> None:
    """Publish a wave as a chord: every chunk, then the callback that releases the next wave.

    If publishing fails half-way, the chunks stay queued. If no task takes them, they are published
    again.
    """
    run_id, wave = released.run_id, released.wave
    chunks = group(
        send_chunk.s(run_id=run_id, number=number, epoch=released.epoch)
        for number in released.chunks
    )
    callback = wave_done.s(run_id=run_id, wave=wave).on_error(advance.si(run_id=run_id))
    try:
        with broker_errors():
            chord(chunks)(callback)
    except NotEnqueued as error:
        log.warning("run=%s wave=%s could not be enqueued: %s", run_id, wave, error)


@shared_task(bind=True, ignore_result=False)
def send_chunk(self: Task[Any, Any], run_id: int, number: int, epoch: int) -> dict[str, int]:
    """Send one chunk; return the counts by outcome. Never raises: that would break the chord."""
    try:
        settled = sending.send(run_id, number, epoch, task_id=self.request.id)
        hit("after_settle")
        return settled
    except Fenced:
        log.warning("run=%s chunk=%s lost its lease and wrote nothing more", run_id, number)
    except Exception:
        # The lease lapses and another worker takes over. After five lapses it is quarantined.
        log.exception("run=%s chunk=%s failed", run_id, number)
    return {}


@shared_task
def wave_done(results: list[dict[str, int]], run_id: int, wave: int) -> None:
    """The chord's callback: add up what the wave's tasks returned, keep it, and go on."""
    hit("wave_done")
    tally: Counter[str] = Counter()
    for settled in results:
        tally.update(settled)
    Wave.objects.filter(run=run_id, number=wave).update(called_back_at=Now(), tally=dict(tally))
    unfinished = Chunk.objects.filter(run=run_id, wave=wave).exclude(state=Chunk.State.CLOSED)
    log.info("run=%s wave=%s tally=%s unfinished=%s", run_id, wave, dict(tally), unfinished.count())
    advance(run_id=run_id)
