"""The colour of each state, in the list of runs and in that of campaigns, which may be drafts."""

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
