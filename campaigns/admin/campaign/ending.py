"""What a person is told before one run is cancelled, or a whole series is stopped."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from campaigns.planning import recurrence
from campaigns.planning.campaign import Campaign
from campaigns.runs import series, sums
from campaigns.runs.run import Run
from campaigns.runs.series import ONCE
from notifications.admin.furniture.dialogs import Dialog
from notifications.values.moments import in_zone


class CancelDialog(Dialog):
    template = "admin/campaigns/run/cancel.html"
    danger = True

    @cached_property
    def run(self) -> Run:
        return Run.objects.select_related("campaign", "project").get(pk=self.object_id or 0)

    @cached_property
    def last(self) -> Run | None:
        """Of the series that this run is part of, while nobody stopped it."""
        return None if self.run.occurrence == ONCE else self.run.campaign.series

    @cached_property
    def next_at(self) -> datetime | None:
        if self.last is None:
            return None
        return recurrence.next_start(self.last, timezone.now(), without=self.run)

    @property
    def title(self) -> str | None:
        leaves_out = self.next_at and self.run.started_at is None
        return _("Cancel only this run?") if leaves_out else None

    @property
    def told(self) -> str:
        said = _("Run %(number)d is cancelled.")
        if self.next_at is None:
            return said
        follows = _("The next one is due %(when)s.")
        when = in_zone(self.next_at, self.run.project.timezone)
        return f"{said} {follows % {'when': when}}"

    def context(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "totals": sums.totals_of(self.run),
            "zone": self.run.project.timezone,
            "next_at": self.next_at,
            "ends_series": self.last == self.run and self.next_at is None,
        }


class StopDialog(Dialog):
    template = "admin/campaigns/campaign/stop.html"

    @cached_property
    def campaign(self) -> Campaign:
        return Campaign.objects.select_related("project").get(pk=self.object_id or 0)

    @cached_property
    def possible(self) -> bool:
        last = self.campaign.series
        return last is not None and recurrence.goes_on(last, timezone.now())

    def context(self) -> dict[str, Any]:
        waiting = series.waiting(self.campaign.pk).order_by("scheduled_at")
        begun = self.campaign.runs.filter(finished_at=None).exclude(pk__in=waiting.values("pk"))
        return {"campaign": self.campaign, "waiting": waiting, "begun": begun.order_by("pk")}
