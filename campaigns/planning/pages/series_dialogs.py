"""Dialogs before a series is paused, resumed or stopped. A single run has its own page."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.functional import cached_property

from campaigns.planning import local
from campaigns.planning.campaign import Campaign
from campaigns.runs import series
from notifications.admin.ui.dialogs import Dialog


class StopDialog(Dialog):
    template = "admin/campaigns/campaign/stop.html"

    @cached_property
    def campaign(self) -> Campaign:
        return Campaign.objects.select_related("project").get(pk=self.object_id or 0)

    @cached_property
    def possible(self) -> bool:
        last = self.campaign.series
        return last is not None and series.goes_on(last, timezone.now())

    @property
    def paused(self) -> bool:
        return self.campaign.series_paused_at is not None

    def context(self) -> dict[str, Any]:
        waiting = series.waiting(self.campaign.pk).order_by("scheduled_at")
        begun = self.campaign.runs.filter(finished_at=None).exclude(pk__in=waiting.values("pk"))
        return {"campaign": self.campaign, "waiting": waiting, "begun": begun.order_by("pk")}


class PauseDialog(StopDialog):
    template = "admin/campaigns/campaign/pause_series.html"

    @cached_property
    def possible(self) -> bool:
        return super().possible and not self.paused


class ResumeDialog(StopDialog):
    template = "admin/campaigns/campaign/resume_series.html"

    @cached_property
    def possible(self) -> bool:
        return self.paused

    def context(self) -> dict[str, Any]:
        at = self._next_at(timezone.now())
        due = local.in_words(self.campaign, at, self.campaign.zone) if at else ""
        return {"campaign": self.campaign, "due": due}

    def _next_at(self, now: datetime) -> datetime | None:
        """When the next run is due: the waiting run's time, if any. None: no run follows."""
        if waiting := series.waiting(self.campaign.pk).order_by("scheduled_at").first():
            return series.instant_of(waiting) if waiting.hour else waiting.scheduled_at
        last = self.campaign.series
        occurrence = self.campaign.following(now) if last and series.goes_on(last, now) else None
        return occurrence.due if occurrence else None
