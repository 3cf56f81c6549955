"""Rehearsals: FCM checks what a campaign would send, and delivers nothing."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.core.exceptions import ValidationError as Invalid
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns import control, tasks
from campaigns.api import schedules
from campaigns.api.rehearsals.shown import (
    RehearsalSerializer,
    RehearsalSummarySerializer,
    summary,
    whole,
)
from campaigns.audiences import reach
from campaigns.planning.campaign import Campaign
from campaigns.planning.rehearsing import Going
from campaigns.runs.rehearsal import LEAST, MOST, SAMPLE, Rehearsal
from campaigns.runs.run import Run
from notifications.api.ground import pages
from notifications.api.ground.fields import Nothing, StrictSerializer
from notifications.api.ground.idempotency import idempotent
from notifications.api.ground.problems import Problem, refuses
from notifications.api.ground.query import takes
from notifications.api.ground.view import ApiView
from notifications.task_queue import enqueue_on_commit

EXAMPLES = [
    OpenApiExample("A sample", {"sample": 1000}, request_only=True),
    OpenApiExample(
        "Everybody",
        {"everybody": True, "requests": 20_000, "retire_dead": True},
        request_only=True,
    ),
]


class RehearseSerializer(StrictSerializer):
    """Of whom FCM is asked."""

    sample = serializers.IntegerField(
        min_value=LEAST,
        max_value=MOST,
        required=False,
        help_text=f"How many devices are drawn; left out: {SAMPLE:,}.",
    )
    everybody = serializers.BooleanField(default=False, help_text="Every device, and no sample.")
    requests = serializers.IntegerField(
        min_value=1,
        required=False,
        help_text="With `everybody`: how many requests of FCM's quota it may take, so that nobody "
        "asks for millions unawares. Left out or too low, the refusal says how many it would take.",
    )
    retire_dead = serializers.BooleanField(
        default=False, help_text="Retire the devices whose address FCM calls dead."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["everybody"] and "sample" in attrs:
            raise serializers.ValidationError({"sample": "Leave it out, or `everybody`."})
        if not attrs["everybody"] and "requests" in attrs:
            raise serializers.ValidationError({"requests": "Only with `everybody`."})
        return attrs


class CampaignRehearse(ApiView):
    place = ("api-rehearsal", "id")

    @refuses(HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY)
    @extend_schema(
        request=RehearseSerializer, responses={202: RehearsalSerializer}, examples=EXAMPLES
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Have FCM check what a launch at this moment would send, on a sample or on everybody. No
        phone gets anything, and no result, history or audience counts it."""
        given, campaign = self.given(RehearseSerializer), self.find(Campaign, pk)
        sample = None if given["everybody"] else given.get("sample", SAMPLE)
        if sample is None:
            _refuse_unconfirmed(campaign, given.get("requests", 0))
        try:
            made = control.rehearse(
                campaign,
                sample=sample,
                retires=given["retire_dead"],
                by=self.actor,
                now=timezone.now(),
            )
        except ObjectDoesNotExist as error:
            raise NotFound(f"There is no campaign {pk} in this project.") from error
        except Campaign.NotReady as error:
            raise Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                "It cannot be rehearsed yet; see errors.",
                kind="not-ready",
                errors=schedules.placed(error.problems),
            ) from error
        except Going as error:
            raise Problem(HTTPStatus.CONFLICT, str(error), kind="rehearsal-goes-on") from error
        enqueue_on_commit(tasks.advance, run_id=made.run_id)
        return Response(whole(made), status=HTTPStatus.ACCEPTED)


def _refuse_unconfirmed(campaign: Campaign, requests: int) -> None:
    try:
        found = reach.quick(campaign.project_id, campaign.audience.effective_rules)
    except Invalid:
        return  # the rules are broken, or too many to count: the next step says which
    if found.devices > requests:
        quota = campaign.project.quota_per_minute
        said = (
            f"It would take about {found.devices:,} requests; FCM's quota is {quota:,} a minute. "
            f"Repeat it with requests: {found.devices} or more, or rehearse a sample."
        )
        raise serializers.ValidationError({"requests": said})


class CampaignRehearsals(ApiView):
    @takes(*pages.PARAMETERS)
    @extend_schema(responses=pages.schema_of(RehearsalSummarySerializer))
    def get(self, request: Request, pk: int) -> Response:
        """The rehearsals of a campaign, newest first."""
        campaign = self.find(Campaign, pk)
        found = Rehearsal.objects.filter(run__campaign=campaign.pk)
        return pages.page_by_id(request, found.select_related("run"), summary)


class RehearsalById(ApiView):
    @extend_schema(responses=RehearsalSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """One rehearsal: what it found so far, and how the run after it compared."""
        return Response(whole(self.find(Rehearsal, pk)))


class RehearsalVerb(ApiView):
    does: Callable[..., object]

    def answer(self, pk: int) -> Response:
        self.given(Nothing)
        rehearsal = self.find(Rehearsal, pk)
        try:
            type(self).does(rehearsal, by=self.actor)
        except Run.InvalidMove as error:
            raise Problem(HTTPStatus.CONFLICT, str(error), kind="invalid-move") from error
        enqueue_on_commit(tasks.advance, run_id=rehearsal.pk)
        return Response(whole(rehearsal))


class RehearsalResume(RehearsalVerb):
    does = control.resume_rehearsal

    @extend_schema(request=Nothing, responses=RehearsalSerializer)
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Resume a paused rehearsal. What it paused for will not pause it again."""
        return self.answer(pk)


class RehearsalCancel(RehearsalVerb):
    does = control.cancel_rehearsal

    @extend_schema(request=Nothing, responses=RehearsalSerializer)
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Cancel a rehearsal: FCM is asked no more."""
        return self.answer(pk)


class RehearsalRestore(RehearsalVerb):
    does = control.restore_after_rehearsal

    @extend_schema(request=Nothing, responses=RehearsalSerializer)
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Take back the devices that a rehearsal retired: they receive pushes again."""
        return self.answer(pk)
