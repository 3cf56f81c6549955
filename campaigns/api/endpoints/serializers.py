"""An endpoint as JSON, and an entry of its log."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from rest_framework import serializers

from campaigns.webhook_events import endpoint_checks
from notifications.api.base.fields import CountedList, StrictSerializer
from notifications.webhooks.call import Call
from notifications.webhooks.endpoint import Endpoint
from notifications.webhooks.event_types import EventType

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
        help_text="How it is told. It cannot be changed later.",
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
