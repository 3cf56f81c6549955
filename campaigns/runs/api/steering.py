"""A run steered from a program: an address for each verb of `campaigns/verbs.py`."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns import tasks
from campaigns.corrections.change_running_text import NewText
from campaigns.planning.api import schedules
from campaigns.planning.moving import MovedMeanwhile, WrongTime
from campaigns.runs.api.runs import RunSerializer, possible
from campaigns.runs.policy import BY_FIELD, MAX_RATE
from campaigns.runs.run import Run
from campaigns.runs.variants.group import LETTERS, MAIN, NUMBERS
from campaigns.texts.api.templates import Languages, Text
from campaigns.texts.content import TEXTS
from campaigns.verbs import CHANGE_RATE, CHANGE_TEXT, GO_ON, MOVE, Verb
from notifications.api.base.fields import Nothing, StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.problems import Problem
from notifications.api.base.view import ApiView
from notifications.task_queue import enqueue_on_commit
from notifications.values.zones import validate_zone


class RateSerializer(StrictSerializer):
    """The new sending rate."""

    rate_per_second = serializers.IntegerField(
        min_value=1,
        max_value=MAX_RATE,
        allow_null=True,
        help_text=BY_FIELD["rate_per_second"].hint,
    )


class MoveSerializer(StrictSerializer):
    """The new time."""

    at = serializers.CharField(
        help_text="RFC 3339 with an offset, or a local time together with timezone."
    )
    timezone = serializers.CharField(
        max_length=64, required=False, validators=[validate_zone], help_text="An IANA name."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, datetime]:
        return {"at": schedules.moment_of("at", attrs["at"], attrs.get("timezone"))}


class NewTextSerializer(StrictSerializer):
    """What reads differently from now on."""

    revision = serializers.IntegerField(
        min_value=1, help_text="Of the text you have seen: `revision` of the run."
    )
    variant = serializers.ChoiceField(
        choices=[*LETTERS],
        default=LETTERS[MAIN],
        error_messages={"invalid_choice": "Use A, B, C, D or E."},
        help_text="Whose text it is, in a run with variants.",
    )
    title = Text(max_length=500)
    body = Text(max_length=4_000)
    image = Text(max_length=2_000, help_text="An https address.")
    link = Text(max_length=2_000)
    locales = Languages(
        required=False, help_text="By language tag; what is left out stays as it is."
    )
    next_runs = serializers.BooleanField(
        default=False, help_text="In a series: the runs that follow say it, too."
    )
    accept_skips = serializers.BooleanField(
        default=False, help_text="Though some who wait lack a value that it asks for."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        texts = {name: attrs.pop(name) for name in (*TEXTS, "locales") if name in attrs}
        odd = [tag for tag, own in texts.get("locales", {}).items() if not isinstance(own, dict)]
        if odd:
            raise serializers.ValidationError({"locales": {odd[0][:80]: "Must be an object."}})
        number = NUMBERS[attrs.pop("variant")]
        whose = {"texts": texts} if number == MAIN else {"texts": {}, "others": {number: texts}}
        return {"new": NewText(**whose, **attrs)}


class GoOnSerializer(StrictSerializer):
    """Which variant the rest gets."""

    variant = serializers.ChoiceField(
        choices=[*LETTERS],
        required=False,
        error_messages={"invalid_choice": "Use A, B, C, D or E."},
        help_text="Only of a run with `winner_by`. Left out: the one that did best so far.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return {name: NUMBERS[letter] for name, letter in attrs.items()}


MEANWHILE = "It was moved or started in the meantime. Get the run again, then decide."
ASKS: dict[str, type[StrictSerializer]] = {
    CHANGE_RATE.name: RateSerializer,
    CHANGE_TEXT.name: NewTextSerializer,
    GO_ON.name: GoOnSerializer,
    MOVE.name: MoveSerializer,
}


class RunVerb(ApiView):
    verb: Verb

    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Replaced by the verb's own reference."""
        values = self.given(ASKS.get(self.verb.name, Nothing))
        run = self.find(Run, pk)
        try:
            self.verb.do(run, by=self.actor, **values)
        except WrongTime as error:
            raise serializers.ValidationError({"at": str(error)}) from error
        except Run.InvalidMove as error:
            raise _refused(run, error) from error
        enqueue_on_commit(tasks.advance, run_id=run.pk)
        return Response(RunSerializer(run).data)


def door(verb: Verb) -> type[RunVerb]:
    """A class of its own for each, as the schema is made of classes."""
    schema = extend_schema(
        description=verb.reference,
        request=ASKS.get(verb.name, Nothing),
        responses=RunSerializer,
    )
    of_one: type[RunVerb] = type("RunVerb", (RunVerb,), {"verb": verb})
    return extend_schema_view(post=schema)(of_one)


def _refused(run: Run, error: Run.InvalidMove) -> Problem:
    """Its words and its verbs are of the row as whoever refused had read it: not read again."""
    allowed = possible(run)
    rest = (
        f"Possible now: {', '.join(allowed)}." if allowed else "Nothing more can be done with it."
    )
    text = MEANWHILE if isinstance(error, MovedMeanwhile) else error
    return Problem(HTTPStatus.CONFLICT, f"{text} {rest}", kind="invalid-move", verbs=allowed)
