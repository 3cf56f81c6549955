"""Keeping: stores the figures that the overview is too slow to count, by beat's other tick."""

from __future__ import annotations

from datetime import datetime

from campaigns.figures import quota, sent
from notifications.people import figures
from notifications.people.figures import DATED_KEPT, prune
from notifications.people.project import Project


def keep_figures(*, now: datetime) -> None:
    """Store the overview's figures, and delete old ones.

    If the process dies here: each number is there or is not, and the next tick writes it.
    """
    sent.keep_levels(now)
    quota.keep_busiest(now)
    prune([quota.BUSIEST], now - DATED_KEPT)
    for project in Project.objects.order_by("pk"):
        figures.keep_days(project, now)
    figures.forget_old(now)
