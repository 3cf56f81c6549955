"""What a program may ask the planner."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from campaigns.forecast.delays import MAX_MESSAGES
from notifications.api.base.fields import Moment
from notifications.values.moments import YEARS


class QuotaAsked(serializers.Serializer[Any]):
    """The query: a day, and one more campaign, or so many messages at a time."""

    day = serializers.DateField(
        required=False, error_messages={"invalid": "Write the day like 2026-12-25."}
    )
    campaign = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    messages = serializers.IntegerField(required=False, min_value=1, max_value=MAX_MESSAGES)
    at = Moment(required=False)

    def validate_day(self, day: date) -> date:
        self._check_year(day)
        return day

    def validate_at(self, at: datetime) -> datetime:
        if at < timezone.now():
            raise serializers.ValidationError("This time has passed. Choose a later one.")
        self._check_year(at)
        return at

    def validate(self, asked: dict[str, Any]) -> dict[str, Any]:
        if "campaign" in asked and "messages" in asked:
            text = "Leave it out: the campaign says how many."
            raise serializers.ValidationError({"messages": text})
        if "messages" in asked and "at" not in asked:
            raise serializers.ValidationError({"at": "Say when they are sent."})
        if "at" in asked and "campaign" not in asked and "messages" not in asked:
            text = "Give it with a campaign, or with messages."
            raise serializers.ValidationError({"at": text})
        return asked

    def _check_year(self, day: date) -> None:
        if day.year not in YEARS:
            raise serializers.ValidationError(f"Choose a year from {YEARS[0]} to {YEARS[-1]}.")
