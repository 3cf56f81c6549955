"""Colours of the run states, in the lists of runs and of campaigns, which may be drafts."""

from __future__ import annotations

STATE_COLOURS = {
    "draft": "",
    "scheduled": "info",
    "preparing": "primary",
    "sending": "primary",
    "paused": "warning",
    "finished": "success",
    "cancelled": "",
}
