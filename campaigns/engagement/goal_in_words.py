"""Goal texts: the goal of a campaign or run as a sentence."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.runs.run import Run
from notifications.values.moments import in_words

SAID = {
    Run.GoalAfter.OPENED: gettext_lazy("“%(event)s” within %(time)s of opening it"),
    Run.GoalAfter.RECEIVED: gettext_lazy("“%(event)s” within %(time)s of receiving it"),
}


def goal_in_words(row: Any) -> str:
    """The goal of a campaign or run as a sentence; empty if it has none."""
    if not row.goal_event:
        return ""
    words = {"event": row.goal_event, "time": in_words(row.goal_within_seconds)}
    text = str(SAID[Run.GoalAfter(row.goal_after)]) % words
    return text + (
        _(", summing up “%(value)s”") % {"value": row.goal_value} if row.goal_value else ""
    )
