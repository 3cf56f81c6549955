"""Deliveries: what became of each recipient, in pages or as one CSV."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.results import recipients, sent
from campaigns.results.recipients import Filters, Row
from campaigns.runs.ledger import Delivery
from campaigns.runs.reasons import Reason
from campaigns.runs.run import Run
from campaigns.runs.variants import group
from notifications.api.base import pages, query
from notifications.api.base.patience import slow
from notifications.api.base.query import takes
from notifications.api.base.view import ApiView
from notifications.api.person_in_query import contact_named

FILTERS = [
    OpenApiParameter("status", {"$ref": "#/components/schemas/DeliveryStatus"}),
    OpenApiParameter("reason", str, enum=Reason.values),
    query.number("revision", "Only those of this revision of the text.", most=9_999),
    OpenApiParameter(
        "variant", str, enum=[*group.NUMBERS], description="Only those of this group."
    ),
]
ARRIVED = {
    "seq": 7,
    "platform": "ios",
    "status": "accepted",
    "reason": "",
    "detail": "",
    "message_id": "projects/demo/messages/0:1700000000",
    "resent": False,
    "at": "2026-05-31T09:30:00Z",
    "revision": 1,
}
OF_A_RUN = OpenApiExample(
    "One recipient",
    {"results": [{**ARRIVED, "contact": "ada", "variant": ""}], "next": None},
    response_only=True,
)
OF_A_PERSON = OpenApiExample(
    "One message", {"results": [{**ARRIVED, "run": 1}], "next": None}, response_only=True
)


class DeliverySerializer(serializers.Serializer[Any]):
    """The result for one recipient."""

    seq = serializers.IntegerField(help_text="The recipient's number in the run.")
    contact = serializers.CharField(help_text="External id; empty if the person was erased.")
    platform = serializers.CharField()
    status = serializers.ChoiceField(choices=Delivery.Status.choices)
    reason = serializers.CharField(help_text="A code; empty if accepted.")
    detail = serializers.CharField()
    message_id = serializers.CharField(help_text="The name FCM gave the message.")
    resent = serializers.BooleanField(help_text="The phone may have received it twice.")
    at = serializers.DateTimeField()
    revision = serializers.IntegerField(
        help_text="Of the run's text: what was sent last, or would have been."
    )
    variant = serializers.CharField(
        help_text="`A` to `E`, `control` or `holdout`; empty where the run was not split."
    )


class SentSerializer(serializers.Serializer[Any]):
    """The result for one device of the person."""

    run = serializers.IntegerField()
    seq = serializers.IntegerField(help_text="The recipient's number in the run.")
    platform = serializers.CharField(help_text="Empty if the device was removed.")
    status = serializers.ChoiceField(choices=Delivery.Status.choices)
    reason = serializers.CharField(help_text="A code; empty if accepted.")
    detail = serializers.CharField()
    message_id = serializers.CharField(help_text="The name FCM gave the message.")
    resent = serializers.BooleanField(help_text="The phone may have received it twice.")
    at = serializers.DateTimeField()
    revision = serializers.IntegerField(
        help_text="Of the run's text: what was sent last, or would have been."
    )


class DeliveriesOfOne(ApiView):
    @takes(
        query.contact(required=True),
        *pages.PARAMETERS,
    )
    @extend_schema(
        operation_id="deliveries_list",
        responses=pages.schema_of(SentSerializer),
        examples=[OF_A_PERSON],
    )
    @slow
    def get(self, request: Request) -> Response:
        """One person's deliveries in all runs, newest first. Each page searches 1,000 runs, so it
        may be short or empty and still have a `next`."""
        contact = contact_named(self, request.query_params.get("contact"))
        after, limit = pages.where(request)
        page = sent.page_of(contact, after=after, limit=limit)
        platforms = dict(contact.devices.values_list("pk", "platform"))
        items = [
            {**sent.sent_json(row), "platform": platforms.get(row.device_id, "")}
            for row in page.rows
        ]
        return pages.page(request, items, last=page.last)


class Deliveries(ApiView):
    @takes(*pages.PARAMETERS, *FILTERS)
    @extend_schema(
        operation_id="runs_deliveries_list",
        responses=pages.schema_of(DeliverySerializer),
        examples=[OF_A_RUN],
    )
    def get(self, request: Request, pk: int) -> Response:
        """Each recipient's result, in the order of their numbers."""
        run, filters = self.find(Run, pk), _filters(request)
        after, limit = pages.where(request)
        rows = recipients.page(run, filters, after=after or 0, limit=limit + 1)
        items = [_item(row) for row in rows[:limit]]
        return pages.page(request, items, last=items[-1]["seq"] if len(rows) > limit else None)


class DeliveriesCsv(ApiView):
    @takes(*FILTERS)
    @extend_schema(responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        """Each recipient's result as a CSV file, streamed."""
        run, filters = self.find(Run, pk), _filters(request)
        return StreamingHttpResponse(
            recipients.csv_lines(run, filters),
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
        "revision": row.revision,
        "variant": group.name_of(row.variant),
    }


def _filters(request: Request) -> Filters:
    allowed = {
        "status": Delivery.Status.values,
        "reason": Reason.values,
        "variant": [*group.NUMBERS],
    }
    values = {name: request.query_params.get(name, "") for name in allowed}
    for name, value in values.items():
        if value and value not in allowed[name]:
            raise serializers.ValidationError({name: f"Use one of {', '.join(allowed[name])}."})
    revision = _revision(request.query_params.get("revision"))
    variant = group.NUMBERS.get(values["variant"])
    return Filters(
        values["status"], values["reason"], settled=True, revision=revision, variant=variant
    )


def _revision(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and 0 < len(text) < 5 and int(text)):
        raise serializers.ValidationError({"revision": "Must be the number of a revision."})
    return int(text)
