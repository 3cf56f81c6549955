"""The launch report for programs: what a launch at this moment would do, and nothing is sent."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.api import schedules
from campaigns.planning.campaign import Campaign
from campaigns.planning.launch_check.doubts import Code
from campaigns.planning.launch_check.launch_report import LaunchReport
from campaigns.planning.launch_check.losses import Loss
from campaigns.runs.ledger import Delivery
from campaigns.runs.reasons import Reason
from campaigns.texts.preview import Card
from notifications.api.ground.patience import slow
from notifications.api.ground.problems import ProblemErrorSerializer, flattened
from notifications.api.ground.view import ApiView
from notifications.pace.gate import Limit


class CheckedWhoSerializer(serializers.Serializer[Any]):
    """Whom it would reach. The counts are null when nobody could count them: `problems` or
    `warnings` say why."""

    audience = serializers.IntegerField()
    rules = serializers.CharField(help_text="In words; empty when they are broken.")
    people = serializers.IntegerField(allow_null=True)
    unreachable = serializers.IntegerField(
        allow_null=True, help_text="People without any device that can receive: none of `devices`."
    )
    devices = serializers.IntegerField(allow_null=True, help_text="Recipients of the run.")
    platforms = serializers.DictField(
        child=serializers.IntegerField(), help_text="Devices by platform."
    )
    exact = serializers.BooleanField(help_text="False: counted on a sample, to answer in time.")


class LossSerializer(serializers.Serializer[Any]):
    """Devices that would get nothing, and why. Two of them may name the same device."""

    status = serializers.ChoiceField(choices=Delivery.Status.choices)
    reason = serializers.ChoiceField(choices=Reason.choices)
    devices = serializers.IntegerField(allow_null=True, help_text="null: nobody could count them.")
    of = serializers.IntegerField(allow_null=True, help_text="So many devices were looked at.")
    exact = serializers.BooleanField(
        help_text="False: not all were looked at. With `of` as large as `who.devices` it was "
        "counted on a sample; with a smaller one, people with the longest values were tried."
    )
    contact = serializers.CharField(help_text="External id of one of the people, or empty.")
    variable = serializers.CharField(help_text="The value that is missing, or empty.")
    message = serializers.CharField()


class CheckedWhenSerializer(serializers.Serializer[Any]):
    """When it starts, and how long it takes."""

    starts_at = serializers.DateTimeField()
    coming = serializers.ListField(
        child=serializers.DateTimeField(), help_text="Of a recurring one: its next times."
    )
    seconds = serializers.FloatField(allow_null=True, help_text="null: nobody could be counted.")
    finishes_at = serializers.DateTimeField(allow_null=True)
    rate_per_second = serializers.FloatField(help_text="Once the start is over.")
    limit = serializers.ChoiceField(
        choices=[(limit.value, limit.name) for limit in Limit], help_text="Why it is no higher."
    )
    message = serializers.CharField(help_text="The same in words.")


class WarningSerializer(serializers.Serializer[Any]):
    """What is odd: worth a look, and no obstacle."""

    code = serializers.ChoiceField(choices=[(code.value, code.name) for code in Code])
    message = serializers.CharField()


class SampleSerializer(serializers.Serializer[Any]):
    """One of the people. What exactly they read, templates/{id}/preview shows."""

    contact = serializers.CharField(help_text="External id.")
    platform = serializers.CharField()
    locale = serializers.CharField()
    sendable = serializers.BooleanField()
    detail = serializers.CharField(help_text="Why not; else empty.")
    bytes = serializers.IntegerField(help_text="Of the 4,096 that FCM takes.")


class CheckSerializer(serializers.Serializer[Any]):
    """What a launch at this moment would do."""

    campaign = serializers.IntegerField()
    checked_at = serializers.DateTimeField()
    launchable = serializers.BooleanField(help_text="Whether a launch would be taken.")
    run = serializers.IntegerField(allow_null=True, help_text="That it was launched as already.")
    problems = ProblemErrorSerializer(
        many=True, help_text="Why a launch would be refused: its `errors`, word for word."
    )
    who = CheckedWhoSerializer()
    skipped = LossSerializer(many=True)
    when = CheckedWhenSerializer()
    warnings = WarningSerializer(many=True)
    samples = SampleSerializer(many=True)


class CampaignCheck(ApiView):
    @extend_schema(responses=CheckSerializer)
    @slow
    def get(self, request: Request, pk: int) -> Response:
        """Whom it would reach, who would be skipped and why, how long it takes, what is odd. It
        only looks, for some seconds if there are millions of people; no launch needs it."""
        report = LaunchReport(self.find(Campaign, pk), timezone.now())
        return Response(CheckSerializer(_shown(report)).data)


def _shown(report: LaunchReport) -> dict[str, Any]:
    return {
        "campaign": report.campaign.pk,
        "checked_at": report.now,
        "launchable": report.launchable,
        "run": report.run.pk if report.run else None,
        "problems": list(flattened(schedules.placed(report.obstacles))),
        "who": _who(report),
        "skipped": [_loss(loss) for loss in report.losses],
        "when": _when(report),
        "warnings": [{"code": one.code, "message": one.words} for one in report.doubts],
        "samples": [_sample(card) for card in report.samples],
    }


def _who(report: LaunchReport) -> dict[str, Any]:
    reach = report.reach
    return {
        "audience": report.campaign.audience_id,
        "rules": report.said,
        "people": reach.people if reach else None,
        "unreachable": reach.unreachable_people if reach else None,
        "devices": reach.devices if reach else None,
        "platforms": reach.platforms if reach else {},
        "exact": reach is not None and reach.exact,
    }


def _loss(loss: Loss) -> dict[str, Any]:
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


def _when(report: LaunchReport) -> dict[str, Any]:
    return {
        "starts_at": report.starts_at,
        "coming": report.coming,
        "seconds": report.seconds,
        "finishes_at": report.finishes_at,
        "rate_per_second": report.pace.rate,
        "limit": report.pace.by,
        "message": report.pace.limit,
    }


def _sample(card: Card) -> dict[str, Any]:
    return {
        "contact": card.person.external_id if card.person else "",
        "platform": card.platform,
        "locale": card.locale,
        "sendable": card.message is not None,
        "detail": card.detail,
        "bytes": card.bytes_used,
    }
