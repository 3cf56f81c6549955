"""Told: what a rehearsal has found so far, in numbers, for its page and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db import connection

from campaigns.planning.course import forecast
from campaigns.results import reports
from campaigns.results.rehearsed import foretold
from campaigns.results.rehearsed.foretold import Foretold
from campaigns.results.rehearsed.interval import Interval, wilson
from campaigns.runs.reasons import DEAD, Reason, in_words
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.run import Run
from campaigns.runs.sums import Totals
from campaigns.runs.variants import group
from campaigns.runs.variants.variant import as_launched, has_variants
from notifications.people import device
from notifications.postgres.budget import TooSlow, within

GROUPING_SECONDS = 2.0
SHOWN_ERRORS = 20
# What is wrong with a message, and not with an address or a person's will.
OF_MESSAGE = (
    Reason.INVALID_MESSAGE,
    Reason.TOO_LONG,
    Reason.REFUSED_MESSAGE,
    Reason.UNREADABLE_MESSAGE,
    Reason.TEMPLATE_ERROR,
    Reason.MISSING_VALUE,
)
# A detail begins with the field that we found at fault; FCM names it inside its sentence.
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
    """So many messages are wrong in this field, for this reason; and what was said of one."""

    reason: str
    field: str
    count: int
    example: str

    @property
    def words(self) -> str:
        return in_words(self.reason)


@dataclass(frozen=True)
class OfVariant:
    """What became of those who were rehearsed with one of the texts."""

    number: int
    counts: Counter[str]  # by status

    @property
    def words(self) -> str:
        return group.in_words(self.number)

    @property
    def asked(self) -> int:
        return self.counts.total()

    @property
    def ends(self) -> list[int]:
        return [self.counts[name] for name in foretold.ENDS]


@dataclass(frozen=True)
class Told:
    """Of one rehearsal, at one moment."""

    rehearsal: Rehearsal
    now: datetime

    @cached_property
    def progress(self) -> reports.Progress:
        return reports.progress(self.rehearsal.run, now=self.now)

    @property
    def totals(self) -> Totals:
        return self.progress.totals

    @property
    def over(self) -> bool:
        """Whether it went to its end. One that was cancelled foretells nothing."""
        return self.rehearsal.run.state == Run.State.FINISHED

    # --- What a launch would come to --------------------------------------------------------------

    @cached_property
    def planned(self) -> Foretold:
        return foretold.planned(self.rehearsal)

    @cached_property
    def ends(self) -> list[Foretold]:
        """Whom a launch leaves out by chance are others, and about as many."""
        left_out = foretold.left_out(self.progress.reasons) / max(1, self.totals.settled)
        chance = left_out * (1 if self.rehearsal.is_sample else 2)  # of the rehearsal's draw, too
        whole = self.rehearsal.stands_for
        return [
            foretold.thinned(one, 1.0, chance, of=whole if one.name == "skipped" else one.count)
            for one in foretold.ends(self.rehearsal, self.totals)
        ]

    # --- Dead addresses ---------------------------------------------------------------------------

    @cached_property
    def dead(self) -> int:
        return sum(self.progress.reasons.get(reason, 0) for reason in DEAD)

    @property
    def dead_share(self) -> Interval:
        """Of all addresses that FCM would be asked for."""
        return wilson(self.dead, self.totals.sent)

    @cached_property
    def retired(self) -> int:
        return device.retired_by(self.rehearsal.run.reference).count()

    # --- What is wrong with messages --------------------------------------------------------------

    @cached_property
    def errors(self) -> list[FieldError] | None:
        """None: there are too many to be sorted by field in time."""
        if self.rehearsal.errors is not None:
            return [FieldError(*one) for one in self.rehearsal.errors]
        if self.rehearsal.run.forgotten_at is not None:
            return None
        with suppress(TooSlow), within(seconds=GROUPING_SECONDS):
            found = _by_field(self.rehearsal.run.pk)
            if self.rehearsal.run.finished_at:
                _keep(self.rehearsal, found)
            return found
        return None

    @cached_property
    def variants(self) -> list[OfVariant]:
        """Empty where there is one text, where the recipients were removed, and where they are too
        many to be counted in time."""
        run = self.rehearsal.run
        if not has_variants(run) or run.planned is None or run.forgotten_at is not None:
            return []
        with suppress(TooSlow), within(seconds=GROUPING_SECONDS):
            return _by_variant(run)
        return []

    # --- Its pace, and what it cost ---------------------------------------------------------------

    @property
    def rate(self) -> float:
        return self.progress.rate_per_second

    @property
    def seconds(self) -> float | None:
        """That it took."""
        run = self.rehearsal.run
        if run.started_at is None or run.finished_at is None:
            return None
        return (run.finished_at - run.started_at).total_seconds()

    @cached_property
    def seconds_for_all(self) -> float | None:
        """A sample is over before the pace has climbed: what all would take, the forecast says."""
        if not self.rehearsal.is_sample:
            return self.seconds
        run, devices = self.rehearsal.run, self.rehearsal.stands_for
        if not devices:
            return None
        return forecast.foretell(run.project, run.rate_per_second, devices).seconds(devices)

    @cached_property
    def requests(self) -> int:
        """That FCM may have counted. The windows go with the recipients; the sums stay."""
        with connection.cursor() as cursor:
            cursor.execute(REQUESTS, [self.rehearsal.run.pk])
            return max(int(cursor.fetchone()[0]), self.totals.sent)

    @property
    def minutes_of_quota(self) -> float:
        return self.requests / self.rehearsal.run.project.quota_per_minute


def _by_field(run_id: int) -> list[FieldError]:
    asked: dict[str, Any] = {"run": run_id, "reasons": [*map(str, OF_MESSAGE)]}
    with connection.cursor() as cursor:
        cursor.execute(BY_FIELD, {**asked, "most": SHOWN_ERRORS})
        return [FieldError(*row) for row in cursor.fetchall()]


def _by_variant(run: Run) -> list[OfVariant]:
    counts: dict[int, Counter[str]] = {number: Counter() for number in as_launched(run)}
    with connection.cursor() as cursor:
        cursor.execute(BY_VARIANT, {"run": run.pk})
        for number, status, count in cursor.fetchall():
            counts[number][status] = count
    return [OfVariant(number, each) for number, each in counts.items()]


def _keep(rehearsal: Rehearsal, found: Iterable[FieldError]) -> None:
    rows = [[one.reason, one.field, one.count, one.example] for one in found]
    Rehearsal.objects.filter(pk=rehearsal.pk).update(errors=rows)
