"""Campaigns: what is intended, edited freely, and the door that launches it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, TypeVar

from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns import control, tasks
from campaigns.api import schedules
from campaigns.api.runs import RunSerializer, run_url
from campaigns.api.schedules import ScheduleSerializer
from campaigns.audiences.audience import Audience
from campaigns.planning.campaign import Campaign
from campaigns.runs import policy
from campaigns.runs.policy import POLICY, SETTINGS, Setting
from campaigns.runs.run import Run
from campaigns.texts.template import Template
from notifications.api.ground import pages
from notifications.api.ground.fields import Nothing, StrictSerializer
from notifications.api.ground.idempotency import idempotent
from notifications.api.ground.problems import Problem, refuses
from notifications.api.ground.query import takes
from notifications.api.ground.row import RowView
from notifications.api.ground.view import ApiView, save
from notifications.people.project import OfProject

Chosen = TypeVar("Chosen", bound=OfProject)

# What a campaign has when nothing is said; a PUT that leaves something out returns to it.
DEFAULTS = {name: getattr(Campaign(), name) for name in POLICY}


EXAMPLE = OpenApiExample(
    "On time",
    {
        "name": "First",
        "audience": 5,
        "template": 3,
        "on_unknown": "resend",
        "rate_per_second": 200,
        "schedule": {"kind": "at", "at": "2030-05-31T09:00", "timezone": "Asia/Seoul"},
    },
    request_only=True,
)


def _asked(setting: Setting) -> serializers.Field[Any, Any, Any, Any]:
    """As its column takes it."""
    column: Any = Campaign._meta.get_field(setting.field)
    kind, given = serializers.ModelSerializer().build_standard_field(setting.field, column)
    given.pop("label", None)
    given["help_text"] = setting.hint
    if column.choices:
        codes = " or ".join(code for code, _ in column.choices)
        given["error_messages"] = {"invalid_choice": f"Use {codes}."}
    return kind(**given)


class CampaignSerializer(StrictSerializer):
    """Who, what and when."""

    id = serializers.IntegerField(read_only=True)
    name = serializers.CharField(max_length=100)
    audience = serializers.IntegerField(min_value=1)
    template = serializers.IntegerField(min_value=1)
    schedule = ScheduleSerializer(required=False)
    created_at = serializers.DateTimeField(read_only=True)
    updated_at = serializers.DateTimeField(read_only=True)

    def get_fields(self) -> dict[str, Any]:
        sent = {one.field: _asked(one) for one in SETTINGS if one.field in POLICY}
        return {**super().get_fields(), **sent}

    def validate_audience(self, pk: int) -> Audience:
        return self._mine(Audience, pk)

    def validate_template(self, pk: int) -> Template:
        return self._mine(Template, pk)

    def to_representation(self, campaign: Campaign) -> dict[str, Any]:
        names = ("name", "audience_id", "template_id", *DEFAULTS)
        return {
            "id": campaign.pk,
            **{name.removesuffix("_id"): getattr(campaign, name) for name in names},
            "schedule": schedules.shown(campaign),
            "created_at": campaign.created_at,
            "updated_at": campaign.updated_at,
        }

    def _mine(self, model: type[Chosen], pk: int) -> Chosen:
        row = model._default_manager.filter(project=self.context["project"], pk=pk).first()
        if row is None:
            name = model._meta.verbose_name
            raise serializers.ValidationError(f"There is no {name} {pk} in this project.")
        return row


class Campaigns(ApiView):
    place = ("api-campaign", "id")

    @takes(*pages.PARAMETERS)
    @extend_schema(operation_id="campaigns_list", responses=pages.schema_of(CampaignSerializer))
    def get(self, request: Request) -> Response:
        """Every campaign, newest first."""
        mine = Campaign.objects.filter(project=self.project)
        return pages.page_by_id(request, mine, CampaignSerializer().to_representation)

    @extend_schema(
        request=CampaignSerializer, responses={201: CampaignSerializer}, examples=[EXAMPLE]
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Save a draft. Nothing is sent before it is launched."""
        campaign = _write(Campaign(project=self.project), self.given(CampaignSerializer))
        return Response(CampaignSerializer(campaign).data, status=201)


class CampaignById(RowView[Campaign]):
    model, serializer = Campaign, CampaignSerializer

    @extend_schema(responses=CampaignSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """One campaign."""
        return Response(self.shown(self.find(Campaign, pk)))

    @refuses(HTTPStatus.CONFLICT)
    @extend_schema(request=CampaignSerializer, responses=CampaignSerializer)
    def put(self, request: Request, pk: int) -> Response:
        """Replace it. A run that was launched keeps what it was launched with."""
        return self.replaced(pk)

    @refuses(HTTPStatus.CONFLICT)
    @extend_schema(request=CampaignSerializer, responses=CampaignSerializer)
    def patch(self, request: Request, pk: int) -> Response:
        """What is left out stays; a schedule is replaced whole."""
        return self.merged(pk)

    @refuses(HTTPStatus.CONFLICT)
    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Only while it was never launched: its runs are the record of what people received."""
        return self.removed(pk)

    def write(self, row: Campaign, given: dict[str, Any]) -> Campaign:
        return _write(row, given)


def _write(campaign: Campaign, given: dict[str, Any]) -> Campaign:
    zone = campaign.project.timezone
    anytime = {"schedule_kind": "now", **policy.NEVER, "timezone": zone}
    schedule = given.pop("schedule", anytime)
    for name, value in {**DEFAULTS, **given, **schedule}.items():
        setattr(campaign, name, value)
    try:
        save(campaign)
    except ValidationError as error:
        raise ValidationError(schedules.placed(error.message_dict)) from error
    return campaign


class CampaignLaunch(ApiView):
    place = ("api-run", "id")

    @extend_schema(request=Nothing, responses={202: RunSerializer})
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Freeze it into a run and start, or wait for its time."""
        self.given(Nothing)
        campaign = self.find(Campaign, pk)
        try:
            run = control.launch(campaign, by=self.actor, now=timezone.now())
        except ObjectDoesNotExist as error:
            raise _deleted(pk) from error
        except Campaign.NotReady as error:
            raise Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                "It cannot be launched as it stands; see errors.",
                kind="not-ready",
                errors=schedules.placed(error.problems),
            ) from error
        except Campaign.AlreadyLaunched as error:
            raise Problem(
                HTTPStatus.CONFLICT,
                str(error),
                kind="already-launched",
                run=error.run.pk,
                run_url=run_url(request, error.run),
            ) from error
        tasks.ring(run.pk)
        return Response(RunSerializer(run).data, status=202)


class CampaignStop(ApiView):
    @extend_schema(request=Nothing, responses=RunSerializer)
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """End its series: the run that waits is cancelled, and none follows. One that is already
        sending goes on. The answer is its last run; the campaign may be launched again.
        """
        self.given(Nothing)
        try:
            last = control.stop(self.find(Campaign, pk), by=self.actor)
        except ObjectDoesNotExist as error:
            raise _deleted(pk) from error
        except Run.InvalidMove as error:
            raise Problem(HTTPStatus.CONFLICT, str(error), kind="invalid-move") from error
        return Response(RunSerializer(last).data)


def _deleted(pk: int) -> NotFound:
    """The campaign, since it was found; what it uses stays as long as it does."""
    return NotFound(f"There is no campaign {pk} in this project.")
