"""Planner form: which campaign, or how many messages, and when."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.forecast.other_runs import delays
from campaigns.forecast.other_runs.firebase_projects import Firebase
from campaigns.forecast.other_runs.planned_runs import of_campaign
from campaigns.forecast.other_runs.shared_gate import RunRequest
from campaigns.planning.campaign import Campaign
from notifications.admin.ui.wall_clock import WallClock
from notifications.people.project import Project
from notifications.values.moments import NoSuchTime, on_the_clock

NAMED = 200  # campaigns to choose from, newest first


class PlannerForm(forms.Form):
    campaign: Any = forms.ModelChoiceField(
        Campaign.objects.none(), required=False, label=gettext_lazy("A campaign"),
        empty_label=gettext_lazy("None: so many messages"),
        error_messages={"invalid_choice": gettext_lazy("There is no such campaign here.")},
    )  # fmt: skip
    messages = forms.IntegerField(
        min_value=1, max_value=delays.MAX_MESSAGES, required=False,
        label=gettext_lazy("or so many messages"),
    )  # fmt: skip
    at = WallClock(required=False, label=gettext_lazy("At"))

    def __init__(
        self, *args: Any, project: Project, zone: str, now: datetime, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.project, self.zone, self.now = project, zone, now
        mine = Campaign.objects.filter(project=project, archived_at=None).order_by("-pk")
        newest = mine.values_list("pk", flat=True)[:NAMED]
        choice: Any = self.fields["campaign"]
        choice.queryset = mine.filter(pk__in=[*newest])
        for name, field in self.fields.items():
            field.widget.attrs |= {"class": "c-input", "id": f"another-{name}"}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        if not cleaned.get("campaign") and not cleaned.get("messages"):
            self.add_error("campaign", _("Choose a campaign, or say how many messages."))
        elif cleaned.get("campaign") and cleaned.get("messages"):
            self.add_error("messages", _("Leave this empty: the campaign says how many."))
        if wall := cleaned.get("at"):
            try:
                cleaned["moment"] = on_the_clock(wall, self.zone)
            except NoSuchTime as error:
                self.add_error("at", str(error))
            else:
                if cleaned["moment"] < self.now:
                    self.add_error("at", _("This time has passed. Choose a later one."))
        elif cleaned.get("messages"):
            self.add_error("at", _("Choose the time at which they are sent."))
        return cleaned

    def asks(self, there: Firebase) -> RunRequest | None:
        """The messages that it needs to send. None: counting people takes too long."""
        campaign, at = self.cleaned_data.get("campaign"), self.cleaned_data.get("moment")
        if campaign:
            return of_campaign(campaign, at, there, self.now)
        return delays.messages(self.cleaned_data["messages"], at or self.now, there)
