"""The rate at which a run is sent."""

from __future__ import annotations

from campaigns.runs.claiming import claim
from campaigns.runs.run import Run
from campaigns.sending.sending import Sending


def rate_of(run: Run) -> float | None:
    """That a worker asks the gate for."""
    granted = claim(run.pk, 1, run.epoch, task_id=None)
    assert granted
    return Sending(granted).gate.rate
