"""Messages: ring one person now, or many, ask what became of it, or cancel it before it leaves."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns import tasks
from campaigns.engine import messages
from campaigns.runs.messages import message_pages, outcome
from campaigns.runs.messages.accepting import Accepted, UnknownRecipient
from campaigns.runs.messages.api import resolve_recipients
from campaigns.runs.messages.api.request import MessageSerializer
from campaigns.runs.messages.api.serializers import (
    AcceptedSerializer,
    BulkTaken,
    ListedMessage,
    MessageStatus,
    accepted_json,
    device_json,
    listed_json,
    status_json,
)
from campaigns.runs.messages.message import Message, known_by
from campaigns.runs.messages.message_pages import MessageFilter
from notifications.api.base import pages, query
from notifications.api.base.fields import CountedList, Moment, Nothing, StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.patience import patient
from notifications.api.base.problems import NO_OBJECT, Problem, flattened
from notifications.api.base.query import takes
from notifications.api.base.rendering import ExactParser
from notifications.api.base.view import ApiView
from notifications.api.person_in_query import contact_named
from notifications.staff.api_key import Scope
from notifications.task_queue import enqueue_on_commit
from notifications.values.flaws import Flawed

AT_ONCE = 1_000
STATES = ", ".join(outcome.STATES)
KEY_ALONE = "A key names one message: leave the other filters out."
EXAMPLES = [
    OpenApiExample(
        "Ada's order is on its way",
        {
            "to": {"contact": "ada"},
            "content": {"title": "On its way", "body": "Order {{ order }} left our house."},
            "variables": {"order": "A-17"},
            "deduplicate": {"key": "order-17-shipped"},
        },
        request_only=True,
    ),
    OpenApiExample(
        "A room of a chat",
        {
            "to": {"contacts": ["ada", "charles"]},
            "create": True,
            "content": {"title": "Grace", "body": "Lunch?"},
            "collapse": "room-7",
            "priority": "high",
        },
        request_only=True,
    ),
    OpenApiExample(
        "Somebody who has just signed up",
        {
            "to": {"contact": "mary", "devices": [{"token": "live-mary", "platform": "ios"}]},
            "create": True,
            "content": {"title": "Welcome", "body": "Good to have you here."},
        },
        request_only=True,
    ),
]


class BulkSerializer(StrictSerializer):
    """Messages to accept."""

    messages = CountedList(child=MessageSerializer(), max_length=AT_ONCE)


class BulkRowsSerializer(StrictSerializer):
    # Each row is judged by itself later: a bad one is refused, not the call that brought it.
    messages = CountedList(max_length=AT_ONCE)


class MessageFilters(serializers.Serializer[Any]):
    contact = serializers.CharField(max_length=200, required=False, trim_whitespace=False)
    since = Moment(required=False)
    state = serializers.ChoiceField(
        choices=outcome.STATES,
        required=False,
        error_messages={"invalid_choice": f"Use one of {STATES}."},
    )
    key = serializers.CharField(max_length=200, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "key" in attrs and len(attrs) > 1:
            raise serializers.ValidationError({"key": KEY_ALONE})
        return attrs


class Messages(ApiView):
    place = ("api-message", "id")
    parser_classes = [ExactParser]
    confirms = frozenset({"POST"})

    @takes(
        *pages.PARAMETERS,
        query.contact("External id: messages to this person."),
        OpenApiParameter("since", datetime, description="Accepted at or after this time."),
        OpenApiParameter("state", str, enum=outcome.STATES),
        query.text("key", "The one with this deduplication key.", r"^[^\x00]*[^\x00\s][^\x00]*$"),
    )
    @extend_schema(operation_id="messages_list", responses=pages.schema_of(ListedMessage))
    def get(self, request: Request) -> Response:
        """Messages, newest first; of a call to many, each person's. Only a few of a page may match
        `state`: go on until `next` is null."""
        after, limit = pages.where(request)
        query = {name: value for name, value in request.query_params.items()
                 if name not in ("cursor", "limit")}  # fmt: skip
        filters = self.given(MessageFilters, query)
        whole = Scope.CONTACTS in self.key.scopes
        if "key" in filters:
            rows, last = self._with_key(filters["key"]), None
        else:
            page = message_pages.page_of(
                self.project.pk, self._message_filter(filters), after=after, limit=limit
            )
            rows, last = page.rows, page.last
        return pages.page(request, listed_json(rows, whole=whole), last=last)

    @extend_schema(
        request=MessageSerializer,
        responses={202: AcceptedSerializer, 200: AcceptedSerializer},
        examples=EXAMPLES,
    )
    @patient
    @idempotent
    def post(self, request: Request) -> Response:
        """Send a message to one person, or to many. 202: it is stored and will be sent, whatever
        fails meanwhile. 200: a call with the same deduplication key made it before."""
        values = _read(self, request.data)
        with resolve_recipients.as_the_key_may(self):
            answer = resolve_recipients.accept_call(self, values)
        tasks.send_messages_on_commit(values.get("at"))
        if "list" in values["to"]:
            enqueue_on_commit(tasks.unfold_messages)
        body = self._accepted_json(answer)
        if answer.again:
            return Response(body)
        return Response(body, status=202, headers={"Location": body["url"]})

    def _message_filter(self, filters: dict[str, Any]) -> MessageFilter:
        contact_id = contact_named(self, filters["contact"]).pk if "contact" in filters else None
        return MessageFilter(contact_id, filters.get("since"), filters.get("state", ""))

    def _with_key(self, key: str) -> list[message_pages.MessageRow]:
        name = known_by(self.project.pk, [key]).get(key, "")
        message = outcome.find(self.project.pk, name)
        return (
            [message_pages.MessageRow(message, outcome.of_call_or_one(message))] if message else []
        )

    def _accepted_json(self, answer: Accepted) -> dict[str, Any]:
        state = outcome.WAITING
        if answer.again:
            state = outcome.of_call_or_one(_find_message(self, answer.id)).state
        url = self.request.build_absolute_uri(reverse("api-message", args=[answer.id]))
        return accepted_json(answer.id, state, url)


class MessagesBulk(ApiView):
    rows_of = "messages"
    parser_classes = [ExactParser]
    confirms = frozenset({"POST"})

    @extend_schema(request=BulkSerializer, responses=BulkTaken)
    @patient
    @idempotent
    def post(self, request: Request) -> Response:
        """Send up to 1,000 different messages, each to one person or device. Invalid ones, and
        those to unknown people, are rejected; the others are stored and will be sent. One whose
        deduplication key is known is accepted with the id of the first."""
        rows = self.given(BulkRowsSerializer)["messages"]
        valid, rejected = self._read(rows)
        accepted = []
        with resolve_recipients.as_the_key_may(self):
            answers = resolve_recipients.accept_each(self, list(valid.values())) if valid else []
        for index, answer in zip(valid, answers, strict=True):
            if isinstance(answer, UnknownRecipient):
                refused = {
                    "field": answer.field,
                    "message": resolve_recipients.UNKNOWN[answer.field],
                }
                rejected.append({"index": index, **refused})
            else:
                accepted.append({"index": index, "id": answer.id})
        if accepted:
            tasks.send_messages_on_commit(
                min((message["at"] for message in valid.values() if "at" in message), default=None)
            )
            tasks.send_messages_on_commit()
        in_order = sorted(rejected, key=lambda row: row["index"])
        return Response({"accepted": accepted, "rejected": in_order})

    def _read(self, rows: list[Any]) -> tuple[dict[int, dict[str, Any]], list[dict[str, Any]]]:
        valid: dict[int, dict[str, Any]] = {}
        rejected: list[dict[str, Any]] = []
        for index, row in enumerate(rows):
            try:
                valid[index] = _read(self, row, one_each=True)
            except serializers.ValidationError as error:
                rejected += [{"index": index, **problem} for problem in flattened(error.detail)]
        return valid, rejected


class MessageById(ApiView):
    @takes(*pages.PARAMETERS)
    @extend_schema(operation_id="messages_retrieve", responses=MessageStatus)
    def get(self, request: Request, pk: str) -> Response:
        """A message, and what became of it on each device. Of a call to many: the totals of all,
        and the devices page by page."""
        return Response(_message_json(self, _find_message(self, pk)))


class MessageCancel(ApiView):
    @extend_schema(request=Nothing, responses=MessageStatus)
    @patient
    @idempotent
    def post(self, request: Request, pk: str) -> Response:
        """Cancel a message before it leaves, also while it waits for quiet hours or another try; of
        a call to many, all that has not left. 409 if all has."""
        self.given(Nothing)
        message = _find_message(self, pk)
        if not messages.cancel(message):
            report = outcome.of_call_or_one(message)
            if not report.people[Message.State.CANCELLED]:
                text = "It has left already, or is about to."
                raise Problem(HTTPStatus.CONFLICT, text, kind="already-left")
        return Response(_message_json(self, _find_message(self, pk)))


def _read(view: ApiView, body: Any, **context: Any) -> dict[str, Any]:
    if body is None:
        raise serializers.ValidationError(NO_OBJECT)
    if isinstance(body, Flawed):
        raise serializers.ValidationError(dict(body))
    return MessageSerializer.read(body, project=view.project, **context)


def _find_message(view: ApiView, name: str) -> Message:
    message = outcome.find(view.project.pk, name)
    if message is None:
        raise NotFound(f"There is no message {name[:80]} in this project.")
    return message


def _message_json(view: ApiView, message: Message) -> dict[str, Any]:
    after, limit = pages.where(view.request)
    rows = outcome.devices_of(message, after=after or 0, most=limit + 1)
    whole = Scope.CONTACTS in view.key.scopes
    last = rows[limit - 1]["seq"] if len(rows) > limit else None
    return {
        **status_json(message, outcome.of_call_or_one(message)),
        "devices": [device_json(row, whole=whole) for row in rows[:limit]],
        "next": pages.address_of_next(
            view.request, last, path=reverse("api-message", args=[message.id])
        ),
    }
