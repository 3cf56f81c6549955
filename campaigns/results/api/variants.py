"""What came of each variant of a run, and whether they differ for sure."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.results.api.funnel import StepSerializer, step_of
from campaigns.results.variants import Answer, Comparison, Line, Metric, compared
from campaigns.runs.run import Run
from campaigns.runs.variants.group import NUMBERS, name_of
from notifications.api.base.patience import slow
from notifications.api.base.view import ApiView


class RunVariantSerializer(serializers.Serializer[Any]):
    """One group of a run's people."""

    variant = serializers.ChoiceField(choices=[*NUMBERS])
    people = serializers.IntegerField()
    devices = serializers.IntegerField()
    accepted = serializers.IntegerField(
        allow_null=True, help_text="Devices; null until the run has ended and is counted."
    )
    rejected = serializers.IntegerField(allow_null=True)
    skipped = serializers.IntegerField(allow_null=True)
    unknown = serializers.IntegerField(allow_null=True)
    steps = StepSerializer(many=True, help_text="By device, in their order.")
    opened_people = serializers.IntegerField(
        allow_null=True, help_text="null: it takes too long to count."
    )
    goal_people = serializers.IntegerField(
        allow_null=True,
        help_text="People who brought the goal's event about since the run began, whether or not "
        "they opened it. null: no goal, or it takes too long to count.",
    )


class ComparisonSerializer(serializers.Serializer[Any]):
    """One group beside another, by people. It may be read at any time, and as often as you like."""

    metric = serializers.ChoiceField(choices=[(one.value, one.name) for one in Metric])
    one = serializers.CharField(help_text="A variant, or `sent`: all who were sent any.")
    other = serializers.CharField(help_text="`A`, or `control`.")
    answer = serializers.ChoiceField(
        choices=[(one.value, one.name) for one in Answer],
        help_text="`more` and `fewer` are wrong in at most 5 % of all runs.",
    )
    count = serializers.IntegerField()
    of = serializers.IntegerField()
    interval = serializers.ListField(
        child=serializers.FloatField(), help_text="Of the share, from 0 to 1: Wilson's, 95 %."
    )
    other_count = serializers.IntegerField()
    other_of = serializers.IntegerField()
    other_interval = serializers.ListField(child=serializers.FloatField())
    message = serializers.CharField(help_text="The answer in words.")


class VariantsSerializer(serializers.Serializer[Any]):
    """The groups of a run. Both lists are empty where everybody gets the same text."""

    counted = serializers.BooleanField(
        help_text="False while people are being shared out, or where it takes too long to count."
    )
    variants = RunVariantSerializer(many=True)
    comparisons = ComparisonSerializer(many=True)


class RunVariants(ApiView):
    @extend_schema(responses=VariantsSerializer)
    @slow
    def get(self, request: Request, pk: int) -> Response:
        """What came of each variant, of the control group and of the holdout."""
        comparison = compared(self.find(Run, pk))
        if comparison is None:
            return Response({"counted": False, "variants": [], "comparisons": []})
        return Response(
            {
                "counted": comparison.whole,
                "variants": [_line(line) for line in comparison.lines],
                "comparisons": [_comparison(pair) for pair in comparison.comparisons],
            }
        )


def _line(line: Line) -> dict[str, Any]:
    kind, may_have = line.kind, line.may_have
    totals = ("accepted", "rejected", "skipped", "unknown")
    return {
        "variant": name_of(line.group),
        "people": line.people,
        "devices": line.devices,
        **{name: getattr(kind, name) if kind else None for name in totals},
        "steps": [step_of(step, may_have) for step in line.steps],
        "opened_people": line.opened,
        "goal_people": line.did if line.goal else None,
    }


def _comparison(pair: Comparison) -> dict[str, Any]:
    mine, theirs = pair.intervals
    return {
        "metric": pair.metric,
        "one": pair.codes[0],
        "other": pair.codes[1],
        "answer": pair.answer,
        "count": pair.count,
        "of": pair.of,
        "interval": [round(end, 6) for end in mine],
        "other_count": pair.other_count,
        "other_of": pair.other_of,
        "other_interval": [round(end, 6) for end in theirs],
        "message": pair.sentence,
    }
