"""Dialog to move a scheduled run. It warns of conflicts at the new time before the move."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django import forms
from django.core.exceptions import ValidationError
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.planning import moving
from campaigns.planning.pages.calendar import span as calendar_span
from campaigns.planning.pages.calendar.move_warnings import MoveWarnings
from campaigns.runs import series
from campaigns.runs.run import Run
from campaigns.verbs import MOVE
from notifications.admin.ui.dialogs import Dialog
from notifications.admin.ui.wall_clock import WallClock
from notifications.values.moments import (
    DAY_AND_CLOCK,
    NoSuchTime,
    local,
    on_the_clock,
    short,
)
from notifications.values.zones import known_zones

SHOWS_IT = {
    "hx-trigger": "change",
    "hx-target": "#moves",
    "hx-select": "#moves",
    "hx-select-oob": "#id_looked_at",
    "hx-swap": "outerHTML",
    "hx-include": "#id_zone",
    "hx-sync": "this:replace",
}
CHOOSE = gettext_lazy("Choose a date and a time.")


class MoveDialog(Dialog):
    template = "admin/campaigns/campaign/move.html"
    at = WallClock(
        label=gettext_lazy("New local time"),
        error_messages={"required": CHOOSE, "invalid": CHOOSE},
    )
    # From the page behind: its zone and view, the time it showed, and the time that was checked.
    zone = forms.CharField(widget=forms.HiddenInput, required=False)
    view = forms.CharField(widget=forms.HiddenInput, required=False)
    was = forms.DateTimeField(widget=forms.HiddenInput)
    looked_at = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, run: Run, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.run, self.now = run, now
        self._begin(run.project.timezone)

    def _begin(self, zone: str) -> None:
        # The calendar sends its zone; a run's own page uses the project's.
        zone_param = self.data.get("zone") or self.request.GET.get("zone")
        self.clock = str(zone_param) if zone_param in known_zones() else zone
        wall = self._wall_of(self.due)
        if day := calendar_span.day_of(self.request.GET.get("day")):
            wall = datetime.combine(day, wall.time())
        wall = self._chosen() or wall
        self.fields["at"].widget.attrs |= {**SHOWS_IT, "hx-get": self.request.path}
        self.fields["at"].help_text = _("Local time in %(zone)s.") % {"zone": self.clock}
        self.initial = {
            "at": wall,
            "zone": self.clock,
            "view": self.request.GET.get("view"),
            "was": self.due.isoformat(),
            "looked_at": wall.isoformat(),
        }

    def _chosen(self) -> datetime | None:
        """The time typed so far: the field loads the warnings again on each change."""
        with suppress(ValidationError):
            chosen: datetime | None = WallClock(required=False).clean(self.request.GET.get("at"))
            return chosen
        return None

    def _wall_of(self, moment: datetime) -> datetime:
        return moment.astimezone(ZoneInfo(self.clock)).replace(tzinfo=None)

    @property
    def of_series(self) -> bool:
        return self.run.occurrence != series.ONCE

    @property
    def title(self) -> str:
        if self.of_series:
            return _("Move only this one of “%(campaign)s”?") % {"campaign": self.run.campaign}
        return str(MOVE.question % {"campaign": self.run.campaign})

    @property
    def possible(self) -> bool:
        return not moving.fixed(self.run)

    @property
    def due(self) -> datetime:
        """When the run is scheduled now."""
        return self.run.scheduled_at

    @property
    def current_time(self) -> str:
        return self.run.on_every_clock or self._local(self.due)

    @property
    def moved_from(self) -> datetime | None:
        """Its original time in the series, if it was moved."""
        return series.moved_from(self.run)

    @property
    def _to_put_back(self) -> dict[str, str]:
        """The original time, and a link to this dialog with that time in its field."""
        own = self.moved_from
        if own is None:
            return {}
        view = self.data.get("view") or self.request.GET.get("view") or ""
        wall = f"{self._wall_of(own):%Y-%m-%dT%H:%M}"
        url = f"{self.request.path}?{urlencode({'at': wall, 'zone': self.clock, 'view': view})}"
        return {"moved_from": self._local(own), "put_back": url if self._may_go_to(own) else ""}

    def _may_go_to(self, own: datetime) -> bool:
        return self.possible and own > self.now

    @property
    def to(self) -> datetime:
        """The chosen instant. Raises NoSuchTime."""
        own = self.moved_from
        if own is not None and self.wall == self._wall_of(own):
            return own  # in an hour that occurs twice, it may be the second one
        return on_the_clock(self.wall, self.clock)

    @property
    def wall(self) -> datetime:
        wall: datetime = self.cleaned_data["at"] if self.is_bound else self.initial["at"]
        return wall

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if "at" not in cleaned:
            return cleaned
        if why := self.refusal:
            self.add_error("at", why)
        elif cleaned["looked_at"] != self.wall.isoformat() and self.warnings.sentences:
            # Unpacked directly, each value of a QueryDict would be a list.
            self.data = {**dict(self.data.items()), "looked_at": self.wall.isoformat()}
            raise ValidationError(_("Check what else is sent at that time, then move it."))
        return cleaned

    @cached_property
    def refusal(self) -> str:
        try:
            return self._problem()
        except NoSuchTime as error:
            return str(error)

    def _problem(self) -> str:
        return moving.problem(self.run, self.to, self.now)

    @cached_property
    def warnings(self) -> MoveWarnings:
        return MoveWarnings(self.run, self.to, self.now, self.clock)

    def context(self) -> dict[str, Any]:
        settled = {"was": self.current_time, "of_series": self.of_series, **self._to_put_back}
        if not self.possible or (self.is_bound and "at" not in self.cleaned_data):
            return settled | {"refusal": "" if self.possible else self.refusal}
        if self.refusal:  # the field shows it after a submit; not before a time was chosen
            untouched = self.wall == self._wall_of(self.due)
            return settled | {"refusal": "" if self.is_bound or untouched else self.refusal}
        return settled | self.warnings.context

    def _local(self, at: datetime) -> str:
        """The time without its zone, which is shown beside the field."""
        return local(at, self.clock, DAY_AND_CLOCK)

    @property
    def new_time(self) -> str:
        return short(self.to, self.clock)
