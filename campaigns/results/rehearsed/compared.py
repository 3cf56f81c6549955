"""Compared: did it come as the rehearsal had said?"""

from __future__ import annotations

from dataclasses import dataclass

from campaigns.audiences.bounds import AS_KEPT
from campaigns.audiences.words import sentence
from campaigns.results.rehearsed import foretold
from campaigns.results.rehearsed.foretold import Foretold
from campaigns.results.reports import reasons_of
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.run import Run
from campaigns.runs.sums import totals_of
from campaigns.runs.variants.variant import as_launched
from notifications.people import device


@dataclass(frozen=True)
class Line:
    """What was foretold of one number, and what came."""

    foretold: Foretold
    real: int

    @property
    def holds(self) -> bool:
        return self.foretold.holds(self.real)


@dataclass(frozen=True)
class Compared:
    """A real run beside the last rehearsal before it."""

    rehearsal: Rehearsal
    run: Run
    lines: list[Line]
    retired: int  # by the rehearsal: a launch does not meet them any more
    left_out: int  # by the run, for comparison: they are in no line but the first
    same_text: bool
    same_rules: bool

    @property
    def has_ended(self) -> bool:
        """Before the end, and of a run cut short, the numbers say nothing yet."""
        return self.run.state == Run.State.FINISHED

    @property
    def holds(self) -> bool:
        return all(line.holds for line in self.lines)


def rehearsed_before(run: Run) -> Rehearsal | None:
    """The last rehearsal of its campaign that went to its end before this run began."""
    began = run.started_at or run.launched_at
    ended = Run.rehearsals.filter(campaign=run.campaign_id, state=Run.State.FINISHED)
    found = ended.filter(finished_at__lte=began).order_by("-pk").values("pk")[:1]
    return Rehearsal.objects.select_related("run__project").filter(run__in=found).first()


def of_run(run: Run) -> Compared | None:
    if run.planned is None or (rehearsal := rehearsed_before(run)) is None:
        return None
    retired = device.retired_by(rehearsal.run.reference).count()
    totals, before = totals_of(run), totals_of(rehearsal.run)
    left_out = foretold.left_out(reasons_of(run))
    besides = foretold.left_out(reasons_of(rehearsal.run))
    ends = foretold.ends(rehearsal, before, gone=retired, besides=besides)
    if left_out or besides:
        now, then = left_out / max(1, totals.planned), besides / max(1, before.planned)
        share = (1 - now) / max(0.01, 1 - then)
        ends = [foretold.thinned(one, share, now + then) for one in ends]
    came = {**totals.as_dict(), "skipped": totals.skipped - left_out}
    said = [foretold.planned(rehearsal, gone=retired), *ends]
    return Compared(
        rehearsal=rehearsal,
        run=run,
        lines=[Line(one, came[one.name]) for one in said],
        retired=retired,
        left_out=left_out,
        same_text=as_launched(run) == as_launched(rehearsal.run),
        same_rules=run.rules == rehearsal.run.rules or _asked(run) == _asked(rehearsal.run),
    )


def _asked(run: Run) -> str:
    """Its rules without what was looked up at its start."""
    return sentence(run.rules, project_id=run.project_id, bounds=AS_KEPT)


def real_run_of(rehearsal: Rehearsal) -> Compared | None:
    """The first run of its campaign that began after it, if no other rehearsal came between."""
    if rehearsal.run.finished_at is None:
        return None
    later = Run.objects.filter(
        campaign=rehearsal.run.campaign_id, started_at__gte=rehearsal.run.finished_at
    )
    run = later.select_related("project", "campaign").order_by("pk").first()
    found = of_run(run) if run else None
    return found if found and found.rehearsal.pk == rehearsal.pk else None
