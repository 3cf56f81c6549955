"""Sending: takes one chunk from claim to hand-back: claim → window → render → gateway → settle.

While one window is in flight, the previous one is committed and the next one rendered, so sockets
are never idle at a window's end. The task's thread does database work and rendering; the event
loop's thread sends requests. If the process dies: windows left open name the people whose outcome
is ambiguous (at most WINDOW × IN_FLIGHT), and the next claim treats them by the run's policy.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Collection
from concurrent.futures import TimeoutError as NotYet
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, TypeVar

from django.conf import settings

from campaigns.failpoints import hit
from campaigns.runs.chunk import IN_FLIGHT, WINDOW
from campaigns.runs.claiming import Claim, Opened, TextChanged, claim
from campaigns.runs.details import Detail
from campaigns.runs.ledger import Window
from campaigns.runs.messages import latency
from campaigns.runs.reasons import Cause, Reason
from campaigns.runs.run import Run
from campaigns.sending import breakers, keyless, platform_keys, recovery_probe, settling
from campaigns.sending.in_flight import InFlight, heard_in
from campaigns.sending.judge_answers import unsent
from campaigns.sending.measured import Measured, Unmeasured
from campaigns.sending.unsettled import UnsettledRecipient
from campaigns.sending.worker_database import WorkerDatabase
from campaigns.texts.rendering import Unrenderable
from notifications.dispatch import dispatch
from notifications.gateway import BadCredentials, Outcome, Permit, Push, Verdict
from notifications.pacing import backend_polling, gate
from notifications.pacing.fcm_signals import AnswerCounts
from notifications.postgres.outage import retry_during_outage, try_once
from notifications.requests.log_context import extended_context
from notifications.tracing import tracing

SUSPECTS = 20  # window size for messages whose window was open when a worker died
TRIAL = 100  # window size until FCM accepts one: a wrong key or text must not cost a whole wave
# Well within the lease: a process that is suspended and goes on must find its permit expired.
START_SECONDS = 0.4 * settings.LEASE_SECONDS
BUDGET_SECONDS = 90.0  # then the chunk goes back to the queue, well before Celery's own limit
LOOK_EVERY = 0.5  # checks of the run's state and our lease, so that a pause takes effect in 2 s
MAX_REST = 5.0  # the longest wait at the gate for one chunk; then this worker takes other work
URGENT_REST = 0.5  # the same for single messages: those of other projects wait for this worker
BLOCKED_SECONDS = 30.0  # until messages are tried again whose project FCM refuses
WORTH_WAITING = 5.0  # a gate closed for longer: the worker takes other work meanwhile

T = TypeVar("T")
log = logging.getLogger(__name__)


def send(run_id: int, number: int, epoch: int, *, task_id: str | None = None) -> dict[str, int]:
    """Send one chunk as far as the run allows; return how many recipients it settled, by status."""
    hit("before_claim")
    # A task is delivered once: it must outlast a restart of PostgreSQL.
    granted = retry_during_outage(lambda: claim(run_id, number, epoch, task_id=task_id))
    hit("after_claim")
    return send_claimed(granted) if granted else {}


def send_claimed(granted: Claim) -> dict[str, int]:
    """Send a claimed chunk. Returns how many recipients it settled, by status."""
    at: dict[str, Any] = {
        "project": granted.run.project.slug,
        "run": granted.run.pk,
        "chunk": granted.chunk.number,
    }
    with extended_context(**at), tracing.span("chunk", **at, lane=lane_of(granted)) as span:
        settled = Sending(granted).work()
        span.tell(**settled)
        return settled


def lane_of(granted: Claim) -> str:
    is_urgent = granted.run.kind == Run.Kind.MESSAGES and not granted.chunk.bulk
    return "urgent" if is_urgent else "bulk"


class Sending:
    """One worker's sending of a claimed chunk."""

    def __init__(self, granted: Claim) -> None:
        self.claim = granted
        self.run = granted.run
        self.lane = lane_of(granted)
        self.rows = WorkerDatabase(granted)
        self.settled: Counter[str] = Counter()
        self.permit = Permit(START_SECONDS)
        self.budget_ends = time.monotonic() + BUDGET_SECONDS
        self.looked_at = time.monotonic()
        self.rested = 0.0
        self.refused = Counter[str]()  # by platform, since its last acceptance
        self.gate = gate.Gate(
            self.run.project,
            reference=self.run.reference,
            rate=self.run.own_rate,
            safe=self.claim.safe_rate,
            lane=self.lane,
        )
        measured = Unmeasured if self.run.is_rehearsal else Measured
        self.measured = measured(self.rows.measured_as(), self.lane)
        self.heard = AnswerCounts()
        self.opens_at: datetime | None = None
        self.proven = self.rows.proven()
        self.in_flight: deque[InFlight] = deque()
        self.left: deque[UnsettledRecipient] = deque()

    def work(self) -> dict[str, int]:
        try:
            self.gateway = self.rows.gateway()
        except BadCredentials as error:
            if self.rows.may_leave_to_others(error):
                self._release_chunk_for(keyless.AGAIN_SECONDS)
            else:
                self._pause_without_key(error)
        try:
            if self.claim.chunk.size <= WINDOW or self._gate_is_open():
                self.left.extend(self._move_suspects_last(self.rows.people()))
            while (self.left and not self.permit.withdrawn) or self.in_flight:
                self._send_windows()
                self._settle_oldest()
            self.gate.take(0, self.heard)  # report the last window's answers to the shared gate
            self.rows.part(self.opens_at)
        finally:
            # Fenced, a dead database, a time limit: whatever ended this, nothing more may start.
            self.permit.withdraw()
            for window in self.in_flight:
                if window.outcomes:
                    window.outcomes.cancel()
                window.span.end()
        return dict(self.settled)

    # --- Out -------------------------------------------------------------------------------------

    def _send_windows(self) -> None:
        # Limited by people, not windows: a slow rate gives small windows, and answers may take a
        # second.
        while (
            self.left
            and self._count_waiting() <= self._most_in_flight()
            and not self.permit.withdrawn
        ):
            grant = self._ask_gate(min(self._window_size(), len(self.left)))
            if grant.is_trial:
                self._try_one()
            elif grant.granted:
                self._open(self._next_recipients(grant.granted))
            elif self.in_flight:
                return  # settle meanwhile
            elif grant.wait > WORTH_WAITING:
                self.measured.gate(grant, 0.0)
                self._release_chunk_for(grant.wait)
            else:
                self._wait_for_gate(grant)
            self._renew_when_due()

    def _next_recipients(self, limit: int) -> list[UnsettledRecipient]:
        """The recipients of the next window.

        With frequency caps, a window has at most one message to a person, because it counts all its
        people at once. Further messages go into later windows, which see the first one counted.
        """
        people = [self.left.popleft() for _ in range(limit)]
        if self.claim.caps is None:
            return people
        first = {left.contact_id: left.message for left in reversed(people)}
        later = [left for left in people if left.message != first[left.contact_id]]
        self.left.extendleft(reversed(later))
        return [left for left in people if left.message == first[left.contact_id]]

    def _move_suspects_last(self, people: list[UnsettledRecipient]) -> list[UnsettledRecipient]:
        """Move messages whose worker died while their window was open behind the others.

        One of them may crash workers. A campaign has the same text in every window, so its order
        stays.
        """
        if self.run.kind == Run.Kind.MESSAGES:
            people.sort(key=lambda left: left.in_windows)  # stable
        return people

    def _window_size(self) -> int:
        """The size of the next window.

        Messages whose worker died while their window was open go in small windows, and alone after
        a second death. So one message that crashes workers does not use up the attempts of the
        others.
        """
        window_size = WINDOW if self.proven else TRIAL
        if self.run.kind != Run.Kind.MESSAGES or not self.claim.chunk.lapses or not self.left:
            return window_size
        deaths = self.left[0].in_windows
        window_size = min(window_size, (WINDOW, SUSPECTS, 1)[min(deaths, 2)])
        return sum(left.in_windows == deaths for left in islice(self.left, window_size))

    def _most_in_flight(self) -> int:
        """How many answers may be outstanding when another window opens. None after a worker died:
        then a message that crashes workers takes few others with it."""
        return WINDOW * (IN_FLIGHT - 1) if self.proven and not self.claim.chunk.lapses else 0

    def _count_waiting(self) -> int:
        """How many recipients wait for their answers."""
        return sum(len(flight.by_reference) for flight in self.in_flight)

    def _ask_gate(self, wanted: int) -> gate.Grant:
        """Report the latest answers to the gate, and ask for this many requests."""
        if self._is_too_late():  # no request leaves: they are all skipped
            return gate.Grant(wanted, 0.0, gate.Limit.REST)
        counts, self.heard = self.heard, AnswerCounts()
        return self.gate.take(wanted, counts, idle=not self.in_flight)

    def _is_too_late(self) -> bool:
        now = self.claim.now()
        if not self.left:
            return now >= self.run.deadline
        return not any(left.seconds_left(now) for left in self.left)

    def _try_one(self) -> None:
        """Find out whether FCM works again, with a recipient on whom few requests were spent.

        The gate gets the answer with our next request.
        """
        recipient = recovery_probe.choose_recipient(self.left)
        if self.rows.is_too_dear(recipient):
            self._release_chunk_for(recovery_probe.RARELY.total_seconds())
        else:
            self.left.remove(recipient)
            self._open([recipient])
            self._settle_oldest()

    def _wait_for_gate(self, grant: gate.Grant) -> None:
        """Wait for the gate, but not so long that other work cannot get this worker."""
        seconds = min(grant.wait, LOOK_EVERY)
        time.sleep(seconds)
        self.measured.gate(grant, seconds)
        self.rested += seconds
        if self.rested >= (URGENT_REST if self.lane == "urgent" else MAX_REST):
            self.permit.withdraw()

    def _gate_is_open(self) -> bool:
        """Whether the gate lets requests through soon. If not, the chunk's people need not be
        read."""
        grant = self._ask_gate(0)
        if grant.wait > WORTH_WAITING:
            self.measured.gate(grant, 0.0)
            self._release_chunk_for(grant.wait)
        return not self.permit.withdrawn

    def _release_chunk_for(self, seconds: float) -> None:
        """Stop, and let the chunk come back in this time; at the deadline at the latest: then its
        people are skipped, whatever the gate says."""
        opens_at = self.claim.now() + timedelta(seconds=seconds)
        first = min((left.deadline for left in self.left), default=self.run.deadline)
        self.opens_at = min(opens_at, first)
        self.permit.withdraw()

    def _open(self, people: list[UnsettledRecipient]) -> None:
        """Render, commit the window, send the requests; in this order.

        If a request left before its window was committed, nothing would record it after a crash.
        """
        now = self.claim.now()
        flight = InFlight(None, {left.reader.reference: left for left in people})
        flight.span = tracing.span("window", people=len(people))
        pushes = self._pushes(people, flight, now)
        opened: Opened | None = None
        if pushes or flight.hangs_on_its_text:
            seqs = [flight.by_reference[push.reference].seq for push in pushes]
            try:
                opened = self._prolong_if_wanted(lambda: self.claim.open_window(seqs, now))
            except TextChanged as change:
                flight.span.end()
                self._read_anew(change.revision, people)
                return
            if opened is None:
                flight.span.end()
                return  # paused or cancelled: nothing was written, these people stay waiting
        if opened and pushes:
            flight.window = Window(pk=opened.pk, opened_at=now)
            hit("window_opened")
            if pushes := flight.still_wanted(pushes, opened, self._find_moved(opened)):
                asking = flight.span.child("fcm", "client", requests=len(pushes))
                flight.outcomes = dispatch(self.gateway, pushes, self.permit)
                flight.outcomes.add_done_callback(lambda _: asking.end())
        self.in_flight.append(flight)

    def _find_moved(self, opened: Opened) -> Collection[int]:
        """The recipients whose app registered another address since they were read. Nothing is
        written for them, and the next claim of the chunk sends to the new address."""
        gone_seqs = [seq for seq, (why, _) in opened.out.items() if why == Reason.DEVICE_GONE]
        return self.rows.newer_devices(gone_seqs) if gone_seqs else ()

    def _read_anew(self, revision: int, people: list[UnsettledRecipient]) -> None:
        """Use a changed text for all recipients who are left, and for these, for whom nothing was
        written.

        Requests in flight keep the earlier text. FCM has not accepted the new one yet.
        """
        self.left.extendleft(reversed(people))
        self.run.revision = revision
        its_settings = self.rows.settings()
        for left in self.left:
            left.settings = its_settings[left.group]
        self.proven = self.rows.proven()

    def _pushes(
        self, people: list[UnsettledRecipient], flight: InFlight, now: datetime
    ) -> list[Push]:
        pushes = []
        for left in people:
            try:
                ttl = left.seconds_left(now)
                if left.out:
                    raise Unrenderable(Reason(left.out), left.why)
                if not ttl:
                    raise Unrenderable(Reason.EXPIRED, "")
                if waits := left.waits_until(now):
                    flight.waiting.append((left, *waits))
                else:
                    pushes.append(left.settings.renderer.render(left.reader, ttl_seconds=ttl))
            except Unrenderable as problem:
                flight.finals.append(unsent(left, problem))
        return pushes

    # --- Back ------------------------------------------------------------------------------------

    def _settle_oldest(self) -> None:
        if self.in_flight:
            flight = self.in_flight.popleft()
            with flight.span:
                self._settle(flight)

    def _settle(self, flight: InFlight) -> None:
        """Write the outcomes of a window from its answers.

        An answer that shows that we are at fault settles no recipient: it pauses the run.
        """
        hit("mid_send")
        outcomes = self._wait_for_outcomes(flight)
        hit("before_settle")
        self._learn_from(flight, outcomes)
        held_platforms = self._hold_back(flight, outcomes)
        trip = self.rows.judge_window(flight, outcomes)
        spared = {*held_platforms, *(trip.spared if trip else ())}
        believed = [outcome for outcome in outcomes if outcome.reason not in spared]
        judged = flight.judge(outcomes, self.claim, spared=spared)
        with tracing.span("settle"):
            settled = settling.settle(self.claim, flight.window, judged)
        flight.span.tell(**settled, retries=len(judged.retries))
        self.settled += settled
        self.measured.window(outcomes, judged, settled)
        latency.measure(self.lane, judged.accepted_since(), self.claim.now())
        if trip:
            self._pause(trip.cause, trip.detail)
        if flight.window and breakers.may_retire(self.claim):
            self.rows.retire_dead(flight.window, flight, believed)

    def _learn_from(self, flight: InFlight, outcomes: list[Outcome]) -> None:
        self.heard += heard_in(outcomes)
        accepted = any(outcome.verdict is Verdict.ACCEPTED for outcome in outcomes)
        self.proven = self.proven or (accepted and flight.revision == self.run.revision)
        if accepted and self.run.kind == Run.Kind.MESSAGES and self.run.cause:
            self.rows.unblock()

    def _hold_back(self, flight: InFlight, outcomes: list[Outcome]) -> list[str]:
        """Go on without a platform whose key Firebase lacks; its people keep waiting."""
        refused = platform_keys.refused(flight.by_reference, outcomes, self.refused)
        held_platforms = self.rows.hold_back(refused) if refused else set()
        if not held_platforms:
            return []
        self.left = deque(left for left in self.left if left.reader.platform not in held_platforms)
        return [Reason.PLATFORM_KEY]

    def _wait_for_outcomes(self, flight: InFlight) -> list[Outcome]:
        """Wait for the window's answers, and check the run and renew our lease meanwhile."""
        while flight.outcomes:
            try:
                return flight.outcomes.result(timeout=LOOK_EVERY)
            except NotYet:
                if flight.outcomes.done() and flight.outcomes.exception() is not None:
                    raise  # the gateway's own timeout, not the one of our waiting
                self._renew_when_due()
            except BadCredentials as error:  # raised before the first request left
                self._pause_without_key(error)
                return []
        return []

    # --- Whether to go on ------------------------------------------------------------------------

    def _renew_when_due(self) -> None:
        if time.monotonic() - self.looked_at > LOOK_EVERY:
            self._prolong_if_wanted(lambda: self.claim.renew() or None)

    def _prolong_if_wanted(self, prolong: Callable[[], T | None]) -> T | None:
        """Prolong lease and permit if the run still wants it, else return None. Raises Fenced.

        Without PostgreSQL nothing new may start, but answers in flight are waited for.
        """
        self.looked_at = time.monotonic()  # before we ask: the lease must outlast the permit
        granted = try_once(prolong)
        if granted is None or self.looked_at > self.budget_ends:
            self.permit.withdraw()
        else:
            self.permit.extend(START_SECONDS, since=self.looked_at)
            if self.run.kind == Run.Kind.CAMPAIGN and self.run.project.load_url:
                backend_polling.poll_backend(self.run.project)
            self.gate.rate, self.gate.safe = self.run.own_rate, self.claim.safe_rate
        return granted

    def _pause_without_key(self, error: BadCredentials) -> None:
        self.measured.no_token()
        self._pause(Cause.BAD_CREDENTIALS, str(error))

    def _pause(self, cause: Cause, detail: Detail | str) -> None:
        """Pause the run. A day's messages are not paused: they are tried again until their
        deadlines."""
        if self.run.kind == Run.Kind.MESSAGES:
            if self.rows.block(cause, detail):
                log.error("run=%s no message leaves: %s %s", self.run.pk, cause, detail)
            self._release_chunk_for(BLOCKED_SECONDS)
            return
        self.permit.withdraw()
        self.rows.pause(cause, detail)
