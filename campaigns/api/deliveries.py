"""Deliveries: what became of each recipient, in pages or as one CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import connection
from django.http import HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.ledger import Delivery
from campaigns.reasons import Reason
from campaigns.run import Run
from notifications.access import Scope
from notifications.api import pages
from notifications.api.view import ApiView

ROWS_AT_ONCE = 2_000
# Spreadsheets run a cell that starts with one of these as a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")

COLUMNS = (
    "seq", "contact", "platform", "status", "reason", "detail", "message_id", "resent", "at",
)  # fmt: skip
# No address: one could push to it. A person erased since has no name here.
SELECT = """
SELECT d.seq, COALESCE(c.external_id, ''), COALESCE(v.platform, ''), d.status, d.reason, d.detail,
    d.message_id, d.resent, d.at
FROM campaigns_delivery d
JOIN campaigns_recipient r ON r.run_id = d.run_id AND r.seq = d.seq
LEFT JOIN notifications_contact c ON c.id = r.contact_id
LEFT JOIN notifications_device v ON v.id = d.device_id
WHERE d.run_id = %(run)s AND d.seq > %(after)s
    AND (%(status)s = '' OR d.status = %(status)s) AND (%(reason)s = '' OR d.reason = %(reason)s)
ORDER BY d.seq
"""
FILTERS = [
    OpenApiParameter("status", str, enum=Delivery.Status.values),
    OpenApiParameter("reason", str, enum=Reason.values),
]


class DeliverySerializer(serializers.Serializer[Any]):
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
    scope = Scope.RUNS

    @extend_schema(
        operation_id="runs_deliveries_list",
        parameters=[*pages.PARAMETERS, *FILTERS],
        responses=pages.schema_of(DeliverySerializer),
    )
    def get(self, request: Request, pk: int) -> Response:
        run, asked = self.find(Run, pk), _filters(request)
        after, limit = pages.where(request)
        with connection.cursor() as cursor:
            cursor.execute(
                f"{SELECT} LIMIT %(limit)s",
                {"run": run.pk, "after": after or 0, "limit": limit + 1, **asked},
            )
            rows = cursor.fetchall()
        items = [dict(zip(COLUMNS, row, strict=True)) for row in rows[:limit]]
        return pages.page(request, items, last=items[-1]["seq"] if len(rows) > limit else None)


class DeliveriesCsv(ApiView):
    scope = Scope.RUNS

    @extend_schema(parameters=FILTERS, responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        """The same as a file, streamed: a million rows take no memory."""
        run, asked = self.find(Run, pk), _filters(request)
        return StreamingHttpResponse(
            _lines(run.pk, asked),
            content_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="run-{run.pk}-deliveries.csv"'},
        )


def _filters(request: Request) -> dict[str, str]:
    allowed = {"status": Delivery.Status.values, "reason": Reason.values}
    asked = {name: request.query_params.get(name, "") for name in allowed}
    for name, value in asked.items():
        if value and value not in allowed[name]:
            raise serializers.ValidationError({name: f"Use one of {', '.join(allowed[name])}."})
    return asked


class _Echo:
    """What csv.writer writes to: hands the line back, to be streamed at once."""

    def write(self, line: str) -> str:
        return line


def _lines(run_id: int, asked: dict[str, str]) -> Iterator[str]:
    """Rows stay on the server until they are wanted: the cursor outlives no download."""
    writer = csv.writer(_Echo())
    yield writer.writerow(COLUMNS)
    with connection.chunked_cursor() as cursor:
        cursor.execute(SELECT, {"run": run_id, "after": 0, **asked})
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield "".join(writer.writerow(map(_cell, row)) for row in rows)


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat()
    harmful = isinstance(value, str) and value.startswith(FORMULA)
    return f"'{value}" if harmful else value
