"""The report of a rehearsal so far, in numbers, for its page and for the API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db import connection

from campaigns.forecast import rate_forecast
from campaigns.rehearsals.projection import (
    OUTCOMES,
    Interval,
    Projection,
    count_left_out,
    project_outcomes,
    project_planned,
    scale,
    wilson,
)
from campaigns.results import reports
from campaigns.runs.reasons import DEAD, Reason, in_words
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.run import Run
from campaigns.runs.sums import Totals
from campaigns.runs.variants import group
from campaigns.runs.variants.variant import as_launched, has_variants
from notifications.people import device
from notifications.postgres.budget import TooSlow, statement_timeout

GROUPING_SECONDS = 2.0
SHOWN_ERRORS = 20
# Faults of the message; not of an address, and no choice of the person's.
MESSAGE_FAULTS = (
    Reason.INVALID_MESSAGE,
    Reason.TOO_LONG,
    Reason.REFUSED_MESSAGE,
    Reason.UNREADABLE_MESSAGE,
    Reason.TEMPLATE_ERROR,
    Reason.MISSING_VALUE,
)
# We write the faulty field at the start of a detail; FCM names it inside its sentence.
BY_FIELD = r"""
SELECT reason, COALESCE(
        substring(detail FROM '^([A-Za-z_][A-Za-z0-9_.\[\]-]*): '),
        substring(detail FROM '''([A-Za-z_][A-Za-z0-9_.\[\]-]*)'''), ''
    ) AS field, count(*), min(detail)
FROM campaigns_delivery
WHERE run_id = %(run)s AND status IN ('rejected', 'skipped') AND reason = ANY(%(reasons)s)
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT %(most)s
"""
BY_VARIANT = """
SELECT r.variant, d.status, count(*) FROM campaigns_delivery d
JOIN campaigns_recipient r ON r.run_id = %(run)s AND r.seq = d.seq
WHERE d.run_id = %(run)s AND r.variant >= 0 GROUP BY 1, 2
"""
REQUESTS = "SELECT COALESCE(sum(cardinality(seqs)), 0) FROM campaigns_window WHERE run_id = %s"


@dataclass(frozen=True)
class FieldError:
    """Messages with the same fault in the same field, with the detail of one of them."""

    reason: str
    field: str
    count: int
    example: str

    @property
    def words(self) -> str:
        return in_words(self.reason)


@dataclass(frozen=True)
class VariantOutcomes:
    """The outcomes of the devices that were rehearsed with one variant."""

    number: int
    counts: Counter[str]  # by status

    @property
    def words(self) -> str:
        return group.in_words(self.number)

    @property
    def devices(self) -> int:
        return self.counts.total()

    @property
    def by_outcome(self) -> list[int]:
        return [self.counts[name] for name in OUTCOMES]


@dataclass(frozen=True)
class RehearsalReport:
    """The report of one rehearsal at one moment."""

    rehearsal: Rehearsal
    now: datetime

    @cached_property
    def progress(self) -> reports.Progress:
        return reports.progress(self.rehearsal.run, now=self.now)

    @property
    def totals(self) -> Totals:
        return self.progress.totals

    @property
    def has_finished(self) -> bool:
        """A cancelled rehearsal projects nothing."""
        return self.rehearsal.run.state == Run.State.FINISHED

    # --- The outcomes of a launch -----------------------------------------------------------------

    @cached_property
    def planned(self) -> Projection:
        return project_planned(self.rehearsal)

    @cached_property
    def outcomes(self) -> list[Projection]:
        """A launch leaves out other people at random, but about as many."""
        share = count_left_out(self.progress.reasons) / max(1, self.totals.settled)
        draws = 1 if self.rehearsal.is_sample else 2  # the launch's, and the rehearsal's own
        total = self.rehearsal.stands_for
        return [
            scale(one, 1.0, share * draws, total=total if one.name == "skipped" else one.count)
            for one in project_outcomes(self.rehearsal, self.totals)
        ]

    # --- Dead addresses ---------------------------------------------------------------------------

    @cached_property
    def dead(self) -> int:
        return sum(self.progress.reasons.get(reason, 0) for reason in DEAD)

    @property
    def dead_share(self) -> Interval:
        """The share among all addresses that a launch would send to."""
        return wilson(self.dead, self.totals.sent)

    @cached_property
    def retired(self) -> int:
        return device.retired_by(self.rehearsal.run.reference).count()

    # --- Faulty messages --------------------------------------------------------------------------

    @cached_property
    def errors(self) -> list[FieldError] | None:
        """None: there are too many to group them in time, or the recipients were removed."""
        if self.rehearsal.errors is not None:
            return [FieldError(*one) for one in self.rehearsal.errors]
        if self.rehearsal.run.forgotten_at is not None:
            return None
        with suppress(TooSlow), statement_timeout(seconds=GROUPING_SECONDS):
            found = _errors_by_field(self.rehearsal.run.pk)
            if self.rehearsal.run.finished_at:
                _store_errors(self.rehearsal, found)
            return found
        return None

    @cached_property
    def variants(self) -> list[VariantOutcomes]:
        """Empty if there is one text, if the recipients were removed, or if they are too many to
        count in time."""
        run = self.rehearsal.run
        if not has_variants(run) or run.planned is None or run.forgotten_at is not None:
            return []
        with suppress(TooSlow), statement_timeout(seconds=GROUPING_SECONDS):
            return _outcomes_by_variant(run)
        return []

    # --- Throughput and cost ----------------------------------------------------------------------

    @property
    def rate(self) -> float:
        return self.progress.rate_per_second

    @property
    def seconds(self) -> float | None:
        """How long it took."""
        run = self.rehearsal.run
        if run.started_at is None or run.finished_at is None:
            return None
        return (run.finished_at - run.started_at).total_seconds()

    @cached_property
    def seconds_for_all(self) -> float | None:
        """How long all devices would take. After a sample the forecast says it: a sample ends
        before the send rate has climbed."""
        if not self.rehearsal.is_sample:
            return self.seconds
        run, devices = self.rehearsal.run, self.rehearsal.stands_for
        if not devices:
            return None
        return rate_forecast.forecast_rate(run.project, run.rate_per_second, devices).seconds(
            devices
        )

    @cached_property
    def requests(self) -> int:
        """The requests that FCM may have counted. Windows are removed with the recipients; the
        totals stay."""
        with connection.cursor() as cursor:
            cursor.execute(REQUESTS, [self.rehearsal.run.pk])
            return max(int(cursor.fetchone()[0]), self.totals.sent)

    @property
    def minutes_of_quota(self) -> float:
        return self.requests / self.rehearsal.run.project.quota_per_minute


def _errors_by_field(run_id: int) -> list[FieldError]:
    values: dict[str, Any] = {
        "run": run_id,
        "reasons": [*map(str, MESSAGE_FAULTS)],
        "most": SHOWN_ERRORS,
    }
    with connection.cursor() as cursor:
        cursor.execute(BY_FIELD, values)
        return [FieldError(*row) for row in cursor.fetchall()]


def _outcomes_by_variant(run: Run) -> list[VariantOutcomes]:
    counts: dict[int, Counter[str]] = {number: Counter() for number in as_launched(run)}
    with connection.cursor() as cursor:
        cursor.execute(BY_VARIANT, {"run": run.pk})
        for number, status, count in cursor.fetchall():
            counts[number][status] = count
    return [VariantOutcomes(number, each) for number, each in counts.items()]


def _store_errors(rehearsal: Rehearsal, errors: Iterable[FieldError]) -> None:
    rows = [[one.reason, one.field, one.count, one.example] for one in errors]
    Rehearsal.objects.filter(pk=rehearsal.pk).update(errors=rows)
