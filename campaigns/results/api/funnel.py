"""What became of a run on the phones: each step with its share, and of how many it is one."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.engagement import funnel
from campaigns.engagement.funnel import Funnel, Goal, StepCount
from campaigns.engagement.receipt import BY_NAME, STEPS
from campaigns.results import breakdown
from campaigns.results.api.breakdown import BY, by_of, value_of
from campaigns.runs.run import Run
from campaigns.runs.sums import Breakdown, totals_of
from notifications.api.base.query import takes
from notifications.api.base.view import ApiView

BESIDE = [event.name.lower() for event in funnel.BESIDE]
CAN_TELL = (
    "Devices of which it would be known: their app reported this step or an earlier one. Null "
    "until the run has ended and is counted."
)
SHARE = "count / can_tell, from 0 to 1. Null where can_tell is null or 0."
COVERAGE = "can_tell / may_have, from 0 to 1: how much of the run the share stands for."


class StepSerializer(serializers.Serializer[Any]):
    """How many devices reported a step, and of how many it would be known."""

    step = serializers.ChoiceField([event.name.lower() for event in STEPS])
    count = serializers.IntegerField()
    can_tell = serializers.IntegerField(allow_null=True, help_text=CAN_TELL)
    share = serializers.FloatField(allow_null=True, help_text=SHARE)
    coverage = serializers.FloatField(allow_null=True, help_text=COVERAGE)


class GoalSerializer(serializers.Serializer[Any]):
    """What people did after it. An event counts for the last run that its person opened (or
    received) before it."""

    event = serializers.CharField()
    after = serializers.ChoiceField(choices=Run.GoalAfter.choices)
    within_seconds = serializers.IntegerField()
    count = serializers.IntegerField(help_text="Devices whose person reached it.")
    can_tell = serializers.IntegerField(allow_null=True, help_text=CAN_TELL)
    share = serializers.FloatField(allow_null=True, help_text=SHARE)
    coverage = serializers.FloatField(allow_null=True, help_text=COVERAGE)
    times = serializers.IntegerField(help_text="Events that count for this run.")
    value_of = serializers.CharField(help_text="The property that is summed up; empty: none.")
    value = serializers.FloatField(allow_null=True, help_text="Its sum over these events.")


class FunnelGroupSerializer(serializers.Serializer[Any]):
    """The steps of the recipients with one value; empty: unknown."""

    value = serializers.CharField()
    may_have = serializers.IntegerField()
    steps = StepSerializer(many=True)
    goal = GoalSerializer(allow_null=True)


class FunnelSerializer(serializers.Serializer[Any]):
    """From whom it was meant for to whom it brought back."""

    planned = serializers.IntegerField()
    accepted = serializers.IntegerField()
    may_have = serializers.IntegerField(
        help_text="Devices that may have got it: accepted, or unknown."
    )
    counted = serializers.BooleanField(help_text="Whether shares are known.")
    steps = StepSerializer(many=True, help_text="In their order.")
    beside = serializers.DictField(
        child=serializers.IntegerField(), help_text=f"What else was reported: {', '.join(BESIDE)}."
    )
    goal = GoalSerializer(allow_null=True)
    groups = FunnelGroupSerializer(
        many=True, allow_null=True, help_text="With `by`: the 50 largest, largest first."
    )


class RunFunnel(ApiView):
    @takes(
        OpenApiParameter("by", str, enum=BY.enum, description="Also the steps of each such group.")
    )
    @extend_schema(responses=FunnelSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """What phones reported of a run: received, displayed, opened, and its goal. A share is of
        the devices that can tell, which is said beside it: of the others nobody knows."""
        by = by_of(request) if "by" in request.query_params else ""
        run = self.find(Run, pk)
        totals, stored = totals_of(run), breakdown.kept_of(run)
        result = funnel.funnel(run, totals, stored)
        return Response(
            {
                "planned": totals.planned,
                "accepted": totals.accepted,
                "may_have": result.may_have,
                "counted": stored is not None,
                "steps": [step_of(step, result.may_have) for step in result.steps],
                "beside": _count_beside(result),
                "goal": _goal(run, result.goal, result.may_have),
                "groups": _groups(run, stored, by) if by and stored else None,
            }
        )


def _count_beside(result: Funnel) -> dict[str, int]:
    counts = {step.event: step.count for step in result.beside}
    return {name: counts.get(BY_NAME[name], 0) for name in BESIDE}


def step_of(reported: StepCount, may_have: int) -> dict[str, Any]:
    return {"step": reported.event.name.lower(), **_share(reported, may_have)}


def _share(step: StepCount, may_have: int) -> dict[str, Any]:
    able = step.able
    return {
        "count": step.count,
        "can_tell": able,
        "share": round(step.count / able, 6) if able else None,
        "coverage": round(able / may_have, 6) if able is not None and may_have else None,
    }


def _goal(run: Run, goal: Goal | None, may_have: int) -> dict[str, Any] | None:
    if goal is None:
        return None
    return {
        "event": run.goal_event,
        "after": run.goal_after,
        "within_seconds": run.goal_within_seconds,
        **_share(goal.reported, may_have),
        "times": goal.times,
        "value_of": run.goal_value,
        "value": float(goal.amount) if run.goal_value else None,
    }


def _groups(run: Run, stored: Breakdown, by: str) -> list[dict[str, Any]]:
    return [
        {
            "value": value_of(by, group.value),
            "may_have": group.may_have,
            "steps": [step_of(step, group.may_have) for step in group.steps],
            "goal": _goal(run, group.goal, group.may_have),
        }
        for group in funnel.by_group(run, stored, by)
    ]
