"""Doorbells: tasks that carry ids only. Ringing one twice, late or never changes no result.

They ask PostgreSQL for the time and hand it in: the clock of one machine may jump.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any

from celery import Task, chord, group, shared_task
from django.core.cache import cache
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from campaigns.alerts import judging
from campaigns.audiences.lists import filling, sizes
from campaigns.echo import recounting
from campaigns.engine import engine, messages, retaining
from campaigns.failpoints import hit
from campaigns.figures import keeping
from campaigns.planning import schedule
from campaigns.planning.foreseen import foreseen
from campaigns.planning.text_check import text_check
from campaigns.planning.text_check import working as text_checks
from campaigns.runs.best_hour import opens
from campaigns.runs.caps import counted, places
from campaigns.runs.chunk import NEXT_SWEEP, Chunk, lapses_soon
from campaigns.runs.claiming import Fenced
from campaigns.runs.had import remembering
from campaigns.runs.messages import many
from campaigns.runs.tick import Tick
from campaigns.runs.wave import Wave
from campaigns.sending import sending
from campaigns.test_sends import clearing as old_tests
from campaigns.test_sends import sending as test_sends
from campaigns.triggers import arriving, deciding
from notifications.people.erased.erased import forget_once_more
from notifications.people.events.writing import Written
from notifications.postgres import clock
from notifications.postgres.outage import DATABASE_TROUBLE, if_free, patiently
from notifications.tasks import ring_figures, ring_waiting, ring_waiting_reports
from notifications.tracing import tracing

log = logging.getLogger(__name__)

FILLING_SECONDS = 10.0
READING_SECONDS = 10.0
AHEAD = 3  # of 0 to 9, where 0 is first: before the chunks of a wave that wait
UNFOLDING_SECONDS = 5.0
SENDING_SECONDS = 60.0  # of one task; then it is another's turn
AT_LEAST = 0.02  # between two looks: what is ripe may be locked by who cancels it
DECIDING_SECONDS = 5.0
RUNG, RUNG_SECONDS = "messages-rung", 5  # a doorbell that is lost silences others that long
JUDGED_WITHIN = 60  # seconds; then the sweep has rung again
TRIGGERS_RUNG = "triggers-rung"
TIMER_SLACK = timedelta(milliseconds=50)  # timers are not exact, and early is too early


class NotRung(Exception):
    """The broker did not take it. What is to be done stands in the rows; the sweep rings again."""


@contextmanager
def ringing() -> Iterator[None]:
    """Whatever goes wrong here is the broker's: it is away, or full, refuses us, or its URL does
    not work. Celery, kombu and redis-py each have errors of their own for that.
    """
    try:
        with tracing.span("ring", "producer"):
            yield
    except Exception as error:
        raise NotRung(f"{type(error).__name__}: {error}") from error


def ring(run_id: int) -> None:
    """Have the run looked at as soon as this transaction commits."""
    transaction.on_commit(lambda: _publish(run_id))


def _publish(run_id: int) -> None:
    try:
        with ringing():
            advance.delay(run_id=run_id)
    except NotRung as error:
        log.warning("run=%s could not be rung, the sweep will: %s", run_id, error)


@shared_task
def sweep() -> None:
    """Beat's only tick: look at everything that is due, abandoned or unfinished."""
    now = patiently(clock.now, seconds=0)
    for run_id in if_free(lambda: engine.sweep(now)) or ():
        hit("sweep")
        with ringing():
            advance.delay(run_id=run_id)
    for at in if_free(lambda: schedule.due_soon(now)) or ():
        with ringing():
            start.apply_async(eta=at + TIMER_SLACK)
    for audience_id in if_free(filling.unfinished) or ():
        with ringing():
            fill_list.delay(audience_id=audience_id)
    for run_id, left in if_free(lapses_soon) or ():
        after = (left + TIMER_SLACK).total_seconds()
        with ringing():
            advance.apply_async(kwargs={"run_id": run_id}, countdown=after)
    ring_waiting(now)
    ring_waiting_reports(now)
    messages.look_after(now)
    _ring_what_is_due_of_messages()
    _ring_tests(now)
    _ring_text_checks()
    for seconds in if_free(deciding.due_soon) or ():
        with ringing():
            decide_triggers.apply_async(countdown=seconds)
    if patiently(lambda: judging.due(now), seconds=0):
        with ringing():
            judge_alerts.apply_async(expires=JUDGED_WITHIN)
    Tick.record(now)


def _ring_what_is_due_of_messages() -> None:
    for seconds in if_free(messages.due_soon) or ():
        with ringing():
            send_messages.apply_async(countdown=seconds)
    if if_free(many.unfolding):
        with ringing():
            unfold_messages.delay()
    if if_free(messages.many_wait):
        with ringing():
            send_to_many.delay()


def ring_messages(at: datetime | None = None) -> None:
    """Have what is due sent as soon as this transaction commits, or at a time before the next
    sweep. One doorbell serves all who ring before it is heard."""
    if at is None or at <= timezone.now() + NEXT_SWEEP:
        transaction.on_commit(lambda: _publish_urgent(send_messages, RUNG, at))


def _publish_urgent(task: Task[Any, Any], rung: str, at: datetime | None = None) -> None:
    try:
        with ringing():
            if at is not None:
                task.apply_async(eta=at + TIMER_SLACK)
            elif cache.add(rung, 1, timeout=RUNG_SECONDS):
                task.delay()
    except NotRung as error:
        log.warning("%s could not be rung, the sweep will: %s", task.name, error)


@shared_task
def send_messages() -> None:
    """Send what is due to single people, a chunk after the other. Never raises: what is left is in
    the rows."""
    try:
        _send_and_look_again(time.monotonic() + SENDING_SECONDS)
    except DATABASE_TROUBLE as error:  # the sweep rings again
        log.warning("messages not sent: %s", error)
    except Exception:
        log.exception("messages failed")


def _send_and_look_again(ends_at: float) -> None:
    """The doorbell counts as heard while somebody is about to look: those who commit meanwhile need
    not ring. Whoever finds it rung leaves what is not ripe yet to who hears it."""
    while True:
        with suppress(Exception):  # before the rows are read: who commits later rings again
            cache.delete(RUNG)
        left = _send_ripe(ends_at - time.monotonic())
        if left is None:
            return None
        if time.monotonic() > ends_at:
            return _publish_urgent(send_messages, RUNG)
        with suppress(Exception):
            if not cache.add(RUNG, 1, timeout=RUNG_SECONDS):
                return None
        _let_gather(left)


def _let_gather(seconds: float) -> None:
    time.sleep(max(seconds, AT_LEAST))


def _send_ripe(seconds: float) -> float | None:
    """In how many seconds more is ripe; None: there is no more."""
    due = messages.Due(seconds=seconds)
    for taken in due:
        hit("messages_taken")
        try:
            sending.send_claimed(taken)
        except Fenced:
            log.warning("run=%s chunk=%s lost its lease", taken.run.pk, taken.chunk.number)
    return due.ripens_in


def ring_long_list() -> None:
    """Have the members of a long list get their messages as soon as this transaction commits."""
    transaction.on_commit(lambda: _publish_many(unfold_messages))


def _publish_many(task: Task[Any, Any]) -> None:
    try:
        with ringing():
            task.delay()
    except NotRung as error:
        log.warning("messages to many could not be rung, the sweep will: %s", error)


@shared_task
def unfold_messages() -> None:
    """Write the messages of a call to a long list; it rings itself again for the next of them, so
    that campaigns have their turn."""
    try:
        more = messages.unfold(seconds=UNFOLDING_SECONDS)
    except DATABASE_TROUBLE as error:  # the sweep rings again
        log.warning("no long list unfolded: %s", error)
        return
    _publish_many(send_to_many)
    if more:
        _publish_many(unfold_messages)


@shared_task
def send_to_many() -> None:
    """Send one chunk of what goes to thousands. It rings for the next one first: as many workers
    send as are free. Never raises: what is left is in the rows."""
    try:
        taken = messages.next_of_many()
        if taken is None:
            return
        _publish_many(send_to_many)
        sending.send_claimed(taken)
    except Fenced:
        log.warning("messages to many lost their lease")
    except DATABASE_TROUBLE as error:  # the sweep rings again
        log.warning("messages to many not sent: %s", error)
    except Exception:
        log.exception("messages to many failed")


def answer_events(project_id: int, written: Written) -> None:
    """In the transaction that writes the events: see apps.py."""
    due = arriving.make_triggers(project_id, written)
    if due is None or due > timezone.now() + NEXT_SWEEP:
        return
    at = due if due > timezone.now() else None
    transaction.on_commit(lambda: _publish_urgent(decide_triggers, TRIGGERS_RUNG, at))


@shared_task
def decide_triggers() -> None:
    """Decide what is due of events that automations answer, and have sent what that makes."""
    with suppress(Exception):  # before the rows are read: who commits later rings again
        cache.delete(TRIGGERS_RUNG)
    ends_at = time.monotonic() + DECIDING_SECONDS
    try:
        while (decided := patiently(lambda: deciding.decide(clock.now()))).triggers:
            hit("after_decided")
            if decided.sent:
                _publish_urgent(send_messages, RUNG)
            if time.monotonic() > ends_at:  # then it is another's turn
                _publish_urgent(decide_triggers, TRIGGERS_RUNG)
                return
    except DATABASE_TROUBLE as error:  # the sweep rings again
        log.warning("triggers not decided: %s", error)
    except Exception:
        log.exception("triggers cannot be decided")


def ring_test(test_id: int) -> None:
    """Have the test sent as soon as this transaction commits."""
    transaction.on_commit(lambda: _publish_test(test_id))


def _ring_tests(now: datetime) -> None:
    for test_id in if_free(lambda: test_sends.look_after(now)) or ():
        with ringing():
            send_test.delay(test_id=test_id)


def _publish_test(test_id: int) -> None:
    try:
        with ringing():
            send_test.delay(test_id=test_id)
    except NotRung as error:
        log.warning("test=%s could not be rung, the sweep will: %s", test_id, error)


@shared_task
def send_test(test_id: int) -> None:
    """Send what may leave of a test. Never raises: what is left is in the rows."""
    try:
        test_sends.work(test_id, patiently(clock.now))
    except DATABASE_TROUBLE as error:  # the sweep rings again
        log.warning("test=%s not sent: %s", test_id, error)
    except Exception:
        log.exception("test=%s cannot be sent", test_id)


def ring_list(audience_id: int) -> None:
    """Have the list filled as soon as this transaction commits."""
    transaction.on_commit(lambda: _publish_list(audience_id))


def _publish_list(audience_id: int) -> None:
    try:
        with ringing():
            fill_list.delay(audience_id=audience_id)
    except NotRung as error:
        log.warning("list=%s could not be rung, the sweep will: %s", audience_id, error)


@shared_task
def fill_list(audience_id: int) -> None:
    """A slice of a list; it rings itself again for the next, so that runs have their turn."""
    try:
        more = filling.work(audience_id, seconds=FILLING_SECONDS)
    except DATABASE_TROUBLE as error:
        log.warning("list=%s not filled further: %s", audience_id, error)
        return
    except Exception as error:
        log.exception("list=%s cannot be filled", audience_id)
        filling.give_up(audience_id, f"{type(error).__name__}: {error}")
        return
    if more:
        _publish_list(audience_id)


def _ring_text_checks() -> None:
    for check_id in if_free(text_check.unfinished) or ():
        with ringing():
            check_texts.apply_async(kwargs={"check_id": check_id}, priority=AHEAD)


def ring_text_check(check_id: int) -> None:
    """Have it read as soon as this transaction commits."""
    transaction.on_commit(lambda: _publish_text_check(check_id))


def _publish_text_check(check_id: int) -> None:
    try:
        with ringing():
            check_texts.apply_async(kwargs={"check_id": check_id}, priority=AHEAD)
    except NotRung as error:
        log.warning("text check=%s could not be rung, the sweep will: %s", check_id, error)


@shared_task
def check_texts(check_id: int) -> None:
    """A slice of a text check; it rings itself again for the next, so that runs have their turn.
    When it is over, the next text of the campaign has its turn."""
    try:
        more = text_checks.work(check_id, seconds=READING_SECONDS)
    except DATABASE_TROUBLE as error:  # the sweep rings again
        log.warning("text check=%s not read further: %s", check_id, error)
        return
    except Exception as error:
        log.exception("text check=%s cannot be read", check_id)
        text_check.give_up(check_id, f"{type(error).__name__}: {error}", now=clock.now())
        return
    coming = check_id if more else text_check.following(check_id)
    if coming is not None:
        _publish_text_check(coming)


@shared_task
def tidy() -> None:
    """Beat's other tick: remove what is older than its project keeps it, a part of it at a time;
    count some audiences whose number is old; keep the figures of the overview; have FCM's own
    fetched, and runs counted again, each once a day."""
    with suppress(*DATABASE_TROUBLE):  # then with the next tick
        if patiently(lambda: retaining.go_on(now=clock.now()), seconds=0):
            with ringing():
                tidy.delay()
        patiently(lambda: sizes.count_some(now=clock.now()), seconds=0)
        patiently(lambda: keeping.keep_figures(now=clock.now()), seconds=0)
        patiently(lambda: old_tests.remove_old(clock.now()), seconds=0)
        patiently(lambda: forget_once_more(clock.now()), seconds=0)
        patiently(lambda: counted.remove_old(clock.now()), seconds=0)
        patiently(places.remove_old, seconds=0)
        patiently(remembering.remove_unasked, seconds=0)
        patiently(lambda: opens.remove_old(clock.now()), seconds=0)
        ring_figures(clock.now())
        if patiently(lambda: recounting.due(clock.now()).exists(), seconds=0):
            with ringing():
                recount_echo.delay()


@shared_task
def recount_echo() -> None:
    """Compare the sums of one run's receipts and goal with the rows; it rings itself again for the
    next run, so that others have their turn."""
    try:
        now = patiently(clock.now)
        run = patiently(lambda: recounting.due(now).first())
        if run is None or recounting.recount(run, now=now) is None:
            return  # the next tick rings again
    except DATABASE_TROUBLE as error:
        log.warning("nothing counted again: %s", error)
        return
    with suppress(NotRung), ringing():
        recount_echo.delay()


@shared_task
def judge_alerts() -> None:
    """Look what is wrong now, and have people told. Never raises: the next minute looks again."""
    try:
        judging.judge(patiently(clock.now, seconds=0))
    except DATABASE_TROUBLE as error:
        log.warning("alerts not judged: %s", error)
    except Exception:
        log.exception("alerts cannot be judged")


@shared_task
def start() -> None:
    """Something is due at this moment. It shall not wait for the next sweep."""
    with suppress(*DATABASE_TROUBLE):  # then it does
        for run_id in patiently(lambda: schedule.start_due(clock.now()), seconds=0):
            _publish(run_id)


@shared_task
def advance(run_id: int) -> None:
    """Move a run one step, and ring what that released."""
    try:
        released = patiently(lambda: engine.advance(run_id, now=clock.now()), seconds=0)
    except DATABASE_TROUBLE as error:  # a lock not granted, a restart: the sweep calls again
        log.warning("run=%s not advanced: %s", run_id, error)
        return
    except Exception as error:
        log.exception("run=%s cannot be advanced", run_id)
        engine.give_up(run_id, error)
        return
    if released:
        hit("advance")
        ring_wave(released)
    if engine.goes_on(run_id):
        _publish(run_id)
    _foresee(run_id)


def _foresee(run_id: int) -> None:
    """Keep how a run that has just begun would go: its first messages are on their way. Not in a
    task of its own, which an old worker would not know. Whatever fails here, its page does without.
    """
    try:
        foreseen.keep(run_id, clock.now())
    except DATABASE_TROUBLE as error:
        log.warning("run=%s was not foreseen: %s", run_id, error)
    except Exception:
        log.exception("run=%s cannot be foreseen", run_id)


def ring_wave(released: engine.Ring) -> None:
    """The chord: every chunk of the wave, then the callback that sums up and releases the next.

    If publishing fails half-way, the chunks stay queued and are rung again when nobody came.
    """
    run_id, wave = released.run_id, released.wave
    chunks = group(
        send_chunk.s(run_id=run_id, number=number, epoch=released.epoch)
        for number in released.chunks
    )
    callback = wave_done.s(run_id=run_id, wave=wave).on_error(advance.si(run_id=run_id))
    try:
        with ringing():
            chord(chunks)(callback)
    except NotRung as error:
        log.warning("run=%s wave=%s could not be rung: %s", run_id, wave, error)


@shared_task(bind=True, ignore_result=False)
def send_chunk(self: Task[Any, Any], run_id: int, number: int, epoch: int) -> dict[str, int]:
    """Send one chunk; return what was settled. Never raises: that would break the wave's chord."""
    try:
        settled = sending.send(run_id, number, epoch, task_id=self.request.id)
        hit("after_settle")
        return settled
    except Fenced:
        log.warning("run=%s chunk=%s lost its lease and wrote nothing more", run_id, number)
    except Exception:
        # Its lease lapses and another worker takes over; five times, and it is quarantined.
        log.exception("run=%s chunk=%s failed", run_id, number)
    return {}


@shared_task
def wave_done(results: list[dict[str, int]], run_id: int, wave: int) -> None:
    """The chord's callback: sum what the wave's tasks returned, compare with the rows, go on."""
    hit("wave_done")
    tally: Counter[str] = Counter()
    for settled in results:
        tally.update(settled)
    Wave.objects.filter(run=run_id, number=wave).update(called_back_at=Now(), tally=dict(tally))
    unfinished = Chunk.objects.filter(run=run_id, wave=wave).exclude(state=Chunk.State.CLOSED)
    log.info("run=%s wave=%s tally=%s unfinished=%s", run_id, wave, dict(tally), unfinished.count())
    advance(run_id=run_id)
