"""The steps of an import, and the colour of each of its states."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from notifications.people.importing.model import Import

STATE = Import.State
STATE_COLOURS = {
    "uploading": "",
    "ready": "info",
    "checking": "primary",
    "checked": "info",
    "merging": "primary",
    "finished": "success",
    "stopped": "warning",
    "failed": "danger",
}
# The same colours as on the run's page.
LIKE_A_RUN = {
    "checking": "sending",
    "checked": "scheduled",
    "merging": "sending",
    "finished": "finished",
    "stopped": "paused",
}
STEPS = (
    (_("File"), (STATE.UPLOADING,)),
    (_("Columns"), (STATE.READY,)),
    (_("Check"), (STATE.CHECKING, STATE.CHECKED)),
    (_("Import"), (STATE.MERGING, STATE.STOPPED)),
)


@dataclass(frozen=True)
class Step:
    title: str | Promise
    current: bool
    done: bool


def rail(state: str) -> list[Step]:
    """The steps of an import. A finished one has passed all; a failed one shows none."""
    at = next((place for place, (_title, states) in enumerate(STEPS) if state in states), None)
    if state == STATE.FAILED:
        return []
    return [
        Step(title, current=place == at, done=at is None or place < at)
        for place, (title, _states) in enumerate(STEPS)
    ]
