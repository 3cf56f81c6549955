"""The endpoints that manage where reports go, with their log, tests and replays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.webhooks import endpoint_checks
from notifications.api.base import pages
from notifications.api.base.fields import CountedList, Nothing, StrictSerializer
from notifications.api.base.idempotency import OneTimeResponse, idempotent
from notifications.api.base.patience import patient
from notifications.api.base.problems import Problem
from notifications.api.base.query import takes
from notifications.api.base.row import WritableRowView
from notifications.api.base.view import ApiView, save
from notifications.staff import audit
from notifications.webhooks import call, outbox, unpacking
from notifications.webhooks.call import Call
from notifications.webhooks.endpoint import Endpoint
from notifications.webhooks.event_types import EventType

# --- Serializers ----------------------------------------------------------------------------------

MAX_CAMPAIGNS = 100


def one_of(values: Iterable[str]) -> dict[str, Any]:
    return {"invalid_choice": f"Use one of {', '.join(values)}."}


class EndpointSerializer(StrictSerializer):
    """Where reports go, and which."""

    moving = frozenset({"disabled_why", "failing_since", "answered_at"})

    id = serializers.IntegerField(read_only=True)
    name = serializers.CharField(max_length=100)
    via = serializers.ChoiceField(
        choices=Endpoint.Via.choices,
        help_text="How events are delivered. It cannot be changed later.",
        error_messages=one_of(Endpoint.Via.values),
    )
    to = serializers.CharField(
        max_length=5_000,
        help_text="An https URL, or e-mail addresses with commas between them. Slack's URL is a "
        "secret, of which only the end is shown again.",
    )
    events = CountedList(
        child=serializers.ChoiceField(
            choices=EventType.choices, error_messages=one_of(EventType.values)
        ),
        max_length=len(EventType),
        help_text="Slack and e-mail take those of runs and alerts only.",
    )
    campaigns = CountedList(
        child=serializers.IntegerField(min_value=1),
        max_length=MAX_CAMPAIGNS,
        default=list,
        help_text="Only of these; empty: of all. What is of no campaign always comes.",
    )
    batched = serializers.BooleanField(
        default=False,
        help_text="Lines of JSON, up to 500 events in a call, at most one call a second.",
    )
    language = serializers.ChoiceField(
        choices=settings.LANGUAGES,
        default="en",
        error_messages=one_of(dict(settings.LANGUAGES)),
    )
    enabled = serializers.BooleanField(default=True)
    disabled_why = serializers.ChoiceField(
        choices=Endpoint.Why.choices, read_only=True, allow_null=True
    )
    failing_since = serializers.DateTimeField(read_only=True, allow_null=True)
    answered_at = serializers.DateTimeField(read_only=True, allow_null=True)
    created_at = serializers.DateTimeField(read_only=True)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        judges: dict[str, Callable[[], None]] = {
            "events": lambda: endpoint_checks.judge_kinds(given["via"], given["events"]),
            "batched": lambda: endpoint_checks.judge_batched(given["via"], given["batched"]),
            "campaigns": lambda: endpoint_checks.judge_only(
                self.context["project"], given["campaigns"]
            ),
        }
        for field, judge in judges.items():
            try:
                judge()
            except ValidationError as error:
                raise serializers.ValidationError({field: error.messages}) from error
        return given

    def to_representation(self, endpoint: Endpoint) -> dict[str, Any]:
        return {
            "id": endpoint.pk,
            "name": endpoint.name,
            "via": endpoint.via,
            "to": endpoint.target,
            "events": endpoint.kinds,
            "campaigns": endpoint.only,
            "batched": endpoint.batched,
            "language": endpoint.language,
            "enabled": endpoint.disabled_at is None,
            "disabled_why": endpoint.disabled_why or None,
            "failing_since": endpoint.failing_since,
            "answered_at": endpoint.answered_at,
            "created_at": endpoint.created_at,
        }


class EndpointMade(EndpointSerializer):
    """With its secret, this once."""

    secret = serializers.CharField(
        read_only=True, allow_null=True, help_text="Of a webhook; shown this once."
    )


class EndpointDeliverySerializer(serializers.Serializer[Any]):
    """One call of the log, and what came of its last try."""

    id = serializers.CharField(help_text="Its webhook-id.")
    events = serializers.ListField(child=serializers.DictField(), help_text="What it says.")
    state = serializers.ChoiceField(choices=Call.State.choices)
    tries = serializers.IntegerField()
    made_at = serializers.DateTimeField()
    tried_at = serializers.DateTimeField(allow_null=True)
    next_at = serializers.DateTimeField(allow_null=True)
    status = serializers.IntegerField(allow_null=True)
    took_ms = serializers.IntegerField(allow_null=True)
    answer = serializers.CharField(allow_blank=True)
    error = serializers.ChoiceField(choices=Call.Error.choices, allow_null=True)

    def to_representation(self, call: Call) -> dict[str, Any]:
        waits = call.state == Call.State.WAITING
        return {
            "id": call.name,
            "events": call.events,
            "state": call.state,
            "tries": call.tries,
            "made_at": call.made_at,
            "tried_at": call.tried_at,
            "next_at": call.next_at if waits else None,
            "status": call.status,
            "took_ms": call.took_ms,
            "answer": call.answer,
            "error": call.error or None,
        }


class ReplaySerializer(StrictSerializer):
    """One, by its id, or all that failed."""

    delivery = serializers.CharField(max_length=60, default=None, allow_null=True)


class ReplayedSerializer(serializers.Serializer[Any]):
    """How many are sent again."""

    replayed = serializers.IntegerField(help_text="Sent again, by their old ids.")


class NewSecretSerializer(StrictSerializer):
    """How the one before ends."""

    at_once = serializers.BooleanField(
        default=False,
        help_text="End every secret before it now, as after a leak; else the last one signs for a "
        "day more.",
    )


class SecretSerializer(serializers.Serializer[Any]):
    """A new secret, shown this once."""

    secret = serializers.CharField(
        allow_null=True, help_text="In force. Null if the answer is repeated."
    )
    until = serializers.DateTimeField(
        allow_null=True, help_text="When the one before ends, which signs as well. Null: at once."
    )


# --- Views ----------------------------------------------------------------------------------------

EXAMPLE = OpenApiExample(
    "A shop's backend",
    {
        "name": "Shop",
        "via": "webhook",
        "to": "https://shop.example.com/hooks/carillon",
        "events": ["run.finished", "run.needs_a_person", "device.retired"],
    },
    request_only=True,
)


class Endpoints(ApiView):
    place = ("api-endpoint", "id")

    @takes(*pages.PARAMETERS)
    @extend_schema(operation_id="endpoints_list", responses=pages.schema_of(EndpointSerializer))
    def get(self, request: Request) -> Response:
        """Every endpoint, newest first."""
        mine = Endpoint.objects.filter(project=self.project)
        return pages.page_by_id(request, mine, EndpointSerializer().to_representation)

    @extend_schema(request=EndpointSerializer, responses={201: EndpointMade}, examples=[EXAMPLE])
    @idempotent
    def post(self, request: Request) -> Response:
        """Add an endpoint. The secret of a webhook is in this answer and in no other: repeated for
        an Idempotency-Key, it is null."""
        values = self.given(EndpointSerializer)
        endpoint_checks.judge_room(self.project)
        endpoint = Endpoint(project=self.project, via=values["via"])
        secret = _write(endpoint, values) or None
        return OneTimeResponse(
            EndpointSerializer(endpoint).data, once={"secret": secret}, status=201
        )


class EndpointById(WritableRowView[Endpoint]):
    model, serializer_class = Endpoint, EndpointSerializer
    words = {
        "get": "One endpoint, and how it has been answering.",
        "put": "Replace an endpoint. `to` as it was shown keeps what it is.",
        "patch": "Change the given fields. `enabled: true` begins anew with one that was disabled.",
        "delete": "Delete an endpoint. What it was still to be told is not sent.",
    }

    def write(self, row: Endpoint, given: dict[str, Any]) -> object:
        if given["via"] != row.via:
            raise ValidationError({"via": "It cannot be changed. Add another endpoint."})
        return _write(row, given)


def _write(endpoint: Endpoint, values: dict[str, Any]) -> str:
    try:
        secret = endpoint_checks.take_place(endpoint, values["to"])
    except ValidationError as error:
        raise ValidationError({"to": error.messages}) from error
    endpoint.name, endpoint.kinds = values["name"], sorted(set(values["events"]))
    endpoint.only, endpoint.batched = sorted(set(values["campaigns"])), values["batched"]
    endpoint.language = values["language"]
    with transaction.atomic():
        save(endpoint)
        if values["enabled"] and endpoint.disabled_at:
            endpoint.enable()
        elif not values["enabled"] and not endpoint.disabled_at:
            endpoint.disable(Endpoint.Why.BY_HAND, now=timezone.now())
    return secret


class OfEndpoint(ApiView):
    def endpoint(self, pk: int) -> Endpoint:
        return self.find(Endpoint, pk)


class EndpointTest(OfEndpoint):
    @extend_schema(request=Nothing, responses={202: EndpointDeliverySerializer})
    @patient
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Send a test. What came of it is in the endpoint's deliveries, seconds later. It is tried
        again as an event is; a disabled endpoint is tried once."""
        self.given(Nothing)
        endpoint = self.endpoint(pk)
        with transaction.atomic():
            delivery = unpacking.test(endpoint, now=timezone.now())
            audit.record(self.actor, "tested", endpoint, project=self.project)
        return Response(EndpointDeliverySerializer(delivery).data, status=202)


class EndpointDeliveries(OfEndpoint):
    @takes(*pages.PARAMETERS)
    @extend_schema(responses=pages.schema_of(EndpointDeliverySerializer))
    def get(self, request: Request, pk: int) -> Response:
        """What it was told, newest first, each with what came of its last try."""
        mine = Call.objects.filter(endpoint=self.endpoint(pk))
        return pages.page_by_id(request, mine, EndpointDeliverySerializer().to_representation)


class EndpointReplay(OfEndpoint):
    @extend_schema(request=ReplaySerializer, responses=ReplayedSerializer)
    @patient
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Send again, by its old id, one delivery that ended; without one, all that failed."""
        name = self.given(ReplaySerializer)["delivery"]
        endpoint = self.endpoint(pk)
        calls = call.failed(endpoint)
        if name is not None:
            calls = Call.objects.filter(endpoint=endpoint, name=name)
            if not calls.exists():
                raise NotFound(f"There is no delivery {name!r} of this endpoint.")
        with transaction.atomic():
            count = call.again(calls, now=timezone.now())
            audit.record(self.actor, "replayed", endpoint, project=self.project, calls=count)
            outbox.notify_workers()
        return Response({"replayed": count})


class EndpointSecret(OfEndpoint):
    @extend_schema(request=NewSecretSerializer, responses=SecretSerializer)
    @patient
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """A new secret, shown this once. For a day both sign, and another is refused with 409:
        but `at_once`, which ends all before it."""
        at_once = self.given(NewSecretSerializer)["at_once"]
        endpoint = self.endpoint(pk)
        if endpoint.via != Endpoint.Via.WEBHOOK:
            text = "Only what is sent to webhooks is signed."
            raise Problem(HTTPStatus.CONFLICT, text, kind="unsigned")
        with transaction.atomic():
            secret = _rotate(endpoint, at_once)
            audit.record(self.actor, "replaced the secret of", endpoint, project=self.project)
        return OneTimeResponse({"until": endpoint.before_ends_at}, once={"secret": secret})


def _rotate(endpoint: Endpoint, at_once: bool) -> str:
    try:
        return endpoint.rotate(at_once=at_once, now=timezone.now())
    except Endpoint.StillSigns as error:
        endpoint.refresh_from_db()
        text = (
            "The secret before this one signs until "
            f"{outbox.written(endpoint.before_ends_at or timezone.now())}, as was promised. Make "
            'another after that, or send {"at_once": true} to end both now.'
        )
        raise Problem(HTTPStatus.CONFLICT, text, kind="still-signs") from error
