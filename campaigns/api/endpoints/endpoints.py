"""Endpoints: where reports go. Made, changed, tried, and what they were told."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.api.endpoints.serializers import (
    EndpointDeliverySerializer,
    EndpointMade,
    EndpointSerializer,
    NewSecretSerializer,
    ReplayedSerializer,
    ReplaySerializer,
    SecretSerializer,
)
from campaigns.webhook_events import endpoint_checks
from notifications.api.base import pages
from notifications.api.base.fields import Nothing
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
