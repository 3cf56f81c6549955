"""The endpoints of the quota planner."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.figures.hours import Hour, hours_of, of_day
from campaigns.forecast.other_runs import delays, firebase_projects, run_sizes
from campaigns.forecast.other_runs.delays import MAX_MESSAGES, Outcome
from campaigns.forecast.other_runs.planned_runs import Planned, compute_planned, of_campaign
from campaigns.planning.campaign import Campaign
from notifications.api.base import query
from notifications.api.base.fields import Moment
from notifications.api.base.patience import slow
from notifications.api.base.query import takes
from notifications.api.base.view import ApiView
from notifications.postgres.budget import clock, until
from notifications.values.moments import YEARS

# --- The question ---------------------------------------------------------------------------------


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

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "campaign" in attrs and "messages" in attrs:
            text = "Leave it out: the campaign says how many."
            raise serializers.ValidationError({"messages": text})
        if "messages" in attrs and "at" not in attrs:
            raise serializers.ValidationError({"at": "Say when they are sent."})
        if "at" in attrs and "campaign" not in attrs and "messages" not in attrs:
            text = "Give it with a campaign, or with messages."
            raise serializers.ValidationError({"at": text})
        return attrs

    def _check_year(self, day: date) -> None:
        if day.year not in YEARS:
            raise serializers.ValidationError(f"Choose a year from {YEARS[0]} to {YEARS[-1]}.")


# --- The answer -----------------------------------------------------------------------------------

DAYS = 2


class QuotaHourSerializer(serializers.Serializer[Any]):
    """What one hour takes of the quota."""

    begins_at = serializers.DateTimeField()
    sent = serializers.IntegerField()
    planned = serializers.IntegerField()
    share = serializers.FloatField(help_text="Of what 80 % of the quota allow in an hour; 1: all.")


class QuotaPlannedSerializer(serializers.Serializer[Any]):
    """A run, or what is expected to become one."""

    campaign = serializers.IntegerField(
        allow_null=True, help_text="null: of another project that sends by the same quota."
    )
    run = serializers.IntegerField(allow_null=True, help_text="null: there is none yet.")
    begins_at = serializers.DateTimeField(help_text="Of a run under way: now.")
    ends_at = serializers.DateTimeField(allow_null=True, help_text="When its last message leaves.")
    messages = serializers.IntegerField(
        allow_null=True,
        help_text="That leave from now on, without those who are skipped. null: nobody could "
        "count them in time.",
    )
    exact = serializers.BooleanField(
        help_text="False: estimated of a part of the people, or of the last run of a series."
    )
    too_late = serializers.IntegerField(help_text="Who get nothing: it expires before their turn.")


class QuotaPushedSerializer(QuotaPlannedSerializer):
    """One that would end later, or for which it would get too late."""

    then_ends_at = serializers.DateTimeField()
    later_seconds = serializers.FloatField()
    fewer = serializers.IntegerField(help_text="For so many more it would be too late.")


class QuotaAnotherSerializer(serializers.Serializer[Any]):
    """What the campaign, or the messages, that were asked for would bring about."""

    begins_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField(allow_null=True)
    alone_ends_at = serializers.DateTimeField(
        allow_null=True, help_text="If nothing else were planned."
    )
    messages = serializers.IntegerField(help_text="Without those who are skipped.")
    too_late = serializers.IntegerField()
    pushes_out = QuotaPushedSerializer(many=True)


class QuotaSerializer(serializers.Serializer[Any]):
    """Of the Firebase project that this project sends to."""

    firebase_project = serializers.CharField()
    projects = serializers.IntegerField(help_text="Of this installation that send by it.")
    quota_per_minute = serializers.IntegerField(help_text="The lowest that one of them says.")
    rate_per_second = serializers.FloatField(help_text="80 % of it: what is used.")
    sent_as_of = serializers.DateTimeField(help_text="An hour's number may be ten minutes late.")
    hours = QuotaHourSerializer(many=True, help_text="Of two days by the project's clock.")
    planned = QuotaPlannedSerializer(many=True)
    not_reckoned = serializers.IntegerField(
        help_text="So many more are planned in these days than are reckoned together."
    )
    another = QuotaAnotherSerializer(allow_null=True, help_text="null: none was asked for.")


class Quota(ApiView):
    @takes(
        OpenApiParameter("day", date, description="The first of the two days; today."),
        query.number("campaign", "What would it push out?"),
        query.number("messages", "What would so many push out?", most=delays.MAX_MESSAGES),
        OpenApiParameter("at", datetime, description="When; without it, a campaign's own time."),
    )
    @extend_schema(operation_id="quota_retrieve", responses=QuotaSerializer)
    @slow
    def get(self, request: Request) -> Response:
        """How much of FCM's quota was used and is planned, by the hour of two days, and what one
        more campaign would push out. Messages to single people are not foretold."""
        params = self.given(QuotaAsked, request.query_params.dict())
        with until(clock() + run_sizes.COUNTING_SECONDS):
            return Response(QuotaSerializer(self._answer(params)).data)

    def _answer(self, params: dict[str, Any]) -> dict[str, Any]:
        another = self._another(params)  # first of all: the counting may take all of the time
        now, firebase_project = timezone.now(), firebase_projects.for_project(self.project)
        zone = ZoneInfo(self.project.timezone)
        day = params.get("day", now.astimezone(zone).date())
        first, last = (
            datetime.combine(first_or_last, time(), zone)
            for first_or_last in (day, day + timedelta(days=DAYS))
        )
        planned = compute_planned(firebase_project, first, last, now)
        hours = hours_of(firebase_project, planned.runs, of_day(first, last), now)
        return {
            "firebase_project": firebase_project.name,
            "projects": len(firebase_project.projects),
            "quota_per_minute": firebase_project.per_minute,
            "rate_per_second": round(firebase_project.rate, 2),
            "sent_as_of": hours.as_of,
            "hours": [_hour(one) for one in hours.hours],
            "planned": [self._planned(one) for one in planned.runs if one.is_within(first, last)],
            "not_reckoned": planned.more,
            "another": another,
        }

    def _planned(self, planned: Planned) -> dict[str, Any]:
        mine = planned.campaign.project_id == self.project.pk
        return {
            "campaign": planned.campaign.pk if mine else None,
            "run": planned.run.pk if mine and planned.run else None,
            "begins_at": planned.at,
            "ends_at": planned.ends_at,
            "messages": planned.goes.sent if planned.goes else None,
            "exact": planned.asks is not None and planned.asks.exact,
            "too_late": planned.goes.too_late if planned.goes else 0,
        }

    def _another(self, params: dict[str, Any]) -> dict[str, Any] | None:
        now, firebase_project = timezone.now(), firebase_projects.for_project(self.project)
        if "messages" in params:
            asks = delays.messages(params["messages"], params["at"], firebase_project)
            return self._outcome(delays.with_another(asks, firebase_project, now))
        if "campaign" not in params:
            return None
        campaign = Campaign.objects.filter(project=self.project, pk=params["campaign"]).first()
        if campaign is None:
            text = f"There is no campaign {params['campaign']} in this project."
            raise ValidationError({"campaign": text})
        of_it = of_campaign(campaign, params.get("at"), firebase_project, now)
        if of_it is None:
            text = "Its people could not be counted in time. Give messages and at instead."
            raise ValidationError({"campaign": text})
        return self._outcome(delays.with_another(of_it, firebase_project, now, of=campaign))

    def _outcome(self, outcome: Outcome) -> dict[str, Any]:
        return {
            "begins_at": outcome.goes.asks.rules.start,
            "ends_at": outcome.ends_at,
            "alone_ends_at": outcome.alone_ends_at,
            "messages": outcome.goes.sent,
            "too_late": outcome.goes.too_late,
            "pushes_out": [
                self._planned(pushed.planned)
                | {
                    "then_ends_at": pushed.ends_at,
                    "later_seconds": pushed.later.total_seconds(),
                    "fewer": pushed.fewer,
                }
                for pushed in outcome.pushed
            ],
        }


def _hour(hour: Hour) -> dict[str, Any]:
    return {
        "begins_at": hour.begins,
        "sent": hour.sent,
        "planned": hour.planned,
        "share": round(hour.share, 4),
    }
