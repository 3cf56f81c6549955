"""Campaigns: drafts that can be edited freely, and their launch."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus
from typing import Any, ClassVar, TypeVar

from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns import control, tasks
from campaigns.audiences.audience import Audience
from campaigns.planning import campaign_variants
from campaigns.planning.api import schedules
from campaigns.planning.api.schedules import ScheduleSerializer
from campaigns.planning.api_fields import by_api_field
from campaigns.planning.campaign import Campaign
from campaigns.planning.campaign_variants import EVEN, LEAST, MOST
from campaigns.planning.moving import NoSuchOne, WrongTime
from campaigns.runs import policy
from campaigns.runs.api.runs import RunSerializer, run_url
from campaigns.runs.policy import POLICY, SETTINGS, Setting
from campaigns.runs.run import Run
from campaigns.runs.variants.group import MAX_MORE
from campaigns.texts.template import Template
from notifications.api.base import pages
from notifications.api.base.fields import Nothing, StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.problems import Problem
from notifications.api.base.query import takes
from notifications.api.base.row import WritableRowView
from notifications.api.base.view import ApiView, save
from notifications.people.consent.category import Category
from notifications.people.project import OfProject
from notifications.task_queue import enqueue_on_commit
from notifications.values.zones import validate_zone

Chosen = TypeVar("Chosen", bound=OfProject)

# The defaults; a field that a PUT leaves out gets its default.
DEFAULTS = {name: getattr(Campaign(), name) for name in (*POLICY, "weight")}


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


def _serializer_field(setting: Setting) -> serializers.Field[Any, Any, Any, Any]:
    """As its column takes it."""
    column: Any = Campaign._meta.get_field(setting.field)
    if column.is_relation:
        return serializers.IntegerField(
            min_value=1, required=False, allow_null=True, help_text=setting.hint
        )
    kind, options = serializers.ModelSerializer().build_standard_field(setting.field, column)
    options.pop("label", None)
    options["help_text"] = setting.hint
    if column.choices:
        codes = " or ".join(code for code, _ in column.choices)
        options["error_messages"] = {"invalid_choice": f"Use {codes}."}
    return kind(**options)


class VariantSerializer(StrictSerializer):
    """A text that some of the people get instead of the main one."""

    template = serializers.IntegerField(min_value=1)
    weight = serializers.IntegerField(min_value=LEAST, max_value=MOST, default=EVEN)


class CampaignSerializer(StrictSerializer):
    """Who gets what, and when."""

    elsewhere = {
        "moved": "Use POST campaigns/{id}/move.",
        "series_paused_at": "Use POST campaigns/{id}/pause, or resume.",
    }

    id = serializers.IntegerField(read_only=True)
    name = serializers.CharField(max_length=100)
    audience = serializers.IntegerField(min_value=1)
    template = serializers.IntegerField(min_value=1)
    weight = serializers.IntegerField(
        min_value=LEAST,
        max_value=MOST,
        required=False,
        help_text="Of the main text, which is variant A, beside the weights of `variants`.",
    )
    variants = VariantSerializer(
        many=True,
        required=False,
        help_text="Other texts, B first. Each person gets one of all by chance, on all devices.",
    )
    schedule = ScheduleSerializer(required=False)
    corrects = serializers.IntegerField(
        read_only=True,
        allow_null=True,
        help_text="The run whose messages its own take the place of.",
    )
    series_paused_at = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="What comes due since then is left out."
    )
    moved = serializers.DictField(
        child=serializers.DateTimeField(),
        read_only=True,
        help_text="Those of a series that go at another time: when they would be due, and are.",
    )
    created_at = serializers.DateTimeField(read_only=True)
    updated_at = serializers.DateTimeField(read_only=True)

    def get_fields(self) -> dict[str, Any]:
        fields = {
            setting.field: _serializer_field(setting)
            for setting in SETTINGS
            if setting.field in POLICY
        }
        return {**super().get_fields(), **fields}

    def validate_audience(self, pk: int) -> Audience:
        return self._mine(Audience, pk)

    def validate_template(self, pk: int) -> Template:
        return self._mine(Template, pk)

    def validate_variants(self, chosen: list[dict[str, Any]]) -> list[tuple[Template, int]]:
        if len(chosen) > MAX_MORE:
            raise serializers.ValidationError(f"At most {MAX_MORE} beside the main text.")
        return [(self._mine(Template, one["template"]), one["weight"]) for one in chosen]

    def validate_category(self, pk: int | None) -> Category | None:
        return None if pk is None else self._mine(Category, pk)

    def to_representation(self, campaign: Campaign) -> dict[str, Any]:
        values = {name: getattr(campaign, name) for name in DEFAULTS if name != "category"}
        return {
            "id": campaign.pk,
            "name": campaign.name,
            "audience": campaign.audience_id,
            "template": campaign.template_id,
            "category": campaign.category_id,
            **values,
            "variants": [
                {"template": one.template_id, "weight": one.weight}
                for one in campaign.variants.all()
            ],
            "schedule": schedules.schedule_json(campaign),
            "corrects": campaign.corrects_id,
            "series_paused_at": campaign.series_paused_at,
            "moved": campaign.moved,
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
        mine = Campaign.objects.filter(project=self.project).prefetch_related("variants")
        return pages.page_by_id(request, mine, CampaignSerializer().to_representation)

    @extend_schema(
        request=CampaignSerializer, responses={201: CampaignSerializer}, examples=[EXAMPLE]
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Create a campaign. Nothing is sent until it is launched."""
        campaign = _write(Campaign(project=self.project), self.given(CampaignSerializer))
        return Response(CampaignSerializer(campaign).data, status=201)


class CampaignById(WritableRowView[Campaign]):
    model, serializer_class = Campaign, CampaignSerializer
    words = {
        "get": "One campaign.",
        "put": "Replace a campaign. Runs already launched keep what they were launched with.",
        "patch": "Change the given fields. Fields you leave out keep their value; a schedule is "
        "replaced as a whole.",
        "delete": "Delete a campaign that was never launched. Others are kept: their runs record "
        "what people received.",
    }

    def write(self, row: Campaign, given: dict[str, Any]) -> Campaign:
        return _write(row, given)


def _write(campaign: Campaign, values: dict[str, Any]) -> Campaign:
    zone = campaign.project.timezone
    anytime = {"schedule_kind": "now", **policy.NEVER, "timezone": zone}
    schedule, variants = values.pop("schedule", anytime), values.pop("variants", [])
    old_template = Template.objects.filter(campaigns=campaign.pk).first() if campaign.pk else None
    for name, value in {**DEFAULTS, **values, **schedule}.items():
        setattr(campaign, name, value)
    try:
        with transaction.atomic():
            save(campaign)
            campaign_variants.choose(campaign, variants)
            if old_template is not None and old_template.pk != campaign.template_id:
                old_template.delete_if_empty()
    except ValidationError as error:
        raise ValidationError(by_api_field(error.message_dict)) from error
    return campaign


class CampaignLaunch(ApiView):
    place = ("api-run", "id")

    @extend_schema(request=Nothing, responses={202: RunSerializer})
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Launch a campaign: it becomes a run, which starts now or at its scheduled time."""
        self.given(Nothing)
        campaign = self.find(Campaign, pk)
        try:
            run = control.launch(campaign, by=self.actor, now=timezone.now())
        except ObjectDoesNotExist as error:
            raise _deleted_meanwhile(pk) from error
        except Campaign.NotReady as error:
            raise Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                "It cannot be launched yet; see errors.",
                kind="not-ready",
                errors=by_api_field(error.problems),
            ) from error
        except Campaign.AlreadyLaunched as error:
            raise Problem(
                HTTPStatus.CONFLICT,
                str(error),
                kind="already-launched",
                run=error.run.pk,
                run_url=run_url(request, error.run),
            ) from error
        enqueue_on_commit(tasks.advance, run_id=run.pk)
        return Response(RunSerializer(run).data, status=202)


class CampaignStop(ApiView):
    @extend_schema(request=Nothing, responses=RunSerializer)
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Stop a recurring campaign: its waiting run is cancelled, and no other follows. A run that
        is already sending goes on. Returns the last run. The campaign can be launched again.
        """
        self.given(Nothing)
        try:
            last = control.stop(self.find(Campaign, pk), by=self.actor)
        except ObjectDoesNotExist as error:
            raise _deleted_meanwhile(pk) from error
        except Run.InvalidMove as error:
            raise Problem(HTTPStatus.CONFLICT, str(error), kind="invalid-move") from error
        return Response(RunSerializer(last).data)


class _SeriesVerb(ApiView):
    change: ClassVar[Callable[..., Campaign]]

    def _changed(self, pk: int) -> Response:
        self.given(Nothing)
        try:
            campaign = type(self).change(self.find(Campaign, pk), by=self.actor)
        except ObjectDoesNotExist as error:
            raise _deleted_meanwhile(pk) from error
        except Run.InvalidMove as error:
            raise Problem(HTTPStatus.CONFLICT, str(error), kind="invalid-move") from error
        return Response(CampaignSerializer(campaign).data)


class CampaignPause(_SeriesVerb):
    change = staticmethod(control.pause_series)

    @extend_schema(request=Nothing, responses=CampaignSerializer)
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Pause a recurring campaign: what comes due is left out, and not made up for. A run that
        is already sending goes on."""
        return self._changed(pk)


class CampaignResume(_SeriesVerb):
    change = staticmethod(control.resume_series)

    @extend_schema(request=Nothing, responses=CampaignSerializer)
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Let a paused campaign go on: the next one that comes due is sent at its time."""
        return self._changed(pk)


class MovedOneSerializer(StrictSerializer):
    """Which of a series goes when."""

    at = serializers.CharField(
        help_text="When it is due: RFC 3339 with an offset, or a local time together with timezone."
    )
    to = serializers.CharField(help_text="Its new time, in the same format.")
    timezone = serializers.CharField(
        max_length=64, required=False, validators=[validate_zone], help_text="An IANA name."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, datetime]:
        zone = attrs.get("timezone")
        return {name: schedules.moment_of(name, attrs[name], zone) for name in ("at", "to")}


class CampaignMove(ApiView):
    @extend_schema(request=MovedOneSerializer, responses=CampaignSerializer)
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Move one of a recurring campaign that goes on, and leave the others. It stays between the
        one before and the next; the next 2,000 can be moved. Of one that has a run already, move
        the run."""
        values = self.given(MovedOneSerializer)
        campaign = self.find(Campaign, pk)
        try:
            control.move_one(campaign, values["at"], to=values["to"], by=self.actor)
        except ObjectDoesNotExist as error:
            raise _deleted_meanwhile(pk) from error
        except WrongTime as error:
            raise serializers.ValidationError({"to": str(error)}) from error
        except NoSuchOne as error:
            raise serializers.ValidationError({"at": str(error)}) from error
        except Run.InvalidMove as error:
            raise Problem(HTTPStatus.CONFLICT, str(error), kind="invalid-move") from error
        return Response(CampaignSerializer(campaign).data)


def _deleted_meanwhile(pk: int) -> NotFound:
    """The campaign, since it was found; what it uses stays as long as it does."""
    return NotFound(f"There is no campaign {pk} in this project.")
