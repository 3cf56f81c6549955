"""When: `{"kind": "now"}` or `{"kind": "at", "at": …}`, as people and programs write a time."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, NoReturn
from zoneinfo import ZoneInfo

from rest_framework import serializers

from campaigns.campaign import Campaign
from notifications.api.fields import StrictSerializer
from notifications.zones import validate_zone

TIME = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII
)
YEARS = range(2000, 2101)


class ScheduleSerializer(StrictSerializer):
    kind = serializers.CharField(help_text="now or at")
    at = serializers.CharField(
        required=False, help_text="RFC 3339 with an offset, or a local time together with timezone."
    )
    timezone = serializers.CharField(
        max_length=64, required=False, validators=[validate_zone], help_text="An IANA name."
    )

    def validate_kind(self, kind: str) -> str:
        if kind == "recurring":
            raise serializers.ValidationError("Recurring is not available yet; use now or at.")
        if kind not in Campaign.Schedule.values:
            raise serializers.ValidationError("Use now or at.")
        return kind

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The campaign's own fields."""
        zone = attrs.get("timezone", self.context["project"].timezone)
        if attrs["kind"] == Campaign.Schedule.NOW:
            if "at" in attrs:
                raise serializers.ValidationError({"at": "Leave it out, or use the kind at."})
            return {"schedule_kind": Campaign.Schedule.NOW, "at": None, "timezone": zone}
        if "at" not in attrs:
            raise serializers.ValidationError({"at": "Say when."})
        at = _moment(attrs["at"], attrs.get("timezone"))
        return {"schedule_kind": Campaign.Schedule.AT, "at": at, "timezone": zone}


def shown(campaign: Campaign) -> dict[str, Any]:
    if campaign.schedule_kind == Campaign.Schedule.NOW:
        return {"kind": "now", "timezone": campaign.timezone}
    return {"kind": "at", "at": campaign.at, "timezone": campaign.timezone}


def _moment(text: str, zone: str | None) -> datetime:
    try:
        moment = datetime.fromisoformat(text.upper()) if TIME.fullmatch(text) else None
    except ValueError:
        moment = None
    if moment is None or moment.year not in YEARS:
        _refuse("Not a time in RFC 3339, e.g. 2026-05-31T09:00:00+09:00.")
    if moment.tzinfo is not None:
        return moment.astimezone(UTC)
    if zone is None:
        _refuse("Without an offset nobody knows when that is: add one, or a timezone.")
    # The first of two, when a clock is set back: fold is 0.
    at = moment.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    if at.astimezone(ZoneInfo(zone)).replace(tzinfo=None) != moment:
        _refuse(f"There is no such time in {zone}: clocks are set forward over it.")
    return at


def _refuse(message: str) -> NoReturn:
    raise serializers.ValidationError({"at": message})
