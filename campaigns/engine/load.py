"""Load: turns a load report of a project's servers into a rate between its floor and its plan."""

from __future__ import annotations

from campaigns.runs.chunk import at_work
from campaigns.runs.policy import OWN_PACE
from notifications.pacing import load
from notifications.pacing.gate import full_rate
from notifications.pacing.load import Load
from notifications.people.project import Project


def reported(project: Project, level: float) -> Load:
    return load.report(project, level, plan=_planned_rate(project))


def _planned_rate(project: Project) -> float:
    """Messages per second planned by the project's sending runs, at most its full rate."""
    full = full_rate(project)
    rates = [run.own_rate or full for run in at_work(project.pk).only(*OWN_PACE)]
    return min(full, sum(rates)) if rates else full
