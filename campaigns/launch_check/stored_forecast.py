"""Kept forecast: when a run's messages leave and are opened, as expected at its start. Charts draw
it under the real result.

It is computed once, when the first messages are already on their way, but as of the run's start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models

from campaigns.audiences.resolving.settling import rules_for_sql
from campaigns.audiences.selection import drawn
from campaigns.forecast.course import FINE_STEPS, Course
from campaigns.forecast.opens import Opens
from campaigns.launch_check.launch_report import LaunchReport
from campaigns.launch_check.warnings import edited_since
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run

# After the start. Later, the audience has other people than it had then.
AT_LATEST = timedelta(minutes=5)


class Foreseen(models.Model):
    """The forecast of one run. Empty until computed, and for good if counting took too long."""

    run = models.OneToOneField(
        Run, primary_key=True, on_delete=models.CASCADE, related_name="foreseen"
    )
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True)  # when the last message leaves
    sent = models.PositiveIntegerField(default=0)
    skipped = models.JSONField(default=dict)  # how many are too late, by reason
    step_seconds = models.PositiveIntegerField(default=1)
    # Messages in each step from the start on.
    counts = ArrayField(models.PositiveIntegerField(), default=list)
    exact = models.BooleanField(default=False)
    # The fields of `opens.Opens`; None: nobody knew how many people open a message.
    opens = models.JSONField(null=True)

    def __str__(self) -> str:
        return f"{self.sent} messages of run {self.run_id}"

    @property
    def course(self) -> Course:
        return Course(
            starts_at=self.starts_at,
            ends_at=self.ends_at,
            sent=self.sent,
            skipped=self.skipped,
            step=self.step_seconds,
            counts=self.counts,
            exact=self.exact,
        )


def load_course(run: Run) -> Course | None:
    foreseen = _find_foreseen(run)
    return foreseen.course if foreseen else None


def opens_of(run: Run) -> Opens | None:
    foreseen = _find_foreseen(run)
    return Opens(**foreseen.opens) if foreseen and foreseen.opens else None


def _find_foreseen(run: Run) -> Foreseen | None:
    return Foreseen.objects.filter(run=run.pk).exclude(counts=[]).first()


def keep(run_id: int, now: datetime) -> None:
    """Compute and keep the forecast of a run that has just begun, only once.

    If the process dies here: it stays empty; nothing waits for it.
    """
    run = (
        _just_begun(now)
        .select_related("campaign__project", "campaign__audience", "campaign__template")
        .filter(pk=run_id)
        .first()
    )
    if run is None or run.started_at is None or run.campaign is None:
        return
    foreseen, is_mine = Foreseen.objects.get_or_create(
        run=run, defaults={"starts_at": run.started_at}
    )
    if not is_mine or _edited_since(run, run.campaign):
        return
    report = LaunchReport(run.campaign, run.started_at, begun=run)
    course = report.course_in(FINE_STEPS)
    if course is None:
        return
    opens = report.opens_of(course)
    foreseen.opens = asdict(opens) if opens else None
    foreseen.starts_at, foreseen.ends_at = course.starts_at, course.ends_at
    foreseen.sent, foreseen.skipped, foreseen.exact = course.sent, course.skipped, course.exact
    foreseen.step_seconds, foreseen.counts = course.step, course.counts
    foreseen.save()


def _edited_since(run: Run, campaign: Campaign) -> bool:
    def rules() -> Any:
        return drawn(
            run.project_id, rules_for_sql(run.project_id, campaign.audience.frozen_rules())
        )

    return edited_since(run, campaign, rules)


def _just_begun(now: datetime) -> models.QuerySet[Run]:
    begun = Run.objects.filter(started_at__gt=now - AT_LATEST, foreseen=None)
    return begun.exclude(state=Run.State.CANCELLED)


def in_steps(counts: Sequence[int], step: int, to: int) -> list[float]:
    """Regroup the counts into steps of another length. A count that spans two steps is divided in
    proportion to its time."""
    slots = [0.0] * -(-len(counts) * step // to)
    for number, count in enumerate(counts):
        begin, end = number * step, (number + 1) * step
        while begin < end:
            until = min(end, (begin // to + 1) * to)
            slots[begin // to] += count * (until - begin) / step
            begin = until
    return slots
