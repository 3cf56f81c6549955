"""The form of a campaign: who, what, when and how fast. Text and audience may be made in place."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminRadioSelectWidget

from campaigns.admin.campaign import colleagues, in_place
from campaigns.planning.campaign import WHEN, Campaign
from campaigns.runs.run import POLICY, Run
from notifications.admin.furniture.duration_field import DurationText
from notifications.admin.furniture.widgets import WallClockInput
from notifications.fcm.rules import MAX_TTL
from notifications.people.project import Project
from notifications.values.moments import NoSuchTime, comes_twice, on_the_clock, validate_year
from notifications.values.zones import known_zones

NEW = Campaign()  # for the defaults of fields that are typed in other words than they are kept


class WallClock(forms.DateTimeField):
    """What a clock on the wall shows; the zone is another field's business."""

    widget = WallClockInput
    default_validators = [validate_year]

    def to_python(self, value: Any) -> Any:
        moment = super().to_python(value)
        return moment.replace(tzinfo=None) if isinstance(moment, datetime) else moment


class CampaignForm(in_place.InPlace):
    at = WallClock(
        label=gettext_lazy("Local time"),
        required=False,
        help_text=gettext_lazy(
            "As a clock in the time zone below shows it. If it repeats: the first time."
        ),
        error_messages={"invalid": gettext_lazy("Choose a date and a time.")},
    )
    until = WallClock(
        label=gettext_lazy("Ends"),
        required=False,
        help_text=gettext_lazy("Nothing goes out after it. Empty: until somebody stops it."),
        error_messages={"invalid": gettext_lazy("Choose a date and a time, or none.")},
    )
    max_lateness_seconds = DurationText(
        label=gettext_lazy("If we are late"),
        initial=NEW.max_lateness_seconds,
        least=0,
        most=7 * 86_400,
        help_text=gettext_lazy(
            "If sending could not start within this time (the system was down), the run waits for "
            "a person instead of going out late."
        ),
    )
    ttl_seconds = DurationText(
        label=gettext_lazy("Worth showing for"),
        initial=NEW.ttl_seconds,
        least=60,
        most=MAX_TTL,
        help_text=gettext_lazy(
            "Counted from the start. A phone that comes online later shows nothing, and whoever "
            "was not sent to by then is skipped."
        ),
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    class Meta:
        model = Campaign
        fields = ["project", "name", "audience", "template", *WHEN, *POLICY]
        labels = {
            "audience": gettext_lazy("Audience"),
            "template": gettext_lazy("Template"),
            "schedule_kind": gettext_lazy("When"),
            "repeat": gettext_lazy("How often"),
            "rate_per_second": gettext_lazy("At most, per second"),
            "on_unknown": gettext_lazy("If an answer is lost"),
            "analytics_label": gettext_lazy("Analytics label"),
        }
        help_texts = {
            "name": gettext_lazy("For you and your colleagues; nobody else reads it."),
            "repeat": gettext_lazy(
                "At the same local time, summer and winter. While one run is still going, the next "
                "one is left out. The 31st means the last day of a shorter month."
            ),
            "rate_per_second": gettext_lazy(
                "Spare your own servers: the people you call will come. Empty: as fast as the "
                "project's FCM quota allows."
            ),
            "on_unknown": gettext_lazy(
                "When the line breaks between our request and FCM's answer, nobody knows whether "
                "the phone rang. Sending again reaches everyone, and a phone shows one. Never "
                "sending twice is for messages that must not repeat."
            ),
            "analytics_label": gettext_lazy(
                "Firebase's reports count it under this name. Empty: made from the name. Campaigns "
                "that belong together may share one; 100 a day are reported."
            ),
            "timezone": gettext_lazy("Type a city: “Seoul” finds Asia/Seoul."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, choices in (
            ("on_unknown", Run.OnUnknown.choices),
            ("schedule_kind", Campaign.Schedule.choices),
        ):
            self.fields[name].widget = UnfoldAdminRadioSelectWidget(choices=choices)
        zone = ZoneInfo(self.instance.timezone)
        for name in ("at", "until"):
            if moment := getattr(self.instance, name):
                self.initial[name] = moment.astimezone(zone).replace(tzinfo=None)
        self._offer_the_projects_own()
        self.meanwhile: colleagues.Meanwhile | None = None
        if self.instance.pk:
            self.initial["seen"] = colleagues.token(self)

    def _offer_the_projects_own(self) -> None:
        asked = self.fields.get("project")  # the one worked in, which the page put there
        project_id = self.instance.project_id or (asked.initial if asked else None)
        if project_id and not self.instance.pk:
            self.initial.setdefault("timezone", Project.objects.get(pk=project_id).timezone)
        unknown = {
            "audience": _("There is no such audience in this project."),
            "template": _("There is no such template in this project."),
        }
        for name in unknown:
            field = self.fields.get(name)
            if not isinstance(field, forms.ModelChoiceField) or field.queryset is None:
                continue
            field.queryset = field.queryset.filter(project=project_id)
            field.error_messages["invalid_choice"] = unknown[name]
            if not self.instance.pk and not field.queryset.exists():
                self.initial.setdefault(f"{name}_from", in_place.MAKE)  # there is none to pick

    def full_clean(self) -> None:
        """Before anything is read: what a colleague saved meanwhile is brought in."""
        if self.is_bound and self.instance.pk and self.data.get("seen"):
            self.data, self.meanwhile = colleagues.brought_in(self)
        super().full_clean()

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self.twice = False
        self._read_the_clock(cleaned)
        if self.meanwhile:
            self.add_error(None, self.meanwhile.said)
        return cleaned

    def _read_the_clock(self, cleaned: dict[str, Any]) -> None:
        kind = cleaned.get("schedule_kind")
        # What the page hides must not refuse what it shows.
        hidden = {"now": ("at", "repeat", "until"), "at": ("repeat", "until")}.get(str(kind), ())
        for name in hidden:
            self.errors.pop(name, None)
            cleaned[name] = "" if name == "repeat" else None
        zone = cleaned.get("timezone")
        if zone not in known_zones():  # refused by its own field
            return
        for name in ("at", "until"):
            if wall := cleaned.get(name):
                try:
                    cleaned[name] = on_the_clock(wall, str(zone))
                    self.twice |= name == "at" and comes_twice(wall, str(zone))
                except NoSuchTime as error:
                    self.add_error(name, str(error))
