"""FCM's own figures for a run's label, beside our own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from campaigns.results import breakdown
from campaigns.runs.run import Run
from notifications.fcm_data.day import FcmDay

DAY = timedelta(days=1)  # FCM's days begin and end in California


def picture(run: Run) -> dict[str, Any]:
    """Template context. Empty for a run without a label: FCM counts all such messages together."""
    project = run.project
    if not (run.analytics_label and project.fcm_app_id and run.started_at):
        return {}
    until = (run.finished_at or timezone.now()) + DAY
    rows = FcmDay.objects.filter(
        project=project, app_id=project.fcm_app_id, label=run.analytics_label,
        day__range=((run.started_at - DAY).date(), until.date()),
    )  # fmt: skip
    return {"asks_figures": True, "figures": rows.order_by("day"), "ours": _ours(run)}


def _ours(run: Run) -> int | None:
    """How many were accepted on Android. None: not counted yet."""
    stored = breakdown.kept_of(run)
    if stored is None:
        return None
    accepted, *_ = stored.counts.get("platform", {}).get("android", [0])
    return int(accepted)
