"""Automations: messages that answer what people do, defined, turned on and counted."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NamedTuple

from django.core.exceptions import ObjectDoesNotExist, ValidationError
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns import control
from campaigns.api.automations.serializers import AutomationSerializer, AutomationStatus
from campaigns.triggers.automation import Automation
from notifications.api.base import pages, tags
from notifications.api.base.fields import Nothing
from notifications.api.base.idempotency import idempotent
from notifications.api.base.patience import patient
from notifications.api.base.problems import Problem
from notifications.api.base.query import takes
from notifications.api.base.row import WritableRowView
from notifications.api.base.view import ApiView, save

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
        answer["ETag"] = tags.tag_of(self.shown(automation))
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
