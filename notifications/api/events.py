"""Events: what people did, many at once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from notifications.api.base.fields import CountedList, JsonObject, StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.patience import patient
from notifications.api.base.problems import flattened
from notifications.api.base.rendering import ExactParser
from notifications.api.base.view import ApiView
from notifications.api.contacts import EVERY_PERSON, RejectedRow
from notifications.api.reading import read_event
from notifications.people.contact import Contact
from notifications.people.events.writing import Event, Span, span_of, take
from notifications.people.registry import Person, upsert
from notifications.staff import audit

EVENTS_AT_ONCE = 1_000
NOBODY = 'There is no such person in this project; write them first, or give "create": true.'
EXAMPLE = OpenApiExample(
    "Ada bought shoes",
    {
        "events": [
            {
                "contact": "ada",
                "name": "bought",
                "at": "2026-05-31T09:30:00Z",
                "properties": {"category": "shoes", "price": 79.9},
            }
        ]
    },
    request_only=True,
)
TAKEN = OpenApiExample(
    "One of two was taken",
    {
        "written": 1,
        "duplicates": 0,
        "rejected": [{"index": 1, "field": "contact", "message": NOBODY}],
    },
    response_only=True,
)


class EventRowsSerializer(StrictSerializer):
    # Each row is judged by itself later: a bad one is refused, not the call that brought it.
    events = CountedList(max_length=EVENTS_AT_ONCE)
    # The metaclass takes declared fields off the class, so Serializer.create is still there.
    create = serializers.BooleanField(default=False)  # type: ignore[assignment]


class EventSerializer(StrictSerializer):
    """Something a person did. Without `at`, it happened now."""

    id = serializers.CharField(
        max_length=200,
        required=False,
        help_text="Your own id of the event. It is accepted once in the project.",
    )
    contact = serializers.CharField(max_length=200, help_text="The person's external id.")
    name = serializers.CharField(
        max_length=64, help_text="One line, e.g. bought or Order Completed. Case matters."
    )
    at = serializers.DateTimeField(required=False)
    properties = JsonObject(required=False)


class EventsSerializer(StrictSerializer):
    """Events to write."""

    events = CountedList(child=EventSerializer(), max_length=EVENTS_AT_ONCE)
    create = serializers.BooleanField(  # type: ignore[assignment]
        default=False, help_text="Create people who are not known, by their external id."
    )


class EventsTaken(serializers.Serializer[Any]):
    """How many events were written, and which rows were rejected."""

    written = serializers.IntegerField()
    duplicates = serializers.IntegerField(
        help_text="Events whose id was accepted before. They are not written again."
    )
    rejected = RejectedRow(many=True)


class Events(ApiView):
    rows_of = "events"
    parser_classes = [ExactParser]

    @extend_schema(request=EventsSerializer, responses=EventsTaken, examples=[EXAMPLE, TAKEN])
    @patient
    @idempotent
    def post(self, request: Request) -> Response:
        """Write up to 1,000 events. Invalid events, and those of unknown people, are rejected; the
        others are written. An event with an `id` is accepted once; others that are sent twice
        count twice, without an Idempotency-Key."""
        body = self.given(EventRowsSerializer)
        now = timezone.now()
        events, rejected = _read_events(body["events"], span_of(self.project.pk, now=now), now)
        with transaction.atomic():
            if body["create"]:
                self._create({event.contact for event in events.values()}, now)
            result = take(self.project.pk, list(events.values()))
        nobody = [index for index, event in events.items() if event.contact in result.unknown]
        rejected += [{"index": n, "field": "contact", "message": NOBODY} for n in nobody]
        in_order = sorted(rejected, key=lambda row: row["index"])
        written = len(events) - len(nobody) - result.duplicates
        counts = {"written": written, "duplicates": result.duplicates}
        return Response({**counts, "rejected": in_order})

    def _create(self, external_ids: set[str], now: datetime) -> None:
        """Those of them who are not known."""
        people = Contact.objects.filter(project=self.project, external_id__in=external_ids)
        unknown = external_ids - set(people.values_list("external_id", flat=True))
        if not unknown:
            return
        upserted = upsert(self.project, [Person(one) for one in unknown], by=self.actor, now=now)
        counts: dict[str, Any] = {
            "created": len(upserted.created), "updated": 0, "rejected": 0,
        }  # fmt: skip
        audit.record(self.actor, "wrote", EVERY_PERSON, project=self.project, **counts)


def _read_events(
    rows: list[Any], span: Span, now: datetime
) -> tuple[dict[int, Event], list[dict[str, Any]]]:
    """The valid events by their place in the call, and the problems of the others."""
    events: dict[int, Event] = {}
    rejected: list[dict[str, Any]] = []
    for index, row in enumerate(rows):
        try:
            event = read_event(row, now=now)
            if problem := span.problem(event.at):
                raise serializers.ValidationError({"at": problem})
            events[index] = event
        except serializers.ValidationError as error:
            rejected += [{"index": index, **problem} for problem in flattened(error.detail)]
    return events, rejected
