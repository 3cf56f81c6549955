"""Rehearsals through the API."""

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

from campaigns import tasks
from campaigns.audiences import reach
from campaigns.planning.api_fields import by_api_field
from campaigns.planning.campaign import Campaign
from campaigns.rehearsals import actions
from campaigns.rehearsals.comparison import Comparison, compare_rehearsal
from campaigns.rehearsals.projection import Projection
from campaigns.rehearsals.report import RehearsalReport, VariantOutcomes
from campaigns.results.next_step import NEXT_STEP
from campaigns.runs import sums
from campaigns.runs.ledger import Delivery
from campaigns.runs.reasons import cause_in_words
from campaigns.runs.rehearsal import LEAST, MOST, SAMPLE, Rehearsal
from campaigns.runs.run import Run
from campaigns.runs.totals_serializers import CauseSerializer, TotalsSerializer
from campaigns.runs.variants.group import name_of
from notifications.api.base import pages
from notifications.api.base.fields import Nothing, StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.problems import Problem, refuses
from notifications.api.base.query import takes
from notifications.api.base.view import ApiView
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


class ForetoldSerializer(serializers.Serializer[Any]):
    """What a launch would come to. Of everybody rehearsed, `low` and `high` are 1 % around it; of a
    sample, they are its 95 % Wilson interval."""

    name = serializers.CharField(help_text="planned, accepted, rejected, skipped or unknown.")
    found = serializers.IntegerField(help_text="Of the devices that were rehearsed.")
    count = serializers.IntegerField(help_text="Of all devices.")
    low = serializers.IntegerField()
    high = serializers.IntegerField()


class ComparedLineSerializer(ForetoldSerializer):
    real = serializers.IntegerField(help_text="In the run.")
    holds = serializers.BooleanField(help_text="Whether it lies between `low` and `high`.")


class ComparedSerializer(serializers.Serializer[Any]):
    """The first run of the campaign that began afterwards."""

    run = serializers.IntegerField()
    finished = serializers.BooleanField(help_text="Before that, nothing can be said.")
    holds = serializers.BooleanField()
    same_text = serializers.BooleanField()
    same_rules = serializers.BooleanField()
    left_out = serializers.IntegerField(
        help_text="Devices that the run left out by chance, for comparison. They are in `planned` "
        "alone; the other lines are reckoned down to the rest, with wider bounds."
    )
    lines = ComparedLineSerializer(many=True)


class DeadSerializer(serializers.Serializer[Any]):
    """Addresses that FCM called dead."""

    count = serializers.IntegerField()
    asked = serializers.IntegerField(help_text="Of how many.")
    low = serializers.FloatField(help_text="At least this share of all is dead, from 0 to 1.")
    high = serializers.FloatField(help_text="At most this share of all.")
    retired = serializers.IntegerField(help_text="Devices retired for it, if that was asked for.")


class FieldErrorSerializer(serializers.Serializer[Any]):
    """So many messages with the same mistake."""

    field = serializers.CharField(help_text="Empty: of no single field.")
    reason = serializers.CharField()
    count = serializers.IntegerField()
    example = serializers.CharField(help_text="What was said of one of them.")


class OfVariantSerializer(serializers.Serializer[Any]):
    """Those who were rehearsed with one of the texts, by chance as a run draws them."""

    variant = serializers.CharField()
    accepted = serializers.IntegerField()
    rejected = serializers.IntegerField()
    skipped = serializers.IntegerField()
    unknown = serializers.IntegerField()


class RehearsalSummarySerializer(serializers.Serializer[Any]):
    """A rehearsal, as in lists."""

    id = serializers.IntegerField()
    campaign = serializers.IntegerField()
    state = serializers.ChoiceField(choices=Run.State.choices)
    sample = serializers.IntegerField(allow_null=True, help_text="null: everybody.")
    retire_dead = serializers.BooleanField()
    totals = TotalsSerializer()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class RehearsalSerializer(RehearsalSummarySerializer):
    """A rehearsal, and what it found so far."""

    seed = serializers.IntegerField(help_text="The same seed draws the same devices.")
    devices = serializers.IntegerField(help_text="Of a launch: those that were drawn from.")
    cause = CauseSerializer(allow_null=True, help_text="Why it waits for a person.")
    reasons = serializers.DictField(child=serializers.IntegerField())
    foretold = ForetoldSerializer(many=True, help_text="Empty until it has finished.")
    dead = DeadSerializer()
    errors = FieldErrorSerializer(  # type: ignore[assignment]  # the metaclass takes it
        many=True, allow_null=True, help_text="The most frequent first."
    )
    variants = OfVariantSerializer(
        many=True, help_text="Empty where there is one text, and once recipients were removed."
    )
    rate_per_second = serializers.FloatField(help_text="Messages per second, measured.")
    seconds_for_everybody = serializers.FloatField(allow_null=True)
    requests = serializers.IntegerField(help_text="That FCM may have counted as quota.")
    quota_per_minute = serializers.IntegerField()
    compared = ComparedSerializer(allow_null=True)


# --- Endpoints ------------------------------------------------------------------------------------


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
            created = actions.start(
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
                errors=by_api_field(error.problems),
            ) from error
        except actions.AlreadyRunning as error:
            raise Problem(HTTPStatus.CONFLICT, str(error), kind="rehearsal-goes-on") from error
        enqueue_on_commit(tasks.advance, run_id=created.run_id)
        return Response(to_json(created), status=HTTPStatus.ACCEPTED)


def _refuse_unconfirmed(campaign: Campaign, requests: int) -> None:
    try:
        found = reach.quick(campaign.project_id, campaign.audience.effective_rules)
    except Invalid:
        return  # the rules are broken, or too many to count: the next step says which
    if found.devices > requests:
        quota = campaign.project.quota_per_minute
        text = (
            f"It would take about {found.devices:,} requests; FCM's quota is {quota:,} a minute. "
            f"Repeat it with requests: {found.devices} or more, or rehearse a sample."
        )
        raise serializers.ValidationError({"requests": text})


class CampaignRehearsals(ApiView):
    @takes(*pages.PARAMETERS)
    @extend_schema(responses=pages.schema_of(RehearsalSummarySerializer))
    def get(self, request: Request, pk: int) -> Response:
        """The rehearsals of a campaign, newest first."""
        campaign = self.find(Campaign, pk)
        found = Rehearsal.objects.filter(run__campaign=campaign.pk)
        return pages.page_by_id(request, found.select_related("run"), to_summary)


class RehearsalById(ApiView):
    @extend_schema(responses=RehearsalSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """One rehearsal: what it found so far, and how the run after it compared."""
        return Response(to_json(self.find(Rehearsal, pk)))


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
        return Response(to_json(rehearsal))


class RehearsalResume(RehearsalVerb):
    does = actions.resume

    @extend_schema(request=Nothing, responses=RehearsalSerializer)
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Resume a paused rehearsal. What it paused for will not pause it again."""
        return self.answer(pk)


class RehearsalCancel(RehearsalVerb):
    does = actions.cancel

    @extend_schema(request=Nothing, responses=RehearsalSerializer)
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Cancel a rehearsal: FCM is asked no more."""
        return self.answer(pk)


class RehearsalRestore(RehearsalVerb):
    does = actions.restore_devices

    @extend_schema(request=Nothing, responses=RehearsalSerializer)
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Take back the devices that a rehearsal retired: they receive pushes again."""
        return self.answer(pk)


# --- As JSON --------------------------------------------------------------------------------------


def to_summary(rehearsal: Rehearsal) -> dict[str, Any]:
    run = rehearsal.run
    return {
        "id": rehearsal.pk,
        "campaign": run.campaign_id,
        "state": run.state,
        "sample": rehearsal.sample,
        "retire_dead": rehearsal.retires,
        "totals": sums.totals_of(run).as_dict(),
        "started_at": run.started_at,
        "finished_at": run.finished_at,
    }


def to_json(rehearsal: Rehearsal) -> dict[str, Any]:
    run, report = rehearsal.run, RehearsalReport(rehearsal, timezone.now())
    return {
        **to_summary(rehearsal),
        "seed": rehearsal.seed,
        "devices": rehearsal.stands_for,
        "cause": _cause(run),
        "reasons": report.progress.reasons,
        "foretold": [_projection(one) for one in (report.planned, *report.outcomes)]
        if report.has_finished
        else [],
        "dead": _dead(report),
        "errors": _errors(report),
        "variants": [_variant(one) for one in report.variants],
        "rate_per_second": round(report.rate, 1),
        "seconds_for_everybody": report.seconds_for_all,
        "requests": report.requests,
        "quota_per_minute": run.project.quota_per_minute,
        "compared": _comparison(compare_rehearsal(rehearsal)),
    }


def _cause(run: Run) -> dict[str, Any] | None:
    if run.state != Run.State.PAUSED:
        return None
    said = (cause_in_words(run.cause), str(NEXT_STEP.get(run.cause, "")), run.detail)
    return {"code": run.cause, "text": " ".join(filter(None, said))}


def _projection(one: Projection) -> dict[str, Any]:
    return {name: getattr(one, name) for name in ("name", "found", "count", "low", "high")}


def _dead(report: RehearsalReport) -> dict[str, Any]:
    interval = report.dead_share
    exact = not report.rehearsal.is_sample and report.totals.sent
    share = report.dead / report.totals.sent if exact else None
    return {
        "count": report.dead,
        "asked": report.totals.sent,
        "low": round(interval.low if share is None else share, 4),
        "high": round(interval.high if share is None else share, 4),
        "retired": report.retired,
    }


def _variant(one: VariantOutcomes) -> dict[str, Any]:
    counts = {status: one.counts[status] for status in Delivery.Status.values}
    return {"variant": name_of(one.number), **counts}


def _errors(report: RehearsalReport) -> list[dict[str, Any]] | None:
    if report.errors is None:
        return None
    names = ("field", "reason", "count", "example")
    return [{name: getattr(one, name) for name in names} for one in report.errors]


def _comparison(found: Comparison | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "run": found.run.pk,
        "finished": found.has_ended,
        "holds": found.has_ended and found.holds,
        "same_text": found.same_text,
        "same_rules": found.same_rules,
        "left_out": found.left_out,
        "lines": [
            {**_projection(line.projection), "real": line.real, "holds": line.holds}
            for line in found.lines
        ],
    }
