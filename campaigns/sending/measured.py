"""Measured: metrics of sending by project and lane, updated once for each window.

They cost half a microsecond for each message. If the process dies before a window is settled: its
requests are in none of these metrics; the rows say what became of its people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from campaigns.runs.ledger import Delivery
from campaigns.runs.reasons import OWN_TIMES, Reason
from campaigns.sending.judge_answers import Judged
from notifications.gateway import Outcome, Verdict
from notifications.measures.by_project import PROJECTS
from notifications.measures.measure import Count, Histogram
from notifications.pacing.gate import Grant, Limit

OURS: dict[str, Iterable[str]] = {"project": PROJECTS, "lane": ("urgent", "bulk")}
RETRIED = (
    *(Reason.UNREACHABLE, Reason.THROTTLED, Reason.DEVICE_THROTTLED, Reason.UNKNOWN_ANSWER),
    *(Reason.UNAVAILABLE, Reason.SERVER_ERROR, Reason.UNANSWERED, *OWN_TIMES),
)
REQUESTS = Count(
    "carillon_fcm_requests_total",
    "Requests to FCM by what their answer means; those that are unsent never left.",
    {**OURS, "verdict": Verdict},
)
ANSWERED = Histogram(
    "carillon_fcm_seconds",
    "From the request to FCM's answer.",
    tuple(OURS),
    (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
RECIPIENTS = Count(
    "carillon_recipients_total",
    "Recipients that workers settled, by status.",
    {**OURS, "status": Delivery.Status.values},
)
RETRIES = Count(
    "carillon_retries_total",
    "Recipients who are to be tried again, by why.",
    {**OURS, "reason": [str(reason) for reason in RETRIED]},
)
WAITS = Count(
    "carillon_gate_waits_total",
    "Times that the gate let nobody through, by what limits.",
    {**OURS, "limit": Limit},
)
WAITED = Count(
    "carillon_gate_wait_seconds_total",
    "Seconds for which workers then waited, by what limits.",
    {**OURS, "limit": Limit},
)


@dataclass(frozen=True)
class Measured:
    """Updates the metrics of sending for one claim."""

    project: str
    lane: str

    def window(self, outcomes: list[Outcome], judged: Judged, settled: Mapping[str, int]) -> None:
        REQUESTS.add_each(Counter(outcome.verdict for outcome in outcomes), *self._labels)
        ANSWERED.add_all(
            (outcome.seconds for outcome in outcomes if outcome.seconds is not None), *self._labels
        )
        RECIPIENTS.add_each(settled, *self._labels)
        RETRIES.add_each(Counter(str(retry.reason) for retry in judged.retries), *self._labels)

    def no_token(self) -> None:
        """Count a key that gets no access token, so that no request could leave. It counts like a
        401."""
        REQUESTS.add(1, *self._labels, Verdict.UNAUTHORISED)

    def gate(self, grant: Grant, waited: float) -> None:
        """Count that the gate let nobody through, and how long this worker waited; 0 if it left."""
        WAITS.add(1, *self._labels, grant.limit)
        WAITED.add(waited, *self._labels, grant.limit)

    @property
    def _labels(self) -> tuple[str, str]:
        return self.project, self.lane


class Unmeasured(Measured):
    """Updates no metrics: for a rehearsal, which sends nothing."""

    def window(self, outcomes: list[Outcome], judged: Judged, settled: Mapping[str, int]) -> None:
        pass

    def no_token(self) -> None:
        pass

    def gate(self, grant: Grant, waited: float) -> None:
        pass
