"""How busy the project's own servers are: reported, and read back with the rate that follows."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.engine import load
from notifications.api.base.fields import StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.view import ApiView
from notifications.pacing.load import Load

NUMBER = "Must be a number from 0 (idle: send as planned) to 1 (send as slowly as you may)."
NOBODY = {"level": None, "safe_rate_per_second": None, "reported_at": None, "silent": False}
EXAMPLE = OpenApiExample("Half busy", {"level": 0.5}, request_only=True)


class LevelField(serializers.FloatField):
    """DRF takes "0.5" and true, too."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return super().to_internal_value(data)


class LevelSerializer(StrictSerializer):
    """How busy your servers are."""

    level = LevelField(
        min_value=0,
        max_value=1,
        error_messages=dict.fromkeys(("invalid", "min_value", "max_value", "overflow"), NUMBER),
        help_text="From 0, idle: send as planned, to 1: send as slowly as you may. In between the "
        "rate lies in between.",
    )


class LoadSerializer(serializers.Serializer[Load]):
    """What was reported last, and what follows from it. null: nobody has reported it, and runs are
    sent as planned."""

    level = serializers.FloatField(allow_null=True, help_text="As it was reported.")
    safe_rate_per_second = serializers.FloatField(
        allow_null=True,
        help_text="Messages per second that all runs of campaigns together send at most.",
    )
    reported_at = serializers.DateTimeField(allow_null=True)
    silent = serializers.BooleanField(
        help_text="No report for 30 seconds: the rate stays where it is. `runs/{id}/ignore-load` "
        "goes on as planned."
    )

    def to_representation(self, load: Load) -> dict[str, Any]:
        return {
            "level": load.level,
            "safe_rate_per_second": round(load.safe_rate, 2),
            "reported_at": load.reported_at,
            "silent": load.is_silent(timezone.now()),
        }


class Backpressure(ApiView):
    @extend_schema(operation_id="backpressure_retrieve", responses=LoadSerializer)
    def get(self, request: Request) -> Response:
        """How busy your servers said they are, and how fast that lets runs of campaigns send."""
        newest_load = Load.objects.filter(project=self.project).first()
        return Response(LoadSerializer(newest_load).data if newest_load else NOBODY)

    @extend_schema(request=LevelSerializer, responses=LoadSerializer, examples=[EXAMPLE])
    @idempotent
    def post(self, request: Request) -> Response:
        """Report how busy your servers are, every few seconds. All runs of campaigns of the project
        follow within five: from what they plan together, at 0, to the project's floor, at 1.
        Messages to single people do not wait for it. Only a report makes sending faster again."""
        values = self.given(LevelSerializer)
        return Response(LoadSerializer(load.reported(self.project, values["level"])).data)
