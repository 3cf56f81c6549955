"""Event retention for goals: a goal needs its events until the winner is chosen, and as long as it
counts. Retention must not be shorter."""

from __future__ import annotations

from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _

from campaigns.runs.run import Run
from notifications.values.moments import in_words

A_DAY = 86_400


def longer_than(days: int) -> Q:
    """A filter for campaigns and runs whose goal needs events for longer than this many days."""
    winner_chosen = Q(
        winner_by=Run.WinnerBy.GOAL,
        first_percent__isnull=False,
        first_wait_seconds__gte=days * A_DAY,
    )
    return ~Q(goal_event="") & (winner_chosen | Q(goal_within_seconds__gt=days * A_DAY))


def chooses_too_late(row: Any, days: int) -> bool:
    """Whether retention deletes events of a campaign or run before its winner is chosen.

    The wait begins only when the first part is sent, so a wait equal to the retention is too long.
    """
    by_goal = row.winner_by == Run.WinnerBy.GOAL and row.first_percent is not None
    return bool(by_goal and row.first_wait_seconds >= days * A_DAY)


def in_words_of(row: Any, days: int, *, chosen: bool = False) -> str:
    """Why a campaign or run needs events older than `days`; empty if it does not. `chosen`: the
    winner is chosen already."""
    reasons = []
    if chooses_too_late(row, days) and not chosen:
        text = _("waits %(span)s, then chooses a variant by “%(event)s”")
        reasons.append(text % {"span": in_words(row.first_wait_seconds), "event": row.goal_event})
    if row.goal_event and row.goal_within_seconds > days * A_DAY:
        text = _("counts “%(event)s” for %(span)s")
        reasons.append(text % {"span": in_words(row.goal_within_seconds), "event": row.goal_event})
    return "; ".join(reasons)
