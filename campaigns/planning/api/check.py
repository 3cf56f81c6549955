"""The launch report for programs: what a launch now would do. Nothing is sent."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.forecast.skips.loss import Loss
from campaigns.launch_check.launch_report import LaunchReport
from campaigns.launch_check.warnings import Code
from campaigns.planning.api_fields import by_api_field
from campaigns.planning.campaign import Campaign
from campaigns.results.api.opens import OpensSerializer
from campaigns.runs.ledger import Delivery
from campaigns.runs.reasons import Reason
from campaigns.texts.preview import Card
from notifications.api.base.patience import slow
from notifications.api.base.problems import ProblemErrorSerializer, flattened
from notifications.api.base.view import ApiView
from notifications.pacing.gate import Limit


class CheckedWhoSerializer(serializers.Serializer[Any]):
    """Whom it would reach. A count is null if it could not be made: `problems` or `warnings` say
    why."""

    audience = serializers.IntegerField()
    rules = serializers.CharField(help_text="In words; empty if they do not work.")
    people = serializers.IntegerField(allow_null=True)
    unreachable = serializers.IntegerField(
        allow_null=True, help_text="People without an active device; not part of `devices`."
    )
    devices = serializers.IntegerField(
        allow_null=True, help_text="Recipients of the run, and whoever `had_it`."
    )
    skipped = serializers.IntegerField(
        allow_null=True,
        help_text="How many of `devices` would get nothing: their person is out, lacks a value "
        "that the text needs, or is drawn for the control group or the holdout; each counts once. "
        "null: not counted.",
    )
    sent_to = serializers.IntegerField(allow_null=True, help_text="`devices` minus `skipped`.")
    platforms = serializers.DictField(
        child=serializers.IntegerField(), help_text="Devices by platform."
    )
    exact = serializers.BooleanField(help_text="False: estimated from a sample, to answer in time.")


class LossSerializer(serializers.Serializer[Any]):
    """Devices that would get nothing, and why. A device may count under several reasons."""

    status = serializers.ChoiceField(choices=Delivery.Status.choices)
    reason = serializers.ChoiceField(choices=Reason.choices)
    devices = serializers.IntegerField(allow_null=True, help_text="null: not counted.")
    of = serializers.IntegerField(allow_null=True, help_text="How many devices were checked.")
    exact = serializers.BooleanField(
        help_text="False: not all were checked. If `of` equals `who.devices`, the count is "
        "estimated from a sample; if it is smaller, only people with the longest values were tried."
    )
    contact = serializers.CharField(help_text="External id of one of the people, or empty.")
    variable = serializers.CharField(help_text="The value that is missing, or empty.")
    message = serializers.CharField()


class CheckedWhenSerializer(serializers.Serializer[Any]):
    """When it starts, and how long it takes."""

    starts_at = serializers.DateTimeField()
    coming = serializers.ListField(
        child=serializers.DateTimeField(), help_text="The next times of a recurring campaign."
    )
    coming_sent_to = serializers.IntegerField(
        allow_null=True,
        help_text="About how many devices each of `coming` would be sent to, as it is now; with "
        "`once_each`, at most. null: not counted, or it does not repeat.",
    )
    seconds = serializers.FloatField(
        allow_null=True,
        help_text="How long the sending takes, without the waits for quiet hours and readers' "
        "clocks. null: the devices were not counted.",
    )
    finishes_at = serializers.DateTimeField(allow_null=True)
    rate_per_second = serializers.FloatField(help_text="After the slow start.")
    limit = serializers.ChoiceField(
        choices=[(limit.value, limit.name) for limit in Limit], help_text="What limits the rate."
    )
    message = serializers.CharField(help_text="The limit in words.")
    first = serializers.IntegerField(help_text="Devices that go first; 0: all go at once.")
    wait_seconds = serializers.IntegerField(
        help_text="How long the rest waits for them; part of `seconds`."
    )


class ForecastSerializer(serializers.Serializer[Any]):
    """How many messages leave when, beside what else is planned: by quiet hours, each reader's
    clock, the rate and “Expires after”."""

    sent = serializers.IntegerField(help_text="Messages that leave.")
    too_late = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Of `who.sent_to`, those who get nothing because of the time, by reason: "
        "`expired`, `quiet_hours`.",
    )
    ends_at = serializers.DateTimeField(allow_null=True, help_text="When the last one leaves.")
    step_seconds = serializers.IntegerField()
    counts = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="How many leave in each step, from `when.starts_at` on.",
    )
    beside = serializers.ListField(
        child=serializers.CharField(),
        help_text="The campaigns of this project that take a part of the rate meanwhile.",
    )
    exact = serializers.BooleanField(
        help_text="False: reckoned from a sample, from parts of each time zone, or with each "
        "person standing for several."
    )
    opens = OpensSerializer(
        allow_null=True, help_text="null: nobody knows yet how many open a message of the project."
    )


class WarningSerializer(serializers.Serializer[Any]):
    """Something unusual that does not prevent a launch."""

    code = serializers.ChoiceField(choices=[(code.value, code.name) for code in Code])
    message = serializers.CharField()


class SampleSerializer(serializers.Serializer[Any]):
    """One of the people. `templates/{id}/preview` shows exactly what they would read."""

    contact = serializers.CharField(help_text="External id.")
    platform = serializers.CharField()
    locale = serializers.CharField()
    sendable = serializers.BooleanField()
    detail = serializers.CharField(help_text="Why not; empty if sendable.")
    bytes = serializers.IntegerField(help_text="Size of the message; FCM takes 4,096 at most.")


class CheckSerializer(serializers.Serializer[Any]):
    """What a launch now would do."""

    campaign = serializers.IntegerField()
    checked_at = serializers.DateTimeField()
    launchable = serializers.BooleanField(help_text="Whether a launch would be accepted.")
    run = serializers.IntegerField(allow_null=True, help_text="The run it was already launched as.")
    problems = ProblemErrorSerializer(
        many=True, help_text="Why a launch would be refused: the `errors` it would return."
    )
    who = CheckedWhoSerializer()
    skipped = LossSerializer(many=True)
    when = CheckedWhenSerializer()
    forecast = ForecastSerializer(allow_null=True, help_text="null: it could not be counted.")
    warnings = WarningSerializer(many=True)
    samples = SampleSerializer(many=True)


class CampaignCheck(ApiView):
    @extend_schema(responses=CheckSerializer)
    @slow
    def get(self, request: Request, pk: int) -> Response:
        """Whom a launch would reach, who would be skipped and why, and how long it would take.
        Changes nothing. Takes some seconds with millions of people; a launch does not need it."""
        report = LaunchReport(self.find(Campaign, pk), timezone.now())
        return Response(CheckSerializer(_report_json(report)).data)


def _report_json(report: LaunchReport) -> dict[str, Any]:
    return {
        "campaign": report.campaign.pk,
        "checked_at": report.now,
        "launchable": report.launchable,
        "run": report.run.pk if report.run else None,
        "problems": list(flattened(by_api_field(report.obstacles))),
        "who": _reach_json(report),
        "skipped": [_loss_json(loss) for loss in report.losses],
        "when": _time_json(report),
        "forecast": _forecast_json(report),
        "warnings": [{"code": doubt.code, "message": doubt.words} for doubt in report.doubts],
        "samples": [_sample_json(card) for card in report.samples],
    }


def _reach_json(report: LaunchReport) -> dict[str, Any]:
    reach = report.reach
    return {
        "audience": report.campaign.audience_id,
        "rules": report.audience_in_words,
        "people": reach.people if reach else None,
        "unreachable": reach.unreachable_people if reach else None,
        "devices": reach.devices if reach else None,
        "skipped": report.skipped.devices if reach else None,
        "sent_to": report.sent_to,
        "platforms": reach.platforms if reach else {},
        "exact": reach is not None and reach.exact,
    }


def _loss_json(loss: Loss) -> dict[str, Any]:
    return {
        "status": Delivery.Status.REJECTED if loss.rejected else Delivery.Status.SKIPPED,
        "reason": loss.reason,
        "devices": loss.devices,
        "of": loss.of,
        "exact": loss.exact,
        "contact": loss.example,
        "variable": loss.variable,
        "message": loss.words,
    }


def _time_json(report: LaunchReport) -> dict[str, Any]:
    return {
        "starts_at": report.starts_at,
        "coming": [occurrence.due for occurrence in report.coming],
        "coming_sent_to": report.sent_to if report.coming else None,
        "seconds": report.seconds,
        "finishes_at": report.finishes_at,
        "rate_per_second": report.pace.rate,
        "limit": report.pace.by,
        "message": report.pace.limit,
        "first": report.first,
        "wait_seconds": report.wait,
    }


def _forecast_json(report: LaunchReport) -> dict[str, Any] | None:
    course = report.course
    if course is None:
        return None
    return {
        "sent": course.sent,
        "too_late": course.skipped,
        "ends_at": course.ends_at,
        "step_seconds": course.step,
        "counts": course.counts,
        "beside": report.beside_named,
        "exact": course.exact,
        "opens": report.opens,
    }


def _sample_json(card: Card) -> dict[str, Any]:
    return {
        "contact": card.person.external_id if card.person else "",
        "platform": card.platform,
        "locale": card.locale,
        "sendable": card.message is not None,
        "detail": card.detail,
        "bytes": card.bytes_used,
    }
