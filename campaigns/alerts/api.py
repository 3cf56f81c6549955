"""Alerts through the API: read and acknowledge."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.alerts.models import Alert, Kind
from campaigns.alerts.texts import text_of
from notifications.api.base import pages
from notifications.api.base.fields import Nothing
from notifications.api.base.idempotency import idempotent
from notifications.api.base.query import takes
from notifications.api.base.view import ApiView

SLOW = {
    "id": 12,
    "kind": "slow",
    "run": 81,
    "open": True,
    "headline": "“Spring sale” is too slow to finish in time",
    "text": "400,000 recipients wait. 5 a second were sent to in the last 10 minutes; it takes "
    "12.3 a second to reach them before 31 May 2026, 18:30 Asia/Seoul.",
    "numbers": {"waiting": 400_000, "rate": 5.0, "needed": 12.3, "deadline": "2026-05-31T09:30Z"},
    "raised_at": "2026-05-31T00:30:00Z",
    "told_at": "2026-05-31T00:30:00Z",
    "acknowledged_at": None,
    "acknowledged_by": None,
    "ended_at": None,
}
EXAMPLE = OpenApiExample("Too slow", SLOW, response_only=True)


class AlertSerializer(serializers.Serializer[Alert]):
    """Something that is wrong, or was."""

    id = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=Kind.choices)
    run = serializers.IntegerField(allow_null=True)
    open = serializers.BooleanField(help_text="Whether it still is so.")
    headline = serializers.CharField()
    text = serializers.CharField()
    numbers = serializers.DictField(help_text="What was measured; see docs/webhooks.md.")
    raised_at = serializers.DateTimeField()
    told_at = serializers.DateTimeField(
        allow_null=True, help_text="The last time. null: no endpoint wants to hear of alerts."
    )
    acknowledged_at = serializers.DateTimeField(allow_null=True)
    acknowledged_by = serializers.CharField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)

    def to_representation(self, alert: Alert) -> dict[str, Any]:
        text = text_of(alert)
        return {
            "id": alert.pk,
            "kind": alert.kind,
            "run": alert.run_id,
            "open": alert.is_open,
            "headline": text.headline,
            "text": text.text,
            "numbers": alert.numbers,
            "raised_at": alert.raised_at,
            "told_at": alert.told_at,
            "acknowledged_at": alert.acknowledged_at,
            "acknowledged_by": alert.acknowledged_by or None,
            "ended_at": alert.ended_at,
        }


class Alerts(ApiView):
    @takes(
        *pages.PARAMETERS,
        OpenApiParameter(
            "open", bool, description="Only those that still are so, or that are over."
        ),
        OpenApiParameter("kind", str, enum=Kind.values, description="Only of this kind."),
    )
    @extend_schema(operation_id="alerts_list", responses=pages.schema_of(AlertSerializer))
    def get(self, request: Request) -> Response:
        """Every alert, newest first."""
        alerts = Alert.objects.filter(project=self.project)
        if (value := request.query_params.get("open")) is not None:
            alerts = alerts.filter(
                ended_at__isnull=_check_choice("open", value, ("true", "false")) == "true"
            )
        if (value := request.query_params.get("kind")) is not None:
            alerts = alerts.filter(kind=_check_choice("kind", value, Kind.values))
        alerts_with_names = alerts.select_related("project", "run__campaign")
        return pages.page_by_id(request, alerts_with_names, AlertSerializer().to_representation)


def _check_choice(name: str, value: str, allowed: Any) -> str:
    if value not in allowed:
        raise serializers.ValidationError({name: f"Use one of {', '.join(allowed)}."})
    return value


class AlertById(ApiView):
    @extend_schema(responses=AlertSerializer, examples=[EXAMPLE])
    def get(self, request: Request, pk: int) -> Response:
        """One alert."""
        return Response(AlertSerializer(self.find(Alert, pk)).data)


class AlertAcknowledge(ApiView):
    @extend_schema(request=Nothing, responses=AlertSerializer)
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Acknowledge an alert: nobody is reminded of it any more. One that was acknowledged
        before, or has ended, stays as it is."""
        self.given(Nothing)
        alert = self.find(Alert, pk)
        alert.acknowledge(by=self.actor)
        return Response(AlertSerializer(alert).data)
