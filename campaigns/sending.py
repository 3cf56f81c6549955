"""One chunk from claim to hand-back: claim → window → render → gateway → settle.

While one window is in flight the one before is committed and the next one rendered, so the sockets
never idle at a window's end. Database and rendering here, in the task's thread; requests in the
loop's. If the process dies: windows left open name whose outcome is ambiguous (at most WINDOW ×
IN_FLIGHT people), and the next claim treats them by the run's policy.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from dataclasses import dataclass, field

from django.utils import timezone

from campaigns import settling
from campaigns.chunk import Claim, claim
from campaigns.ledger import Window
from campaigns.reasons import Cause, Reason
from campaigns.rendering import Unrenderable, render
from campaigns.run import Run
from campaigns.settling import Final, Left, left_to_send
from notifications import pacing
from notifications.dispatch import dispatch, gateway_of
from notifications.gateway import BadCredentials, Message, Outcome, Permit, Verdict

WINDOW = 200
IN_FLIGHT = 3
# Lease 30 s, less the longest request (15 s) and a margin: nothing starts that could end after it.
START_SECONDS = 12.0
BUDGET_SECONDS = 90.0  # then the chunk goes back to the queue, well before Celery's own limit
LOOK_EVERY = 0.5  # at the run's state and our lease, so that a pause bites within 2 s


@dataclass
class InFlight:
    """A window whose requests have left, or that only holds people to skip."""

    window: Window | None
    readers: dict[str, Left]
    finals: list[Final] = field(default_factory=list)
    outcomes: Future[list[Outcome]] | None = None


def send(run_id: int, number: int, epoch: int, *, task_id: str | None = None) -> dict[str, int]:
    """Send one chunk as far as it may go; return what this call settled, by status."""
    granted = claim(run_id, number, epoch, task_id=task_id)
    return Sending(granted).work() if granted else {}


class Sending:
    """A claim at work."""

    def __init__(self, granted: Claim) -> None:
        self.claim = granted
        self.run = granted.run
        self.settled: Counter[str] = Counter()
        self.permit = Permit(START_SECONDS)
        self.budget_ends = time.monotonic() + BUDGET_SECONDS
        self.looked_at = time.monotonic()
        self.limits = pacing.limits_of(
            self.run.project, reference=f"run:{self.run.pk}", rate=self.run.rate_per_second
        )
        self.in_flight: deque[InFlight] = deque()
        self.left: deque[Left] = deque()

    def work(self) -> dict[str, int]:
        try:
            self.gateway = gateway_of(self.run.project)
        except BadCredentials as error:
            self._trouble(Cause.BAD_CREDENTIALS, str(error))
        try:
            self.left.extend(left_to_send(self.claim))
            while (self.left and not self.permit.withdrawn) or self.in_flight:
                self._fill()
                self._settle_oldest()
            self.claim.hand_back()
        finally:
            # Fenced, a dead database, a time limit: whatever ended us, nothing more may start.
            self.permit.withdraw()
            for window in self.in_flight:
                if window.outcomes:
                    window.outcomes.cancel()
        return dict(self.settled)

    # --- Out -------------------------------------------------------------------------------------

    def _fill(self) -> None:
        while self.left and len(self.in_flight) < IN_FLIGHT and not self.permit.withdrawn:
            granted, wait = pacing.take(min(WINDOW, len(self.left)), self.limits)
            if granted:
                self._open([self.left.popleft() for _ in range(granted)])
            elif self.in_flight:
                return  # settle meanwhile
            else:
                time.sleep(min(wait, LOOK_EVERY))
            self._look()

    def _open(self, readers: list[Left]) -> None:
        """Render, write the intent, let the requests go. In this order: F3 depends on it."""
        now = timezone.now()
        flight = InFlight(None, {left.reader.reference: left for left in readers})
        messages = self._messages(readers, flight, self.run.seconds_left(now))
        if messages:
            seqs = [flight.readers[message.reference].seq for message in messages]
            if not self._renew():
                return  # paused or cancelled: nothing was written, these people stay waiting
            flight.window = Window.objects.create(
                run=self.run, chunk=self.claim.chunk, attempt=self.claim.chunk.attempt,
                seqs=seqs, opened_at=now,
            )  # fmt: skip
            flight.outcomes = dispatch(self.gateway, messages, self.permit)
        self.in_flight.append(flight)

    def _messages(self, readers: list[Left], flight: InFlight, ttl: int) -> list[Message]:
        messages = []
        for left in readers:
            try:
                if left.gone:
                    raise Unrenderable(Reason.DEVICE_GONE, "")
                if not ttl:
                    raise Unrenderable(Reason.EXPIRED, "")
                messages.append(
                    render(
                        self.run.content,
                        left.reader,
                        collapse_id=self.run.collapse_id,
                        ttl_seconds=ttl,
                    )
                )
            except Unrenderable as skip:
                flight.finals.append(settling.skipped(left, skip.reason, str(skip)))
        return messages

    # --- Back ------------------------------------------------------------------------------------

    def _settle_oldest(self) -> None:
        if not self.in_flight:
            return
        flight = self.in_flight.popleft()
        outcomes = self._outcomes(flight)
        self.settled += settling.settle(
            self.claim, flight.window, flight.readers, outcomes, flight.finals
        )
        refused = next((o for o in outcomes if o.verdict is Verdict.UNAUTHORISED), None)
        if refused:
            no_key = refused.reason == "bad_credentials"
            self._trouble(Cause.BAD_CREDENTIALS if no_key else Cause.UNAUTHORISED, refused.detail)

    def _outcomes(self, flight: InFlight) -> list[Outcome]:
        """Wait for the window's answers, looking at the run and our lease meanwhile."""
        while flight.outcomes:
            try:
                return flight.outcomes.result(timeout=LOOK_EVERY)
            except NotYet:
                if flight.outcomes.done():
                    raise  # the gateway's own, not our waiting
                self._look()
            except BadCredentials as error:  # raised before the first request left
                self._trouble(Cause.BAD_CREDENTIALS, str(error))
                return []
        return []

    # --- Whether to go on ------------------------------------------------------------------------

    def _look(self) -> None:
        if time.monotonic() - self.looked_at > LOOK_EVERY:
            self._renew()

    def _renew(self) -> bool:
        """Prolong lease and permit if the run still wants it. Raises Fenced."""
        self.looked_at = time.monotonic()  # before we ask: the lease must outlast the permit
        if self.claim.renew() and time.monotonic() < self.budget_ends:
            self.permit.extend(START_SECONDS, since=self.looked_at)
        else:
            self.permit.withdraw()
        return not self.permit.withdrawn

    def _trouble(self, cause: Cause, detail: str) -> None:
        """Pause the run for a person. Somebody else may have paused it first; that is as good."""
        self.permit.withdraw()
        with suppress(Run.DoesNotExist, Run.InvalidMove):
            # Of our epoch only: a late answer must not pause what was mended and resumed since.
            Run.objects.get(pk=self.run.pk, epoch=self.run.epoch).pause(cause, detail)
