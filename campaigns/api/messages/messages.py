"""Messages: ring one person now, ask what became of it, or cancel it before it leaves."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns import tasks
from campaigns.api.messages.asked import MessageSerializer
from campaigns.runs.messages import outcome
from campaigns.runs.messages.accepting import Accepted, Nobody, accept
from campaigns.runs.messages.message import Message
from notifications.api.contacts import RejectedRow
from notifications.api.ground.fields import CountedList, Nothing, StrictSerializer
from notifications.api.ground.idempotency import idempotent
from notifications.api.ground.patience import patient
from notifications.api.ground.problems import Problem, flattened
from notifications.api.ground.view import ApiView
from notifications.staff.access import Scope

AT_ONCE = 1_000
UNKNOWN = {
    "to.contact": "There is no such person in this project; write them first.",
    "to.device": "There is no such active device in this project; register it first.",
}
EXAMPLE = OpenApiExample(
    "Ada's order is on its way",
    {
        "to": {"contact": "ada"},
        "content": {"title": "On its way", "body": "Order {{ order }} left our house."},
        "variables": {"order": "A-17"},
        "deduplicate": {"key": "order-17-shipped"},
    },
    request_only=True,
)


class AcceptedSerializer(serializers.Serializer[Any]):
    """A message that is kept, and will be sent."""

    id = serializers.CharField()
    state = serializers.ChoiceField(choices=outcome.STATES)
    url = serializers.URLField(help_text="What became of it.")


class MessageDevice(serializers.Serializer[Any]):
    """What became of it on one device."""

    device = serializers.CharField(
        help_text="Its address; the end of it for a key that may not read people. Empty if removed."
    )
    platform = serializers.CharField()
    status = serializers.ChoiceField(choices=outcome.DEVICE_STATUSES)
    reason = serializers.CharField(help_text="A code; empty if accepted or waiting.")
    detail = serializers.CharField()
    message_id = serializers.CharField(help_text="The name FCM gave the message.")
    resent = serializers.BooleanField(help_text="The phone may have received it twice.")
    at = serializers.DateTimeField(allow_null=True)


class MessageTotals(serializers.Serializer[Any]):
    """How many devices."""

    planned = serializers.IntegerField()
    accepted = serializers.IntegerField()
    rejected = serializers.IntegerField()
    skipped = serializers.IntegerField()
    unknown = serializers.IntegerField()
    waiting = serializers.IntegerField()


class MessageStatus(serializers.Serializer[Any]):
    """A message and what became of it."""

    id = serializers.CharField()
    state = serializers.ChoiceField(choices=outcome.STATES)
    reason = serializers.CharField(help_text="no_device: the person has none that can receive.")
    at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    totals = MessageTotals()
    devices = MessageDevice(many=True)


class BulkSerializer(StrictSerializer):
    """Messages to accept."""

    messages = CountedList(child=MessageSerializer(), max_length=AT_ONCE)


class BulkRowsSerializer(StrictSerializer):
    # Each row is judged by itself later: a bad one is refused, not the call that brought it.
    messages = CountedList(max_length=AT_ONCE)


class AcceptedRow(serializers.Serializer[Any]):
    """A message that was accepted."""

    index = serializers.IntegerField(help_text="Its place in the call, from 0.")
    id = serializers.CharField()


class BulkTaken(serializers.Serializer[Any]):
    """Which messages were accepted, and which rejected."""

    accepted = AcceptedRow(many=True)
    rejected = RejectedRow(many=True)


class Messages(ApiView):
    place = ("api-message", "id")

    @extend_schema(
        request=MessageSerializer,
        responses={202: AcceptedSerializer, 200: AcceptedSerializer},
        examples=[EXAMPLE],
    )
    @patient
    @idempotent
    def post(self, request: Request) -> Response:
        """Send a message to one person. 202: it is stored and will be sent, whatever fails
        meanwhile. 200: a call with the same deduplication key made it before."""
        asked = self.given(MessageSerializer)
        (answer,) = accept(self.project.pk, [asked])
        if isinstance(answer, Nobody):
            raise serializers.ValidationError({answer.field: UNKNOWN[answer.field]})
        tasks.ring_messages(asked.get("at"))
        return Response(self._said(answer), status=200 if answer.again else 202)

    def _said(self, answer: Accepted) -> dict[str, Any]:
        state = outcome.WAITING
        if answer.again:
            state = outcome.state_of(_found(self, answer.id))
        address = reverse("api-message", args=[answer.id])
        return {
            "id": answer.id,
            "state": state,
            "url": self.request.build_absolute_uri(address),
        }


class MessagesBulk(ApiView):
    rows_of = "messages"

    @extend_schema(request=BulkSerializer, responses=BulkTaken)
    @patient
    @idempotent
    def post(self, request: Request) -> Response:
        """Send up to 1,000 different messages. Invalid ones, and those to unknown people, are
        rejected; the others are stored and will be sent. One whose deduplication key is known is
        accepted with the id of the first."""
        rows = self.given(BulkRowsSerializer)["messages"]
        asked: dict[int, dict[str, Any]] = {}
        rejected: list[dict[str, Any]] = []
        for index, row in enumerate(rows):
            try:
                asked[index] = self.given(MessageSerializer, row)
            except serializers.ValidationError as error:
                rejected += [{"index": index, **problem} for problem in flattened(error.detail)]
        accepted = []
        answers = accept(self.project.pk, list(asked.values())) if asked else []
        for index, answer in zip(asked, answers, strict=True):
            if isinstance(answer, Nobody):
                refused = {"field": answer.field, "message": UNKNOWN[answer.field]}
                rejected.append({"index": index, **refused})
            else:
                accepted.append({"index": index, "id": answer.id})
        if accepted:
            tasks.ring_messages(
                min((one["at"] for one in asked.values() if "at" in one), default=None)
            )
            tasks.ring_messages()
        in_order = sorted(rejected, key=lambda row: row["index"])
        return Response({"accepted": accepted, "rejected": in_order})


class MessageById(ApiView):
    @extend_schema(responses=MessageStatus)
    def get(self, request: Request, pk: str) -> Response:
        """A message, and what became of it on each device."""
        return Response(_shown(self, _found(self, pk)))


class MessageCancel(ApiView):
    @extend_schema(request=Nothing, responses=MessageStatus)
    @idempotent
    def post(self, request: Request, pk: str) -> Response:
        """Cancel a message before it leaves. 409 once it has."""
        self.given(Nothing)
        message = _found(self, pk)
        if not message.cancel():
            message = _found(self, pk)
            if message.state != Message.State.CANCELLED:
                left = "It has left already, or is about to."
                raise Problem(HTTPStatus.CONFLICT, left, kind="already-left")
        return Response(_shown(self, _found(self, pk)))


def _found(view: ApiView, name: str) -> Message:
    message = outcome.find(view.project.pk, name)
    if message is None:
        raise NotFound(f"There is no message {name[:80]} in this project.")
    return message


def _shown(view: ApiView, message: Message) -> dict[str, Any]:
    devices = outcome.devices_of(message)
    if Scope.CONTACTS not in view.key.scopes:
        devices = [{**one, "device": one["device"] and f"…{one['device'][-6:]}"} for one in devices]
    statuses = [one["status"] for one in devices]
    counts = {name: statuses.count(name) for name in outcome.DEVICE_STATUSES}
    state = outcome.state_of(message, statuses)
    nobody = state == outcome.FINISHED and not devices
    return {
        "id": message.id,
        "state": state,
        "reason": "no_device" if nobody else "",
        "at": message.at,
        "created_at": message.created_at,
        "totals": {"planned": len(devices), **counts},
        "devices": devices,
    }
