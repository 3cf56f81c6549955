"""Deliveries: what became of each recipient, in pages or as one CSV."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.results import recipients
from campaigns.results.recipients import Filters, Row
from campaigns.runs.ledger import Delivery
from campaigns.runs.reasons import Reason
from campaigns.runs.run import Run
from notifications.api.ground import pages
from notifications.api.ground.query import takes
from notifications.api.ground.view import ApiView

FILTERS = [
    OpenApiParameter("status", {"$ref": "#/components/schemas/DeliveryStatus"}),
    OpenApiParameter("reason", str, enum=Reason.values),
]


class DeliverySerializer(serializers.Serializer[Any]):
    """What became of one recipient."""

    seq = serializers.IntegerField(help_text="The recipient's number in the run.")
    contact = serializers.CharField(help_text="External id; empty when erased since.")
    platform = serializers.CharField()
    status = serializers.ChoiceField(choices=Delivery.Status.choices)
    reason = serializers.CharField(help_text="A code; empty when accepted.")
    detail = serializers.CharField()
    message_id = serializers.CharField(help_text="FCM's name of the message.")
    resent = serializers.BooleanField(help_text="The phone may have got two.")
    at = serializers.DateTimeField()


class Deliveries(ApiView):
    @takes(*pages.PARAMETERS, *FILTERS)
    @extend_schema(
        operation_id="runs_deliveries_list", responses=pages.schema_of(DeliverySerializer)
    )
    def get(self, request: Request, pk: int) -> Response:
        """What became of each recipient, in the order of their numbers."""
        run, asked = self.find(Run, pk), _filters(request)
        after, limit = pages.where(request)
        rows = recipients.page(run, asked, after=after or 0, limit=limit + 1)
        items = [_item(row) for row in rows[:limit]]
        return pages.page(request, items, last=items[-1]["seq"] if len(rows) > limit else None)


class DeliveriesCsv(ApiView):
    @takes(*FILTERS)
    @extend_schema(responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        """The same as a file, streamed: a million rows take no memory."""
        run, asked = self.find(Run, pk), _filters(request)
        return StreamingHttpResponse(
            recipients.csv_lines(run, asked),
            content_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="run-{run.pk}-deliveries.csv"'},
        )


def _item(row: Row) -> dict[str, Any]:
    return {
        "seq": row.seq,
        "contact": row.external_id or "",
        "platform": row.platform or "",
        "status": row.status,
        "reason": row.reason,
        "detail": row.detail,
        "message_id": row.message_id,
        "resent": row.resent,
        "at": row.at,
    }


def _filters(request: Request) -> Filters:
    allowed = {"status": Delivery.Status.values, "reason": Reason.values}
    asked = {name: request.query_params.get(name, "") for name in allowed}
    for name, value in asked.items():
        if value and value not in allowed[name]:
            raise serializers.ValidationError({name: f"Use one of {', '.join(allowed[name])}."})
    return Filters(status=asked["status"], reason=asked["reason"], settled=True)
