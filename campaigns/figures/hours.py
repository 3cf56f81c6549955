"""Hours: sent and planned messages per hour against a Firebase project's quota.

The planner, the calendar and the API share this computation. Sent messages come from levels that
beat's other tick writes, so an hour's number may be ten minutes late.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from campaigns.figures import sent
from campaigns.forecast.other_runs.firebase_projects import Firebase
from campaigns.forecast.other_runs.planned_runs import Planned
from campaigns.forecast.other_runs.shared_gate import QUARTER
from notifications.people.figures import DATED_KEPT

HOUR = timedelta(hours=1)
KNOWN = DATED_KEPT


@dataclass(frozen=True)
class Hour:
    begins: datetime
    sent: int
    planned: int
    allows: int

    @property
    def used(self) -> int:
        return self.sent + self.planned

    @property
    def share(self) -> float:
        """The used share of the quota, 0 to 1; more if the quota was changed since."""
        return self.used / self.allows if self.allows else 0.0


@dataclass(frozen=True)
class Hours:
    hours: list[Hour]
    as_of: datetime  # the sent messages are known up to this time


def hours_of(
    there: Firebase, found: Iterable[Planned], begins: Sequence[datetime], now: datetime
) -> Hours:
    """Sent and planned messages in these hours, the earliest first. Sent ones are kept for `KNOWN`;
    older hours show 0."""
    sent_counts, as_of = _sent_by_hour(
        there, [at for at in begins if now - KNOWN <= at <= now], now
    )
    planned = _planned_by_quarter(found)
    allows = round(there.rate * HOUR.total_seconds())
    quarters = [n * QUARTER for n in range(HOUR // QUARTER)]
    hours = [
        Hour(at, sent_counts.get(at, 0), sum(planned[at + later] for later in quarters), allows)
        for at in begins
    ]
    return Hours(hours, as_of)


def of_day(midnight: datetime, until: datetime) -> list[datetime]:
    """The beginnings of a day's hours: 24, or one more or less if the clocks change."""
    first, last = midnight.astimezone(UTC), until.astimezone(UTC)
    return [first + n * HOUR for n in range((last - first) // HOUR)]


def _sent_by_hour(
    firebase: Firebase, hours: list[datetime], now: datetime
) -> tuple[dict[datetime, int], datetime]:
    if not hours:
        return {}, now
    counts, as_of = dict.fromkeys(hours, 0), now
    for project in firebase.projects:
        stand = sent.stand_of(project, now)
        as_of = min(as_of, stand.at or now)
        # The last hour goes on until now, or ends an hour later.
        moments = [*hours, hours[-1] + HOUR] if hours[-1] + HOUR <= now else hours
        stretches = sent.stretches(project, stand, moments)
        for at, stretch in zip(hours, stretches, strict=False):
            counts[at] += sum(stretch.values())
    return counts, as_of


def _planned_by_quarter(planned_runs: Iterable[Planned]) -> Counter[datetime]:
    counts: Counter[datetime] = Counter()
    for run in planned_runs:
        counts.update(run.goes.quarters if run.goes else {})
    return counts
