"""How a run went on each platform, in each language, time zone and app version."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.results import breakdown
from campaigns.results.breakdown import Kind
from campaigns.runs.run import Run
from campaigns.runs.sums import CUT_BY
from campaigns.runs.variants import group
from notifications.api.base.query import takes
from notifications.api.base.view import ApiView

BY = OpenApiParameter(
    "by", str, enum=CUT_BY, required=True, description="What to group the recipients by."
)


class KindSerializer(serializers.Serializer[Any]):
    """The results of the recipients with one value."""

    value = serializers.CharField(
        help_text="As it was when the recipients were chosen; empty: unknown."
    )
    recipients = serializers.IntegerField()
    accepted = serializers.IntegerField()
    rejected = serializers.IntegerField()
    skipped = serializers.IntegerField()
    unknown = serializers.IntegerField()


class BreakdownSerializer(serializers.Serializer[Any]):
    """The results of a run, grouped by one property of its recipients."""

    by = serializers.CharField()
    counted = serializers.BooleanField(
        help_text="False until the run has ended and all recipients are counted."
    )
    items = KindSerializer(many=True, help_text="The 50 largest groups, largest first.")
    others = KindSerializer(allow_null=True, help_text="All smaller groups together.")


class RunBreakdown(ApiView):
    @takes(BY)
    @extend_schema(responses=BreakdownSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """Results of a finished run by platform, locale, time zone, app version or variant. By
        variant there is something only of a run that has variants, a control group or a holdout:
        `A` to `E`, `control`, `holdout`."""
        run, by = self.find(Run, pk), by_of(request)
        stored = breakdown.kept_of(run)
        if stored is None:
            return Response({"by": by, "counted": False, "items": [], "others": None})
        cut = breakdown.cut(stored, by)
        items = [_item(kind, by) for kind in cut.kinds]
        others = _item(cut.others, "") if cut.others else None
        return Response({"by": by, "counted": True, "items": items, "others": others})


def by_of(request: Request) -> str:
    by = request.query_params.get("by", "")
    if by not in CUT_BY:
        raise serializers.ValidationError({"by": f"Use one of {', '.join(CUT_BY)}."})
    return by


def value_of(by: str, value: str) -> str:
    """As programs know it."""
    return group.name_of(int(value)) if by == "variant" and value else value


def _item(kind: Kind, by: str) -> dict[str, Any]:
    names = ("recipients", "accepted", "rejected", "skipped", "unknown")
    return {"value": value_of(by, kind.value), **{name: getattr(kind, name) for name in names}}
