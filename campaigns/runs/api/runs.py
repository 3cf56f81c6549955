"""Runs: what happened when it was launched, watched and steered from a program."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns import verbs
from campaigns.canary.first_part import FirstPart
from campaigns.canary.judgement import Missed
from campaigns.canary.progress import Phase, load_progress
from campaigns.forecast.course import Course
from campaigns.launch_check import stored_forecast
from campaigns.results import reports, why_this_rate
from campaigns.results.api import opens
from campaigns.results.api.opens import OpensSerializer
from campaigns.results.next_step import NEXT_STEP
from campaigns.runs import sums
from campaigns.runs.reasons import cause_in_words
from campaigns.runs.run import Run
from campaigns.runs.sums import Totals
from campaigns.runs.totals_serializers import CauseSerializer, TotalsSerializer
from campaigns.runs.variants.group import LETTERS, name_of
from notifications.api.base import pages, query
from notifications.api.base.query import takes
from notifications.api.base.view import ApiView
from notifications.pacing.gate import Limit

ENDED = (Run.State.FINISHED, Run.State.CANCELLED)
PATHS = [verb.path for verb in verbs.VERBS]


class RunSummarySerializer(serializers.Serializer[Run]):
    """A run, as in lists."""

    id = serializers.IntegerField()
    campaign = serializers.IntegerField()
    corrects = serializers.IntegerField(
        allow_null=True, help_text="The run whose messages its own take the place of."
    )
    state = serializers.ChoiceField(choices=Run.State.choices)
    reason = serializers.CharField(allow_null=True, help_text="Why the run waits for a person.")
    cause = CauseSerializer(allow_null=True)
    totals = TotalsSerializer()
    scheduled_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)

    def to_representation(self, run: Run) -> dict[str, Any]:
        # A finished run's row has the sums already; of the others there are few.
        return _summary(run, _final(run) if run.finished_at else sums.totals_of(run))


class PaceSerializer(serializers.Serializer[Any]):
    """The rate that is allowed now, and why. The actual rate may be lower."""

    limit = serializers.ChoiceField(choices=[(limit.value, limit.name) for limit in Limit])
    text = serializers.CharField()
    rate_per_second = serializers.FloatField(help_text="Messages per second, at most.")
    until = serializers.DateTimeField(
        allow_null=True, help_text="When this limit ends, or when FCM is tried again."
    )


class SnapshotSerializer(serializers.Serializer[Any]):
    """The people this run was for."""

    rules = serializers.DictField(help_text="As they were at the launch.")
    people = serializers.IntegerField(allow_null=True)
    evaluated_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When the last of them was chosen; the first was chosen at `started_at`.",
    )
    recipients_hash = serializers.CharField(
        help_text="A fingerprint: two runs with the same hash had the same people and devices. "
        "Empty until all are chosen."
    )


class FirstFiguresSerializer(serializers.Serializer[Any]):
    """What came of the first part; once it was decided on, as it was then."""

    sent = serializers.IntegerField(help_text="Devices FCM was asked for.")
    accepted = serializers.IntegerField()
    rejected = serializers.IntegerField(help_text="For another reason than a dead address.")
    dead = serializers.IntegerField(help_text="Dead addresses.")
    able = serializers.IntegerField(
        allow_null=True, help_text="Devices that can tell; null until all are sent to."
    )
    received = serializers.IntegerField(help_text="How many of these received it.")


class FirstPartSerializer(serializers.Serializer[Any]):
    """Those who go first, and what the rest waits for."""

    phase = serializers.ChoiceField(choices=Phase.choices)
    devices = serializers.IntegerField(help_text="In the first part.")
    rest = serializers.IntegerField(help_text="Devices that go after it.")
    figures = FirstFiguresSerializer()
    missed = serializers.ListField(
        child=serializers.ChoiceField(choices=[(one.value, one.name) for one in Missed]),
        help_text="Which bounds of the campaign the figures do not keep.",
    )
    sent_at = serializers.DateTimeField(
        allow_null=True, help_text="When all of it was sent to: the wait begins."
    )
    judges_at = serializers.DateTimeField(allow_null=True, help_text="When the wait ends.")
    went_on_at = serializers.DateTimeField(allow_null=True, help_text="When the rest was let go.")
    decision = serializers.ChoiceField(choices=FirstPart.Decision.choices, allow_null=True)
    winner_by = serializers.ChoiceField(
        choices=Run.WinnerBy.choices,
        help_text="By what the rest gets the variant that did best; `own`: each has their own.",
    )
    winner = serializers.ChoiceField(
        choices=[*LETTERS], allow_null=True, help_text="That variant, once it is chosen."
    )


class CourseSerializer(serializers.Serializer[Course]):
    sent = serializers.IntegerField(help_text="Messages that leave.")
    too_late = serializers.DictField(
        source="skipped",
        child=serializers.IntegerField(),
        help_text="Devices that get nothing because of the time, by reason.",
    )
    ends_at = serializers.DateTimeField(help_text="When the last one leaves.")
    exact = serializers.BooleanField(help_text="False: estimated, as in the campaign's check.")


class ForeseenSerializer(CourseSerializer):
    """How the run would go, as it was reckoned when it began."""

    opens = OpensSerializer(
        allow_null=True, help_text="null: nobody knew how many open a message of the project."
    )


class SleepingSerializer(serializers.Serializer[Any]):
    """How many recipients, and when the first and the last of them are sent to."""

    count = serializers.IntegerField()
    next_at = serializers.DateTimeField(allow_null=True)
    last_at = serializers.DateTimeField(allow_null=True)


class RunSerializer(RunSummarySerializer):
    """A run with its reasons and its pace."""

    reasons = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="How many recipients by reason code, most first.",
    )
    rate_per_second = serializers.FloatField(help_text="Messages per second now.")
    rate_limit_per_second = serializers.IntegerField(
        allow_null=True,
        help_text="The limit set for this run; null: the project's quota applies.",
    )
    spread_seconds = serializers.IntegerField(
        allow_null=True,
        help_text="Over which it is spread, at a rate reckoned from its recipients; null: it is "
        "not, or somebody set a rate since.",
    )
    opens_per_second = serializers.IntegerField(
        allow_null=True,
        help_text="Who are expected to open it, at most: its rate keeps to that; null: it does "
        "not, or somebody set a rate since.",
    )
    pace = PaceSerializer(allow_null=True, help_text="Only while it is sending.")
    eta_at = serializers.DateTimeField(allow_null=True)
    sleeping = SleepingSerializer(
        help_text="Of those who wait: who has quiet hours, or whose hour is to come. Each is sent "
        "to at their own time."
    )
    foreseen = ForeseenSerializer(
        allow_null=True, help_text="null: its people could not be counted in time, or not yet."
    )
    first_part = FirstPartSerializer(
        allow_null=True, help_text="null: all go at once. Until the audience is chosen, too."
    )
    snapshot = SnapshotSerializer()
    revision = serializers.IntegerField(
        help_text="Of its text: 1 is what the launch froze; `runs/{id}/revisions` has each."
    )
    verbs = serializers.ListField(
        child=serializers.ChoiceField(choices=PATHS),
        help_text="What can be done with the run now: `POST runs/{id}/{verb}` (scope `launch`).",
    )

    def to_representation(self, run: Run) -> dict[str, Any]:
        progress = reports.progress(run)
        return {
            **_summary(run, progress.totals),
            "reasons": progress.reasons,
            "rate_per_second": round(progress.rate_per_second, 1),
            "rate_limit_per_second": run.rate_per_second,
            "spread_seconds": run.spread_seconds,
            "opens_per_second": run.opens_per_second,
            "pace": _pace(run) if run.state == Run.State.SENDING else None,
            "eta_at": progress.eta_at,
            "sleeping": asdict(progress.sleeping),
            "foreseen": _foreseen(run),
            "first_part": _first_part(run),
            "snapshot": _snapshot(run),
            "revision": run.revision,
            "verbs": possible(run),
        }


def possible(run: Run) -> list[str]:
    return [verb.path for verb in verbs.possible(run, timezone.now())]


def _snapshot(run: Run) -> dict[str, Any]:
    names = ("rules", "people", "evaluated_at", "recipients_hash")
    return {name: getattr(run, name) for name in names}


def _foreseen(run: Run) -> dict[str, Any] | None:
    course = stored_forecast.load_course(run)
    if course is None:
        return None
    return dict(CourseSerializer(course).data) | {
        "opens": opens.opens_json(stored_forecast.opens_of(run))
    }


def _first_part(run: Run) -> dict[str, Any] | None:
    first = load_progress(run)
    if first is None:
        return None
    times = ("sent_at", "judges_at", "went_on_at")
    return {
        "phase": first.phase.value,
        "devices": first.part.devices,
        "rest": first.rest,
        "figures": first.figures.as_dict(),
        "missed": [figure.value for figure in first.missed],
        **{name: getattr(first.part, name) for name in times},
        "decision": first.part.decision or None,
        "winner_by": run.winner_by,
        "winner": name_of(first.part.run.winner) or None,
    }


def _pace(run: Run) -> dict[str, Any]:
    allowed = why_this_rate.allowed_now(run)
    return {
        "limit": allowed.limit,
        "text": why_this_rate.in_plain_words(run, allowed, timezone.now()),
        "rate_per_second": round(allowed.rate_per_second, 1),
        "until": allowed.until,
    }


def _summary(run: Run, totals: Totals) -> dict[str, Any]:
    cause = "" if run.state in ENDED else run.cause  # such a run waits for nobody any more
    parts = (cause_in_words(cause), str(NEXT_STEP.get(cause, "")), run.detail)
    text = " ".join(filter(None, parts)) if cause else None
    return {
        "id": run.pk,
        "campaign": run.campaign_id,
        "corrects": run.corrects_id,
        "state": run.state,
        "reason": text,
        "cause": {"code": cause, "text": text} if cause else None,
        "totals": totals.as_dict(),
        "scheduled_at": run.scheduled_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
    }


def _final(run: Run) -> Totals:
    return Totals(run.planned or 0, run.accepted, run.rejected, run.skipped, run.unknown)


def run_url(request: Request, run: Run) -> str:
    return str(request.build_absolute_uri(reverse("api-run", args=[run.pk])))


class Runs(ApiView):
    @takes(
        *pages.PARAMETERS,
        query.number("campaign", "Only runs of this campaign (its id).", most=10**18 - 1),
    )
    @extend_schema(operation_id="runs_list", responses=pages.schema_of(RunSummarySerializer))
    def get(self, request: Request) -> Response:
        """Every run, newest first."""
        runs = Run.objects.filter(project=self.project)
        if (campaign := request.query_params.get("campaign")) is not None:
            runs = runs.filter(campaign=_id(campaign))
        return pages.page_by_id(request, runs, RunSummarySerializer().to_representation)


def _id(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise serializers.ValidationError({"campaign": "Must be the id of a campaign."})
    return int(text)


class RunById(ApiView):
    @extend_schema(responses=RunSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """One run in its current state."""
        return Response(RunSerializer(self.find(Run, pk)).data)
