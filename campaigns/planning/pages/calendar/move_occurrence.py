"""Dialog to move one occurrence of a series that has no run yet. The others stay."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldBooleanWidget

from campaigns.planning import local, moving
from campaigns.planning.campaign import Campaign
from campaigns.planning.pages.calendar.move import MoveDialog
from campaigns.planning.pages.calendar.move_warnings import MoveWarnings
from campaigns.planning.repeats.moved_occurrences import Occurrence
from campaigns.runs.local_time import on_every_clock
from campaigns.runs.run import Run
from notifications.admin.ui.dialogs import Dialog
from notifications.values.moments import short


class MoveOneDialog(MoveDialog):
    leave_out = forms.BooleanField(
        label=gettext_lazy("Leave it out instead"),
        required=False,
        widget=UnfoldBooleanWidget,
        help_text=gettext_lazy("Its day is then one of the days off; the others stay."),
    )

    def __init__(
        self, *args: Any, campaign: Campaign, of: datetime, now: datetime, **kwargs: Any
    ) -> None:
        Dialog.__init__(self, *args, **kwargs)
        self.campaign, self.of, self.now = campaign, of, now
        self._begin(campaign.timezone)
        if campaign.local_time:
            self._only_leave_out()

    def _only_leave_out(self) -> None:
        """In local time, an occurrence cannot be moved, only left out."""
        self.clock = self.campaign.timezone
        for name in ("at", "leave_out"):
            self.fields[name].widget = forms.HiddenInput()
        self.fields["leave_out"].required, self.initial["leave_out"] = True, True

    @property
    def of_series(self) -> bool:
        return True

    @property
    def current_time(self) -> str:
        return self.time_in_words(self.due) if self.campaign.local_time else self._local(self.due)

    def time_in_words(self, at: datetime) -> str:
        if self.campaign.local_time:
            return on_every_clock(local.wall(self.campaign, at))
        return short(at, self.clock)

    @property
    def button(self) -> str:
        # The form moves or leaves out, depending on a tick, so “Move” could be wrong.
        return _("Leave it out") if self.campaign.local_time else _("Save")

    @property
    def title(self) -> str:
        if self.campaign.local_time:
            return _("Leave out this one of “%(campaign)s”?") % {"campaign": self.campaign}
        return _("Move only this one of “%(campaign)s”?") % {"campaign": self.campaign}

    @cached_property
    def one(self) -> Occurrence | str:
        """The occurrence, or why it cannot be moved any more."""
        try:
            return moving.occurrence(self.campaign, self.of, self.now)
        except Run.InvalidMove as error:
            return str(error)

    @property
    def gone(self) -> str:
        return self.one if isinstance(self.one, str) else ""

    @property
    def due(self) -> datetime:
        return self.of if isinstance(self.one, str) else self.one.due

    @property
    def moved_from(self) -> datetime | None:
        if isinstance(self.one, str) or self.one.instant == self.one.due:
            return None
        return self.one.instant

    @property
    def possible(self) -> bool:
        return not self.gone

    def _problem(self) -> str:
        if isinstance(self.one, str):
            return self.one
        return moving.problem_of_one(self.campaign, self.one, self.to, self.now)

    def clean(self) -> dict[str, Any]:
        """If it is left out, it needs no new time."""
        if not self.cleaned_data.get("leave_out"):
            return super().clean()
        if isinstance(self.one, str):
            raise ValidationError(self.one)
        if why := moving.alone_problem(self.campaign, self.one, self.now):
            self.add_error("leave_out", why)
        self.errors.pop("at", None)
        return self.cleaned_data

    @cached_property
    def warnings(self) -> MoveWarnings:
        """The warnings, for sending it as the series' latest run was launched."""
        last = self.campaign.series
        if last is None:
            raise ValueError("Of a series that was stopped nothing is to come.")
        return MoveWarnings(last, self.to, self.now, self.clock, one=self.due)

    def context(self) -> dict[str, Any]:
        if self.campaign.local_time:
            everywhere = {"was": self.current_time, "everywhere": True}
            return everywhere | {"refusal": "" if self.possible else self.gone}
        return super().context()
