"""Comparison: a run beside the last rehearsal before it."""

from __future__ import annotations

from dataclasses import dataclass

from campaigns.audiences.bounds import AS_KEPT
from campaigns.audiences.words import sentence
from campaigns.rehearsals.projection import (
    Projection,
    count_left_out,
    project_outcomes,
    project_planned,
    scale,
)
from campaigns.results.reports import reasons_of
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.run import Run
from campaigns.runs.sums import totals_of
from campaigns.runs.variants.variant import as_launched
from notifications.people import device


@dataclass(frozen=True)
class Line:
    """One number: what the rehearsal projected, and what the run came to."""

    projection: Projection
    real: int

    @property
    def holds(self) -> bool:
        return self.projection.contains(self.real)


@dataclass(frozen=True)
class Comparison:
    """A run, and whether it ended as rehearsed."""

    rehearsal: Rehearsal
    run: Run
    lines: list[Line]
    retired: int  # devices the rehearsal retired, which the run did not include
    left_out: int  # devices the run left out at random; only the line “planned” counts them
    same_text: bool
    same_rules: bool

    @property
    def has_ended(self) -> bool:
        """While a run goes on, and if it was cancelled, its numbers say nothing."""
        return self.run.state == Run.State.FINISHED

    @property
    def holds(self) -> bool:
        return all(line.holds for line in self.lines)


def find_rehearsal(run: Run) -> Rehearsal | None:
    """The last rehearsal of its campaign that finished before this run started."""
    started_at = run.started_at or run.launched_at
    finished = Run.rehearsals.filter(campaign=run.campaign_id, state=Run.State.FINISHED)
    last = finished.filter(finished_at__lte=started_at).order_by("-pk").values("pk")[:1]
    return Rehearsal.objects.select_related("run__project").filter(run__in=last).first()


def compare_run(run: Run) -> Comparison | None:
    """Compare a run with the rehearsal before it. None: there was no rehearsal."""
    if run.planned is None or (rehearsal := find_rehearsal(run)) is None:
        return None
    retired = device.retired_by(rehearsal.run.reference).count()
    totals, rehearsed = totals_of(run), totals_of(rehearsal.run)
    left_out = count_left_out(reasons_of(run))
    left_out_before = count_left_out(reasons_of(rehearsal.run))
    outcomes = project_outcomes(rehearsal, rehearsed, retired=retired, left_out=left_out_before)
    if left_out or left_out_before:
        now = left_out / max(1, totals.planned)
        before = left_out_before / max(1, rehearsed.planned)
        share = (1 - now) / max(0.01, 1 - before)
        outcomes = [scale(one, share, now + before) for one in outcomes]
    real = {**totals.as_dict(), "skipped": totals.skipped - left_out}
    return Comparison(
        rehearsal=rehearsal,
        run=run,
        lines=[
            Line(one, real[one.name])
            for one in (project_planned(rehearsal, retired=retired), *outcomes)
        ],
        retired=retired,
        left_out=left_out,
        same_text=as_launched(run) == as_launched(rehearsal.run),
        same_rules=run.rules == rehearsal.run.rules
        or _rules_in_words(run) == _rules_in_words(rehearsal.run),
    )


def _rules_in_words(run: Run) -> str:
    """Without what was looked up when the run started."""
    return sentence(run.rules, project_id=run.project_id, bounds=AS_KEPT)


def compare_rehearsal(rehearsal: Rehearsal) -> Comparison | None:
    """Compare a rehearsal with the first run after it. None: no run yet, or another rehearsal came
    between them."""
    if rehearsal.run.finished_at is None:
        return None
    later = Run.objects.filter(
        campaign=rehearsal.run.campaign_id, started_at__gte=rehearsal.run.finished_at
    )
    run = later.select_related("project", "campaign").order_by("pk").first()
    found = compare_run(run) if run else None
    return found if found and found.rehearsal.pk == rehearsal.pk else None
