"""Reports: totals, reasons, rate and estimated finish of a run. They only read rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Count, F, Max, Min, Q, Sum
from django.utils import timezone

from campaigns.canary.first_part import FirstPart, held
from campaigns.forecast.rate_forecast import forecast_rate
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Window
from campaigns.runs.reasons import OWN_TIMES, Reason, in_words
from campaigns.runs.run import LEAVING, Run
from campaigns.runs.sums import STATUSES, Totals, average_rate, totals_of
from campaigns.runs.variants.group import gets_a_text

RATE_OVER = timedelta(seconds=5)
REASONS = """
SELECT reason, sum(count::int)::int
FROM campaigns_chunk, jsonb_each_text(reasons) AS each (reason, count)
WHERE run_id = %s GROUP BY reason ORDER BY 2 DESC, 1
"""


@dataclass(frozen=True)
class Retrying:
    """Recipients that wait for another try."""

    count: int
    next_at: datetime | None


@dataclass(frozen=True)
class Sleeping:
    """Recipients that wait for a time of their own, such as the end of their quiet hours."""

    count: int
    next_at: datetime | None
    last_at: datetime | None


@dataclass(frozen=True)
class Progress:
    """Everything that the live page and the API say of a run, read at one moment."""

    totals: Totals
    reasons: dict[str, int]
    chunks: dict[str, int]
    retrying: Retrying
    sleeping: Sleeping
    rate_per_second: float
    eta_at: datetime | None


def sent_too_often(run: Run) -> int:
    """Count an ended run's requests to phones that another request may have reached.

    Each of these rows is marked.
    """
    sums = run.chunks.aggregate(copies=Sum("copies"), once=Sum(F("accepted") + F("unknown")))
    return max(0, (sums["copies"] or 0) - (sums["once"] or 0))


def progress(run: Run, *, now: datetime | None = None) -> Progress:
    now = now or timezone.now()
    totals = totals_of(run)
    rate = _rate(run, totals, now)
    waiting = retrying, sleeping = _waiting_for_a_time(run)
    return Progress(
        totals=totals,
        reasons=reasons_of(run),
        chunks=dict(run.chunks.values_list("state").annotate(Count("pk")).order_by()),
        retrying=retrying,
        sleeping=sleeping,
        rate_per_second=rate,
        eta_at=_eta(run, totals, rate, now, waiting),
    )


def recount(run: Run) -> Totals:
    """The totals, counted from the deliveries themselves: slow on a big run, never different."""
    counts = dict.fromkeys(STATUSES, 0)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT status, count(*) FROM campaigns_delivery WHERE run_id = %s GROUP BY status",
            [run.pk],
        )
        counts |= dict(cursor.fetchall())
    return Totals(run.planned or 0, **counts)


def reasons_of(run: Run) -> dict[str, int]:
    """How many recipients have each reason code, the most frequent first."""
    with connection.cursor() as cursor:
        cursor.execute(REASONS, [run.pk])
        return dict(cursor.fetchall())


def held_back(run: Run) -> int:
    """Count the recipients that get nothing on purpose: control group and holdout."""
    devices: dict[str, int] = run.split.get("devices", {})
    return sum(count for number, count in devices.items() if not gets_a_text(int(number)))


def held_back_and_waiting(run: Run) -> int:
    """Count the recipients of the control group and the holdout without an outcome yet."""
    skipped = reasons_of(run)
    settled = sum(skipped.get(reason, 0) for reason in (Reason.CONTROL, Reason.HOLDOUT))
    return max(0, held_back(run) - settled)


def in_plain_words(reasons: dict[str, int]) -> list[tuple[str, int]]:
    return [(in_words(code), count) for code, count in reasons.items()]


def waves_of(run: Run) -> list[dict[str, Any]]:
    """Each wave with the state of its chunks now; a chunk queued again counts in its last wave."""
    closed = Count("pk", filter=Q(state=Chunk.State.CLOSED))
    stand = {
        row["wave"]: row
        for row in run.chunks.values("wave").annotate(
            closed=closed, **{name: Sum(name) for name in STATUSES}
        )
    }
    return [{"wave": wave, "now": stand.get(wave.number)} for wave in run.waves.order_by("-number")]


def _waiting_for_a_time(run: Run) -> tuple[Retrying, Sleeping]:
    asleep = Q(reason__in=OWN_TIMES)
    counts = run.retries.aggregate(
        retrying=Count("pk", filter=~asleep),
        retried_at=Min("not_before", filter=~asleep),
        asleep=Count("pk", filter=asleep),
        first_at=Min("not_before", filter=asleep),
        last_at=Max("not_before", filter=asleep),
    )
    sleeping = Sleeping(counts["asleep"], counts["first_at"], counts["last_at"])
    return Retrying(counts["retrying"], counts["retried_at"]), sleeping


def _rate(run: Run, totals: Totals, now: datetime) -> float:
    """The rate over the last seconds while sending, and over the whole run once it has ended."""
    if run.started_at is None:
        return 0.0
    if run.finished_at:
        return average_rate(totals.sent, run.started_at, run.finished_at)
    if run.state not in LEAVING:
        return 0.0
    recent = Window.objects.filter(run=run, settled_at__gt=now - RATE_OVER)
    answered = sum(len(seqs) for seqs in recent.values_list("seqs", flat=True))
    return (
        answered / min(RATE_OVER, max(now - run.started_at, timedelta(seconds=0.5))).total_seconds()
    )


def _eta(
    run: Run, totals: Totals, rate: float, now: datetime, waiting: tuple[Retrying, Sleeping]
) -> datetime | None:
    if run.state == Run.State.SENDING and (part := held(run)):
        return _eta_of_rest(run, part, totals, rate, now)
    if run.state not in LEAVING:
        return None
    retrying, sleeping = waiting
    awake = totals.waiting - sleeping.count
    if not rate and awake:
        return None
    eta = now + timedelta(seconds=awake / rate if rate else 0)
    return max(at for at in (eta, retrying.next_at, sleeping.last_at) if at)


def _eta_of_rest(
    run: Run, part: FirstPart, totals: Totals, rate: float, now: datetime
) -> datetime | None:
    """The estimated finish while the rest waits for the first part.

    It includes that whole wait, and takes the rate that the launch predicted.
    """
    judges_at = part.judges_at
    if judges_at is None and rate:
        sent_at = now + timedelta(seconds=max(0, part.devices - totals.settled) / rate)
        judges_at = sent_at + timedelta(seconds=run.first_wait_seconds)
    if judges_at is None:
        return None
    rest_devices = totals.planned - part.devices
    seconds = forecast_rate(run.project, run.own_rate, rest_devices).seconds(rest_devices)
    return max(judges_at, now) + timedelta(seconds=seconds)
