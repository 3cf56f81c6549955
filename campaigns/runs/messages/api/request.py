"""What a program asks of a message: to whom, what it says and how it is sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import lru_cache
from itertools import islice
from typing import Any

import orjson
from django.core.exceptions import ValidationError as Invalid
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from campaigns.runs.messages.bulk_messages import AT_ONCE
from campaigns.runs.messages.day import LONGEST
from campaigns.runs.run import Run
from campaigns.texts.api.templates import Buttons, Languages, Options, Texts
from campaigns.texts.snippets import usage
from campaigns.texts.template import Template
from notifications.api.base.fields import (
    MAX_NAMED,
    CountedList,
    JsonObject,
    Moment,
    StrictSerializer,
)
from notifications.api.person_in_query import ExternalId
from notifications.api.reading import read_person
from notifications.api.shapes import MAX_DEVICES, DeviceSerializer
from notifications.people.attributes import types_of
from notifications.people.consent.category import Category
from notifications.people.contact import validate_number
from notifications.people.device import MAX_ADDRESS
from notifications.people.registry import Person
from notifications.people.retention import MAX_DAYS
from notifications.values import exact, flaws

A_DAY = 86_400
CHECKED = 1_000  # contents remembered as in order
_own = threading.local()
WHOM = ("contact", "contacts", "list", "device")
OF_A_PERSON = ("attributes", "locale", "timezone", "devices")
EITHER = "Give one of contact, contacts, list and device."
MAX_OF_ARTICLE = 256 * 1024  # bytes
MIN_QUIET, MAX_QUIET = 15, 600  # seconds; a feed notes every ten who is there
NOT_INTO_INBOX = "This is for the inbox only; give inbox: true with it."
ONE_TEXT = "Give either template or content."
ONLY_PEOPLE = "Only people can be created: name them in to.contact or to.contacts."
OF_ONE_NEW = 'Only with to.contact and "create": true.'
OVER = (
    "Lies so far back that its ttl_seconds are over: nobody would get it. Leave it out to send now."
)
ONE_EACH = "In messages/bulk each message goes to one contact or device. Use POST messages."
# What a word says to each platform. None: as it is without any, which is 10 for what is shown.
PRIORITIES: dict[str, dict[str, dict[str, Any]]] = {
    "high": {
        "android": {"priority": "high"},
        "ios": {"priority": None},
        "web": {"urgency": "high"},
    },
    "normal": {
        "android": {"priority": "normal"},
        "ios": {"priority": 5},
        "web": {"urgency": "normal"},
    },
}


@extend_schema_field(DeviceSerializer)
class NewDevice(JsonObject):
    """Judged with its person, as in contacts."""


class AnyText(serializers.CharField):
    """Empty, or left out."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, allow_blank=True, trim_whitespace=False, **options)


class ToSerializer(StrictSerializer):
    """One person on all their devices, one device, up to 1,000 people, or a static list."""

    contact = ExternalId(required=False, help_text="The person's external id.")
    contacts = CountedList(
        child=ExternalId(),
        required=False,
        allow_empty=False,
        max_length=AT_ONCE,
        help_text="External ids. One call, one text, each of them by themselves.",
    )
    list = serializers.IntegerField(
        min_value=1, max_value=2**63 - 1, required=False, help_text="The id of a static list."
    )
    device = serializers.CharField(
        required=False, max_length=MAX_ADDRESS, help_text="The address of one of their devices."
    )
    attributes = JsonObject(required=False, help_text="Of the person, if they are created.")
    locale = serializers.CharField(max_length=35, required=False, allow_blank=True)
    timezone = serializers.CharField(max_length=64, required=False, allow_blank=True)
    devices = CountedList(
        child=NewDevice(), required=False, max_length=MAX_DEVICES, help_text="Likewise."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if sum(name in attrs for name in WHOM) != 1:
            raise serializers.ValidationError({"contact": EITHER})
        return attrs


class ContentSerializer(StrictSerializer):
    """The text itself, as a template has it."""

    title = serializers.CharField(max_length=500, trim_whitespace=False)
    body = serializers.CharField(max_length=4_000, trim_whitespace=False)
    image = AnyText(max_length=2_000, help_text="An https address.")
    link = AnyText(max_length=2_000, help_text="Opened when tapped.")
    buttons = Buttons(help_text="At most three, as a template's.")
    # The metaclass takes declared fields off the class, so Serializer.data is still there.
    data = Texts(required=False, help_text="Extra texts for the app.")  # type: ignore[assignment]
    locales = Languages(required=False, help_text="By language tag.")


class DeduplicateSerializer(StrictSerializer):
    """A second call with this key makes no second message."""

    key = serializers.CharField(max_length=200)
    window_seconds = serializers.IntegerField(
        min_value=1, max_value=LONGEST, default=A_DAY, help_text="How long the key is remembered."
    )


@extend_schema_field(OpenApiTypes.OBJECT)
class Variables(JsonObject):
    """Their numbers stay as they came, and may be as long as those of a person's attributes."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        values = super().to_internal_value(data)
        refuse(values, _number_problem)
        return values


def _number_problem(value: Any) -> str:
    try:
        validate_number(value) if isinstance(value, int | float) else None
    except Invalid as error:
        return str(error.messages[0])
    return ""


def refuse(value: Any, wrong: Callable[[Any], str]) -> None:
    """By name what is wrong in an object."""
    first_flaws = islice(flaws.within(value, wrong), MAX_NAMED)
    if messages := {flaw.within(0): flaw.message for flaw in first_flaws}:
        raise serializers.ValidationError(messages)


class MessageSerializer(StrictSerializer):
    """A message to one person."""

    to = ToSerializer()
    create = serializers.BooleanField(  # type: ignore[assignment]  # as Serializer.data
        default=False, help_text="Create who is not known, with what `to` says of them."
    )
    template = serializers.IntegerField(min_value=1, required=False)
    content = ContentSerializer(required=False)
    variables = Variables(
        required=False, help_text="Values for the text; they win over the person's attributes."
    )
    category = serializers.IntegerField(min_value=1, required=False, allow_null=True)
    ttl_seconds = serializers.IntegerField(
        min_value=1, max_value=LONGEST, default=A_DAY, help_text="Counted from `at`."
    )
    collapse = serializers.CharField(
        max_length=64,
        required=False,
        help_text="A phone shows only the last message with the same value.",
    )
    priority = serializers.ChoiceField(
        choices=list(PRIORITIES),
        required=False,
        error_messages={"invalid_choice": "Use high or normal."},
        help_text="high wakes the phone, normal may wait until it is in use.",
    )
    options = Options(
        required=False, help_text='Per platform: {"android": {"channel_id": "orders"}}.'
    )
    on_unknown = serializers.ChoiceField(
        choices=Run.OnUnknown.choices,
        default="resend",
        error_messages={"invalid_choice": "Use resend or hold."},
        help_text="What to do when an answer of FCM is lost: resend or hold.",
    )
    at = Moment(
        required=False, help_text="When to send it, at most 28 days ahead; without it, now."
    )
    deduplicate = DeduplicateSerializer(required=False)
    inbox = serializers.BooleanField(
        default=False, help_text="Also into the person's inbox, whether or not a phone is reached."
    )
    article = serializers.CharField(
        required=False,
        trim_whitespace=False,
        max_length=MAX_OF_ARTICLE,
        help_text="A long text for the inbox, which the push only announces; at most 256 kB.",
    )
    quiet_if_online = serializers.IntegerField(
        min_value=MIN_QUIET,
        max_value=MAX_QUIET,
        required=False,
        help_text="Seconds: do not ring who had their inbox open within them, in GET "
        "me/inbox/stream. The item is there all the same.",
    )
    inbox_days = serializers.IntegerField(
        min_value=1,
        max_value=MAX_DAYS,
        required=False,
        help_text="Gone from the inbox after as many days; without it, as the project keeps them.",
    )

    def validate_options(self, options: dict[str, Any]) -> Any:
        """A phone knows no larger numbers than a double."""
        refuse(options, flaws.too_large)
        return orjson.loads(exact.dumps(options))

    def validate_article(self, article: str) -> str:
        if (size := len(article.encode())) > MAX_OF_ARTICLE:
            text = f"At most {MAX_OF_ARTICLE:,} bytes; it has {size:,}."
            raise serializers.ValidationError(text)
        return article

    @classmethod
    def read(cls, body: Any, **context: Any) -> dict[str, Any]:
        """As `given`, with fields that are made once for each thread: to make them costs more than
        to use them."""
        if not hasattr(_own, "serializer"):
            _own.serializer = cls()
        _own.serializer._context = context
        values: dict[str, Any] = _own.serializer.run_validation(body)
        return values

    def validate_at(self, at: Any) -> Any:
        if at > timezone.now() + timedelta(seconds=LONGEST):
            raise serializers.ValidationError("At most 28 days ahead.")
        return at

    def validate_category(self, pk: int | None) -> Category | None:
        if pk is None:
            return None
        category = Category.objects.filter(project=self.context["project"], pk=pk).first()
        if category is None:
            raise serializers.ValidationError(f"There is no category {pk} in this project.")
        return category

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("template" in attrs) == ("content" in attrs):
            raise serializers.ValidationError({"content": ONE_TEXT})
        if "at" in attrs and attrs["at"] + timedelta(seconds=attrs["ttl_seconds"]) < timezone.now():
            raise serializers.ValidationError({"at": OVER})
        self._check_recipient(attrs)
        attrs["content"] = self._content(attrs)
        attrs["into_inbox"] = _into_inbox(attrs)
        return attrs

    def _check_recipient(self, attrs: dict[str, Any]) -> None:
        to = attrs["to"]
        creates = attrs["create"] and "contact" in to
        person_fields = [name for name in OF_A_PERSON if name in to]
        if attrs["create"] and not {"contact", "contacts"} & set(to):
            raise serializers.ValidationError({"create": ONLY_PEOPLE})
        if person_fields and not creates:
            raise serializers.ValidationError({"to": dict.fromkeys(person_fields, OF_ONE_NEW)})
        many = {"contacts", "list"} & set(to)
        if many and self.context.get("one_each"):
            raise serializers.ValidationError({"to": dict.fromkeys(many, ONE_EACH)})
        if creates:
            attrs["person"] = self._person(to)

    def _person(self, to: dict[str, Any]) -> Person:
        row = {"external_id": to["contact"], **{n: to[n] for n in OF_A_PERSON if n in to}}
        types = types_of(self.context["project"].pk) if "attributes" in row else {}
        try:
            return read_person(row, set, types, began=timezone.now())
        except serializers.ValidationError as error:
            raise serializers.ValidationError({"to": error.detail}) from error

    def _content(self, attrs: dict[str, Any]) -> dict[str, Any]:
        content, field = attrs.get("content"), "content"
        if content is None:
            field = "template"
            pk, project = attrs["template"], self.context["project"]
            template = Template.objects.filter(project=project, pk=pk).first()
            if template is None:
                raise serializers.ValidationError(
                    {"template": f"There is no template {pk} in this project."}
                )
            content = template.frozen()
            if not attrs.get("options") and "priority" not in attrs:
                return content
            del content["template"]  # with options of its own it is another text
        else:
            content = {**content, **_snippets_in(content, self.context["project"].pk)}
        preset = _merged(content.get("options", {}), PRIORITIES.get(attrs.get("priority", ""), {}))
        added = {name: {**preset.get(name, {}), **value} if isinstance(value, dict) else value
                 for name, value in attrs.get("options", {}).items()}  # fmt: skip
        try:
            return dict(
                _checked_content(
                    json.dumps({**content, "options": {**preset, **added}}, sort_keys=True)
                )
            )
        except Invalid as error:
            raise serializers.ValidationError(_errors_by_field(error, field)) from error


def _into_inbox(attrs: dict[str, Any]) -> dict[str, Any] | None:
    names = {"article": "article", "inbox_days": "days", "quiet_if_online": "quiet_if_online"}
    settings = {name: attrs[field] for field, name in names.items() if field in attrs}
    if settings and not attrs["inbox"]:
        field = next(field for field in names if field in attrs)
        raise serializers.ValidationError({field: NOT_INTO_INBOX})
    return settings if attrs["inbox"] else None


def _merged(options: dict[str, Any], words: dict[str, dict[str, Any]]) -> dict[str, Any]:
    merged = {name: {**options.get(name, {}), **words[name]} for name in words}
    cleaned = {name: {key: value for key, value in values.items() if value is not None}
               for name, values in merged.items()}  # fmt: skip
    return {name: values for name, values in {**options, **cleaned}.items() if values}


def _snippets_in(content: dict[str, Any], project_id: int) -> dict[str, Any]:
    """What those say that it mentions; all of the project's, if one is not among them."""
    if not (names := usage.mentioned(content)):
        return {}
    known = usage.snippets_to_freeze(project_id, names)
    return {"snippets": known if names <= known.keys() else usage.snippets_to_freeze(project_id)}


@lru_cache(maxsize=CHECKED)
def _checked_content(source: str) -> dict[str, Any]:
    """The content as a run keeps it, judged as a template's. The same one comes very often."""
    content = json.loads(source)
    snippets = content.pop("snippets", {})
    template = Template(**content)
    template.snippets_known = snippets
    template.clean_fields(exclude=["project", "name"])
    template.clean()
    return template.frozen()


def _errors_by_field(error: Invalid, field: str) -> dict[str, Any]:
    errors: dict[str, Any] = {}
    for name, words in error.message_dict.items():
        if name == "options":
            errors["options"] = words
        else:
            errors.setdefault(field, {})[name] = words
    return errors
