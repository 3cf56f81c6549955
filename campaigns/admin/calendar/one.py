"""The dialog that moves one of a series that has no run yet, and leaves the others."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.admin.calendar import span as calendar_span
from campaigns.admin.calendar.move import CHOOSE
from campaigns.planning import moving
from campaigns.planning.campaign import Campaign
from campaigns.planning.repeats.moved import Occurrence
from campaigns.runs.run import Run
from notifications.admin.furniture.dialogs import Dialog
from notifications.admin.furniture.wall_clock import WallClock
from notifications.values.moments import NoSuchTime, on_the_clock, short
from notifications.values.zones import known_zones


class MoveOneDialog(Dialog):
    template = "admin/campaigns/campaign/move_one.html"
    at = WallClock(
        label=gettext_lazy("New local time"),
        error_messages={"required": CHOOSE, "invalid": CHOOSE},
    )
    # Of the page it was opened from: its zone and view, and the time that the dialog showed.
    zone = forms.CharField(widget=forms.HiddenInput, required=False)
    view = forms.CharField(widget=forms.HiddenInput, required=False)
    was = forms.DateTimeField(widget=forms.HiddenInput)

    def __init__(
        self, *args: Any, campaign: Campaign, of: datetime, now: datetime, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.campaign, self.of, self.now = campaign, of, now
        asked = self.data.get("zone") or self.request.GET.get("zone")
        self.clock = str(asked) if asked in known_zones() else campaign.timezone
        wall = self.due.astimezone(ZoneInfo(self.clock)).replace(tzinfo=None)
        if day := calendar_span.day_of(self.request.GET.get("day")):
            wall = datetime.combine(day, wall.time())
        self.fields["at"].help_text = _("Local time in %(zone)s.") % {"zone": self.clock}
        self.initial = {
            "at": wall,
            "zone": self.clock,
            "view": self.request.GET.get("view"),
            "was": self.due.isoformat(),
        }

    @property
    def title(self) -> str:
        return _("Move only this one of “%(campaign)s”?") % {"campaign": self.campaign}

    @cached_property
    def one(self) -> Occurrence | str:
        """Or why it cannot be moved any more."""
        try:
            return moving.occurrence(self.campaign, self.of, self.now)
        except Run.InvalidMove as error:
            return str(error)

    @property
    def gone(self) -> str:
        return self.one if isinstance(self.one, str) else ""

    @property
    def due(self) -> datetime:
        """Where it stands now."""
        return self.of if isinstance(self.one, str) else self.one.due

    @property
    def possible(self) -> bool:
        return not self.gone

    @property
    def to(self) -> datetime:
        """Raises NoSuchTime."""
        return on_the_clock(self.cleaned_data["at"], self.clock)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if "at" in cleaned and not isinstance(self.one, str):
            try:
                why = moving.problem_of_one(self.campaign, self.one, self.to, self.now)
            except NoSuchTime as error:
                why = str(error)
            if why:
                self.add_error("at", why)
        return cleaned

    def context(self) -> dict[str, Any]:
        return {"was": short(self.due, self.clock), "refusal": self.gone}
