"""An automation as JSON: what a program asks for, and how one is shown with its counts."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from campaigns.audiences.behavior.event import MAX_CONDITIONS
from campaigns.audiences.durations import duration_problem, parse_duration, written
from campaigns.texts.template import Template
from campaigns.triggers import automation_counts
from campaigns.triggers.automation import A_DAY, LONGEST_DELAY, LONGEST_WINDOW, Automation
from campaigns.triggers.trigger import NotSent
from notifications.api.base.fields import CountedList, JsonObject, StrictSerializer
from notifications.people.consent.category import Category
from notifications.people.project import OfProject


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
        help_text="Nothing is sent to a person of whom such an event came meanwhile.",
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
