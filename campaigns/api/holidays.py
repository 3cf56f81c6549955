"""The public holidays of a country, as a schedule takes them: to be given as its days_off."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.planning.repeats import days_off, public_holidays
from notifications.api.ground.query import takes
from notifications.api.ground.view import ApiView
from notifications.values.languages import validate_locale


class HolidaysAsked(serializers.Serializer[Any]):
    """The query."""

    country = serializers.CharField(max_length=40)
    part = serializers.CharField(max_length=40, required=False, default="")
    until = serializers.IntegerField(required=False)
    language = serializers.CharField(max_length=35, default="en", validators=[validate_locale])

    def validate(self, asked: dict[str, Any]) -> dict[str, Any]:
        today = timezone.now().date()
        asked = {"until": today.year + 1, **asked}
        wrong = public_holidays.problems(asked["country"], asked["part"], asked["until"], today)
        if wrong:
            raise serializers.ValidationError(wrong)
        return asked


class HolidayPartSerializer(serializers.Serializer[Any]):
    """A part of the country with holidays of its own."""

    code = serializers.CharField()
    name = serializers.CharField()


class HolidaysSerializer(serializers.Serializer[Any]):
    """As `days_off` and `holiday_names` of a schedule."""

    days_off = serializers.ListField(child=serializers.DateField())
    holiday_names = serializers.DictField(child=serializers.CharField())
    parts = HolidayPartSerializer(many=True)


class Holidays(ApiView):
    @takes(
        OpenApiParameter("country", str, required=True, description="Its code: KR, DE, US."),
        OpenApiParameter("part", str, description="One of the country's `parts`, such as BY."),
        OpenApiParameter("until", int, description="The last year; next year."),
        OpenApiParameter(
            "language", str, description="Of the names, where they are known in it. Default: en."
        ),
    )
    @extend_schema(operation_id="holidays_retrieve", responses=HolidaysSerializer)
    def get(self, request: Request) -> Response:
        """The public holidays of a country, from today to the end of next year, for the schedule of
        a recurring campaign."""
        asked = self.given(HolidaysAsked, request.query_params.dict())
        choice = asked["country"], asked["part"], asked["until"]
        found = public_holidays.read(*choice, timezone.now().date(), asked["language"])
        return Response(
            {
                "days_off": [day.isoformat() for day in found],
                "holiday_names": days_off.kept(found),
                "parts": [
                    {"code": code, "name": name}
                    for code, name in public_holidays.parts(asked["country"])
                ],
            }
        )
