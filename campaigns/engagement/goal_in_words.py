"""A goal in a sentence, of a campaign or of a run, which froze it."""

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
    """Empty: it has none."""
    if not row.goal_event:
        return ""
    words = {"event": row.goal_event, "time": in_words(row.goal_within_seconds)}
    text = str(SAID[Run.GoalAfter(row.goal_after)]) % words
    return text + (
        _(", summing up “%(value)s”") % {"value": row.goal_value} if row.goal_value else ""
    )
