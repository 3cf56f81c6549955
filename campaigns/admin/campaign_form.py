"""The form of a campaign: who, what, when and how fast."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from unfold.widgets import UnfoldAdminRadioSelectWidget

from campaigns.campaign import Campaign
from campaigns.run import Run
from notifications.admin.duration_field import DurationText
from notifications.admin.page import only_project
from notifications.admin.unfolded import ModelForm
from notifications.admin.widgets import WallClockInput
from notifications.moments import NoSuchTime, comes_twice, on_the_clock
from notifications.rules import MAX_TTL
from notifications.zones import known_zones

NEW = Campaign()  # for the defaults of fields that are typed in other words than they are kept


class WallClock(forms.DateTimeField):
    """What a clock on the wall shows; the zone is another field's business."""

    widget = WallClockInput

    def to_python(self, value: Any) -> Any:
        moment = super().to_python(value)
        return moment.replace(tzinfo=None) if isinstance(moment, datetime) else moment


class CampaignForm(ModelForm):
    at = WallClock(
        label="Local time",
        required=False,
        help_text="As a clock in the time zone below shows it.",
        error_messages={"invalid": "Choose a date and a time."},
    )
    max_lateness_seconds = DurationText(
        label="If we are late",
        initial=NEW.max_lateness_seconds,
        least=0,
        most=7 * 86_400,
        help_text="If sending could not start within this time (the system was down), the run "
        "waits for a person instead of going out late.",
    )
    ttl_seconds = DurationText(
        label="Worth showing for",
        initial=NEW.ttl_seconds,
        least=60,
        most=MAX_TTL,
        help_text="Counted from the start. A phone that comes online later shows nothing, and "
        "whoever was not sent to by then is skipped.",
    )

    class Meta:
        model = Campaign
        fields = [
            "project", "name", "audience", "template", "schedule_kind", "at", "timezone",
            "max_lateness_seconds", "rate_per_second", "on_unknown", "ttl_seconds",
            "analytics_label",
        ]  # fmt: skip
        labels = {
            "schedule_kind": "When",
            "rate_per_second": "At most, per second",
            "on_unknown": "If an answer is lost",
            "analytics_label": "Analytics label",
        }
        help_texts = {
            "rate_per_second": "Spare your own servers: the people you call will come. Empty: as "
            "fast as the project's FCM quota allows.",
            "on_unknown": "When the line breaks between our request and FCM's answer, nobody knows "
            "whether the phone rang. Sending again reaches everyone, and a phone shows one. Never "
            "sending twice is for messages that must not repeat.",
            "analytics_label": "Firebase's reports count it under this name. Empty: made from the "
            "name. Campaigns that belong together may share one; 100 a day are reported.",
            "timezone": "Type a city: “Seoul” finds Asia/Seoul.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["on_unknown"].widget = UnfoldAdminRadioSelectWidget(
            choices=Run.OnUnknown.choices
        )
        if self.instance.at:
            zone = ZoneInfo(self.instance.timezone)
            self.initial["at"] = self.instance.at.astimezone(zone).replace(tzinfo=None)
        self._offer_the_projects_own()

    def _offer_the_projects_own(self) -> None:
        only = only_project()
        project_id = self.instance.project_id or (only.pk if only else None)
        if only and not self.instance.pk:
            self.initial.setdefault("timezone", only.timezone)
        for name in ("audience", "template"):
            field = self.fields.get(name)
            if not isinstance(field, forms.ModelChoiceField) or field.queryset is None:
                continue
            if project_id:
                field.queryset = field.queryset.filter(project=project_id)
            else:
                field.queryset = field.queryset.select_related("project")
                field.label_from_instance = _with_project  # type: ignore[method-assign, assignment]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("schedule_kind") != Campaign.Schedule.AT:
            self.errors.pop("at", None)
            cleaned["at"] = None
            return cleaned
        wall, zone = cleaned.get("at"), cleaned.get("timezone")
        self.twice = False
        if wall and zone in known_zones():  # an unknown one is refused by its own field
            try:
                cleaned["at"] = on_the_clock(wall, zone)
                self.twice = comes_twice(wall, zone)
            except NoSuchTime as error:
                self.add_error("at", str(error))
        return cleaned


def _with_project(row: Any) -> str:
    return f"{row} ({row.project})"
