"""The endpoints of automations."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NamedTuple

from django.core.exceptions import ObjectDoesNotExist, ValidationError
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns import control
from campaigns.audiences.behavior.event import MAX_CONDITIONS
from campaigns.audiences.durations import duration_problem, parse_duration, written
from campaigns.texts.template import Template
from campaigns.triggers import automation_counts
from campaigns.triggers.automation import A_DAY, LONGEST_DELAY, LONGEST_WINDOW, Automation
from campaigns.triggers.trigger import NotSent
from notifications.api.base import pages, tags
from notifications.api.base.fields import CountedList, JsonObject, Nothing, StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.patience import patient
from notifications.api.base.problems import Problem
from notifications.api.base.query import takes
from notifications.api.base.row import WritableRowView
from notifications.api.base.view import ApiView, save
from notifications.people.consent.category import Category
from notifications.people.project import OfProject

# --- Serializers ----------------------------------------------------------------------------------


class EventAskedSerializer(StrictSerializer):
    """Events of one name, of which properties may be asked for."""

    name = serializers.CharField(max_length=64, help_text="E.g. added_to_cart.")
    where = CountedList(
        child=JsonObject(),
        max_length=MAX_CONDITIONS,
        default=list,
        help_text="Conditions on properties, as in a rule on events: "
        '{"property": "price", "op": "gte", "value": 10}.',
    )


class AutomationSerializer(StrictSerializer):
    """Who is sent what, how long after what they did."""

    elsewhere = {"state": "Use POST automations/{id}/on, pause or archive."}

    id = serializers.IntegerField(read_only=True)
    name = serializers.CharField(max_length=100)
    event = EventAskedSerializer()
    template = serializers.IntegerField(min_value=1)
    category = serializers.IntegerField(min_value=1, default=None, allow_null=True)
    delay = serializers.CharField(
        default="PT0S", help_text="How long after the event: ISO 8601, at most P28D."
    )
    once_in = serializers.CharField(
        default="P1D",
        help_text="At most one message to a person in this time, at most P365D; PT0S: each time.",
    )
    unless = EventAskedSerializer(
        default=None,
        allow_null=True,
        help_text="Nothing is sent to a person who had such an event in the meantime.",
    )
    state = serializers.ChoiceField(choices=Automation.State.choices, read_only=True)
    created_at = serializers.DateTimeField(read_only=True)
    updated_at = serializers.DateTimeField(read_only=True)

    def validate_template(self, pk: int) -> OfProject:
        return self._mine(Template, pk)

    def validate_category(self, pk: int | None) -> OfProject | None:
        return None if pk is None else self._mine(Category, pk)

    def validate_delay(self, text: str) -> int:
        return _seconds(text, most=LONGEST_DELAY)

    def validate_once_in(self, text: str) -> int:
        return _seconds(text, most=LONGEST_WINDOW)

    def to_representation(self, automation: Automation) -> dict[str, Any]:
        unless = {"name": automation.unless_name, "where": automation.unless_where}
        return {
            "id": automation.pk,
            "name": automation.name,
            "event": {"name": automation.event_name, "where": automation.where},
            "template": automation.template_id,
            "category": automation.category_id,
            "delay": written(automation.delay_seconds),
            "once_in": written(automation.once_in_seconds),
            "unless": unless if automation.unless_name else None,
            "state": automation.state,
            "created_at": automation.created_at,
            "updated_at": automation.updated_at,
        }

    def _mine(self, model: type[OfProject], pk: int) -> OfProject:
        row = model._default_manager.filter(project=self.context["project"], pk=pk).first()
        if row is None:
            name = model._meta.verbose_name
            raise serializers.ValidationError(f"There is no {name} {pk} in this project.")
        return row


def _seconds(text: str, *, most: int) -> int:
    if problem := duration_problem(text):
        raise serializers.ValidationError(problem[0].upper() + problem[1:])
    span = parse_duration(text)
    seconds = int(span.total_seconds()) if span else 0
    if seconds > most:
        raise serializers.ValidationError(f"At most P{most // A_DAY}D.")
    return seconds


class CountsSerializer(serializers.Serializer[Any]):
    """Events = waiting + sent + not_sent, always; of those kept."""

    events = serializers.IntegerField()
    waiting = serializers.IntegerField(help_text="For their time.")
    sent = serializers.IntegerField(help_text="Led to a message.")
    not_sent = serializers.DictField(
        child=serializers.IntegerField(),
        help_text=f"By reason, most first: {', '.join(NotSent.values)}.",
    )


class OutcomesSerializer(serializers.Serializer[Any]):
    """What became of the newest 1,000 messages, device by device."""

    messages = serializers.IntegerField()
    accepted = serializers.IntegerField()
    rejected = serializers.IntegerField()
    skipped = serializers.IntegerField()
    unknown = serializers.IntegerField()
    waiting = serializers.IntegerField()
    no_device = serializers.IntegerField(help_text="Messages to people without a device.")
    cancelled = serializers.IntegerField()
    reasons = serializers.DictField(
        child=serializers.IntegerField(), help_text="Of devices that did not get theirs, by reason."
    )


class AutomationStatus(AutomationSerializer):
    """An automation with what it has done."""

    moving = frozenset({"counts", "outcomes", "updated_at"})

    counts = CountsSerializer(
        read_only=True, allow_null=True, help_text="Null: too many to be counted in time."
    )
    outcomes = OutcomesSerializer(read_only=True, allow_null=True)

    def to_representation(self, automation: Automation) -> dict[str, Any]:
        counted = automation_counts.counts_of([automation.pk])
        counts = None if counted is None else counted.get(automation.pk, automation_counts.NOTHING)
        outcomes = automation_counts.outcomes_of(automation.pk)
        return {
            **super().to_representation(automation),
            "counts": counts
            and {
                "events": counts.events,
                "waiting": counts.waiting,
                "sent": counts.sent,
                "not_sent": counts.not_sent,
            },
            "outcomes": outcomes
            and {"messages": outcomes.messages, **outcomes.statuses, "reasons": outcomes.reasons},
        }


# --- Endpoints ------------------------------------------------------------------------------------

# Where the model's fields stand in the body.
PLACES = {"event_name": "event.name", "where": "event.where", "delay_seconds": "delay",
          "unless_name": "unless.name", "unless_where": "unless.where"}  # fmt: skip
EXAMPLE = OpenApiExample(
    "A forgotten cart",
    {
        "name": "Forgotten cart",
        "event": {
            "name": "added_to_cart",
            "where": [{"property": "price", "op": "gte", "value": 10}],
        },
        "template": 3,
        "delay": "PT1H",
        "unless": {"name": "bought"},
        "once_in": "P1D",
    },
    request_only=True,
)


class Automations(ApiView):
    place = ("api-automation", "id")

    @takes(*pages.PARAMETERS)
    @extend_schema(operation_id="automations_list", responses=pages.schema_of(AutomationSerializer))
    def get(self, request: Request) -> Response:
        """Every automation, newest first."""
        mine = Automation.objects.filter(project=self.project)
        return pages.page_by_id(request, mine, AutomationSerializer().to_representation)

    @extend_schema(
        request=AutomationSerializer, responses={201: AutomationSerializer}, examples=[EXAMPLE]
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Create an automation. It is a draft: nothing is sent until it is turned on."""
        automation = _write(Automation(project=self.project), self.given(AutomationSerializer))
        return Response(AutomationSerializer(automation).data, status=201)


class AutomationById(WritableRowView[Automation]):
    model, serializer_class = Automation, AutomationSerializer
    body_class = AutomationStatus
    words = {
        "put": "Replace an automation. One that is on is paused first. What waits already keeps "
        "its time.",
        "patch": "Change the given fields; `event` and `unless` are replaced as a whole.",
        "delete": "Delete a draft. Others are archived: their counts are a record.",
    }

    @extend_schema(responses=AutomationStatus)
    def get(self, request: Request, pk: int) -> Response:
        """One automation, with what became of the events it heard. Its ETag is that of the
        automation, without the counts."""
        automation = self.find(Automation, pk)
        answer = Response(AutomationStatus(automation).data)
        answer["ETag"] = tags.tag_of(self.to_json(automation))
        return answer

    def write(self, row: Automation, given: dict[str, Any]) -> object:
        return _write(row, given)

    def held(self, pk: int) -> Automation:
        automation = super().held(pk)
        if self.request.method == "DELETE" and automation.state != Automation.State.DRAFT:
            text = "Only a draft can be deleted. Archive it instead."
            raise Problem(HTTPStatus.CONFLICT, text, kind="in-use")
        return automation


def _write(automation: Automation, values: dict[str, Any]) -> Automation:
    event, unless = values["event"], values["unless"] or {"name": "", "where": []}
    for name, value in {
        "name": values["name"],
        "event_name": event["name"],
        "where": event["where"],
        "template": values["template"],
        "category": values["category"],
        "delay_seconds": values["delay"],
        "once_in_seconds": values["once_in"],
        "unless_name": unless["name"],
        "unless_where": unless["where"],
    }.items():
        setattr(automation, name, value)
    if problem := automation.held():
        raise Problem(HTTPStatus.CONFLICT, problem, kind="held")
    try:
        save(automation)
    except ValidationError as error:
        placed = {PLACES.get(name, name): words for name, words in error.message_dict.items()}
        raise ValidationError(placed) from error
    return automation


class Verb(NamedTuple):
    """What can be done with an automation."""

    do: Callable[..., None]
    reference: str


VERBS = {
    "on": Verb(
        control.turn_on,
        "Turn an automation on: from now on its events are answered. 422: it is not ready; see "
        "`errors`. 409: it is on, or archived.",
    ),
    "pause": Verb(
        control.pause_automation,
        "Pause an automation. Events that come, and messages that come due, while it is paused "
        "are decided as `paused`: nothing is sent later for them.",
    ),
    "archive": Verb(
        control.archive_automation,
        "End an automation for good. What waits is decided as `ended` at its time.",
    ),
}


class AutomationVerb(ApiView):
    verb: Verb

    @patient
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Replaced by the verb's own reference."""
        self.given(Nothing)
        automation = self.find(Automation, pk)
        try:
            self.verb.do(automation, by=self.actor)
        except ObjectDoesNotExist as error:
            raise NotFound(f"There is no automation {pk} in this project.") from error
        except Automation.NotReady as error:
            raise Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                "It cannot be turned on yet; see errors.",
                kind="not-ready",
                errors={PLACES.get(name, name): text for name, text in error.problems.items()},
            ) from error
        except Automation.InvalidMove as error:
            raise Problem(HTTPStatus.CONFLICT, str(error), kind="invalid-move") from error
        return Response(AutomationSerializer(automation).data)


def door(name: str) -> type[AutomationVerb]:
    """A class of its own for each, as the schema is made of classes."""
    verb = VERBS[name]
    schema = extend_schema(
        description=verb.reference, request=Nothing, responses=AutomationSerializer
    )
    of_one: type[AutomationVerb] = type("AutomationVerb", (AutomationVerb,), {"verb": verb})
    return extend_schema_view(post=schema)(of_one)
