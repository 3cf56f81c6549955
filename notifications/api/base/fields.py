"""Serializer fields: strict types, free JSON, and clear error texts for invalid values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cached_property
from typing import Any, ClassVar

from django.utils.dateparse import parse_datetime
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty

MAX_NAMED = 20
EMPTY: list[Any] = [None, "", [], {}]
A_SECOND = timedelta(seconds=1)
# Error texts that say what to send. They replace the defaults of DRF's field classes: an answer to
# JSON must not speak of “this field” and dictionaries.
SAID: dict[type[serializers.Field[Any, Any, Any, Any]], dict[str, str]] = {
    serializers.Field: {
        "required": "Is missing; give it.",
        "null": "Must not be null; give a value.",
    },
    serializers.CharField: {
        "invalid": "Must be a text.",
        "blank": "Must not be empty.",
        "max_length": "At most {max_length} characters.",
        "min_length": "At least {min_length} characters.",
    },
    serializers.SlugField: {"invalid": "Use letters without accents, digits, - and _ only."},
    serializers.IntegerField: {
        "invalid": "Must be a whole number.",
        "max_value": "At most {max_value}.",
        "min_value": "At least {min_value}.",
        "max_string_length": "This number is too large.",
    },
    serializers.BooleanField: {"invalid": "Must be true or false."},
    serializers.DateField: {
        "invalid": "Must be a day such as 2026-12-25.",
        "datetime": "Must be a day such as 2026-12-25, without a time.",
    },
    serializers.DateTimeField: {
        "invalid": "Must be a time in RFC 3339 with its offset, e.g. 2026-05-31T09:30:00Z.",
        "date": "Must be a time, not a date: e.g. 2026-05-31T09:30:00Z.",
        "overflow": "This time is out of range.",
    },
    serializers.ListField: {
        "not_a_list": "Must be a list.",
        "empty": "Give at least one.",
        "min_length": "At least {min_length}.",
        "max_length": "At most {max_length}.",
    },
    serializers.Serializer: {"invalid": "Must be an object."},
    serializers.ListSerializer: {"not_a_list": "Must be a list.", "empty": "Give at least one."},
}
for declared, words in SAID.items():
    declared.default_error_messages = {**declared.default_error_messages, **words}

DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
# In JSON, 5, "5" and true are three different values, but DRF converts between them. A query has
# only texts, so its serializer is no StrictSerializer.
FITS: dict[type[serializers.Field[Any, Any, Any, Any]], Callable[[Any], bool]] = {
    serializers.CharField: lambda given: isinstance(given, str),
    serializers.IntegerField: lambda given: is_whole(given),
    serializers.BooleanField: lambda given: isinstance(given, bool),
    serializers.DateField: lambda given: isinstance(given, str) and bool(DAY.fullmatch(given)),
}


def is_whole(given: Any) -> bool:
    """Whether a value is a whole number. 5.0 is one, too: numbers of more than 19 digits are parsed
    as floats."""
    if isinstance(given, float):
        return given.is_integer()
    return isinstance(given, int) and not isinstance(given, bool)


def _make_strict(declared: Any, fits: Callable[[Any], bool]) -> None:
    lenient = declared.to_internal_value

    def to_internal_value(self: Any, data: Any) -> Any:
        if isinstance(self.root, StrictSerializer):
            if not fits(data):
                self.fail("invalid")
            data = int(data) if isinstance(data, float) else data
        return lenient(self, data)

    declared.to_internal_value = to_internal_value


for declared, fits in FITS.items():
    _make_strict(declared, fits)


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses unknown fields by name, and read-only ones that are to be otherwise: both would
    be ignored silently."""

    # Error texts for read-only fields: where to change them instead.
    elsewhere: ClassVar[dict[str, str]] = {}
    # Fields that change by themselves: a client may send an older value back.
    moving: ClassVar[frozenset[str]] = frozenset({"updated_at"})

    _given: Any = None  # the body, while it is validated

    @cached_property
    def _required_fields(self) -> set[str]:
        """What is complained of, or filled in, where it is not given."""
        named = self.fields.fields.items()
        return {name for name, field in named if field.required or field.default is not empty}

    @cached_property
    def _read_only_fields(self) -> set[str]:
        return {name for name, field in self.fields.items() if field.read_only} - self.moving

    @property
    def _writable_fields(self) -> list[serializers.Field[Any, Any, Any, Any]]:
        """Only those that matter: most of what may be given is not, and to ask for each of it took
        half of the time."""
        fields = list(super()._writable_fields)
        if self._given is None:
            return fields
        matter = self._required_fields | self._given.keys()
        return [field for field in fields if field.field_name in matter]

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := data.keys() - self.fields.fields.keys()):
            known = ", ".join(name for name, field in self.fields.items() if not field.read_only)
            messages = [f"Unknown field. Known: {known or 'none'}."]
            raise serializers.ValidationError(
                {name[:80]: messages for name in sorted(unknown)[:MAX_NAMED]}
            )
        if self.parent is None and isinstance(data, Mapping):
            self._refuse_fixed(data, self.context.get("shown"))
        self._given = data
        try:
            return super().to_internal_value(data)
        finally:
            self._given = None

    def _refuse_fixed(self, data: Mapping[str, Any], stored: Mapping[str, Any] | None) -> None:
        """`stored`: as GET shows what is there; None: it is made only now."""
        fixed = self._read_only_fields & data.keys()
        if stored is None:
            text = "Cannot be set here; leave it out."
            wrong = {name: text for name in fixed if data[name] not in EMPTY}
        else:
            wrong = {
                name: self.elsewhere.get(name, "Cannot be changed here.")
                for name in fixed
                if not _is_same(data[name], stored.get(name))
            }
        if wrong:
            raise serializers.ValidationError(wrong)


def _is_same(sent: Any, stored: Any) -> bool:
    """Whether both values are the same. A program may write the same time in another format, or
    without fractions of a second."""
    if sent == stored:
        return True
    try:
        sent_at, stored_at = parse_datetime(sent), parse_datetime(stored)
        return bool(sent_at and stored_at and abs(sent_at - stored_at) < A_SECOND)
    except (TypeError, ValueError, OverflowError):
        return False


class CountedList(serializers.ListField):
    """A list that checks its length first: DRF's own field checks each of a million items before it
    says that there are too many. It reports only the first of many invalid items."""

    def to_internal_value(self, data: Any) -> list[Any]:
        most = self.max_length
        if isinstance(data, list) and most is not None and len(data) > most:
            raise serializers.ValidationError(f"At most {most:,}; there are {len(data):,}.")
        return super().to_internal_value(data)

    def run_child_validation(self, data: list[Any]) -> list[Any]:
        fitting: list[Any] = []
        problems: dict[Any, Any] = {}
        for index, item in enumerate(data):
            try:
                fitting.append(self.child.run_validation(item))
            except serializers.ValidationError as error:
                problems[index] = error.detail
            if len(problems) == MAX_NAMED:
                break
        if problems:
            raise serializers.ValidationError(problems)
        return fitting


class Nothing(StrictSerializer):
    """The body of a request that needs none."""


@extend_schema_field(OpenApiTypes.DATETIME)
class Moment(serializers.DateTimeField):
    """A time that must have an offset. Without one, it would be another moment in each zone."""

    def to_internal_value(self, value: Any) -> Any:
        if isinstance(value, str) and not value.isascii():  # other scripts also have digits
            self.fail("invalid")
        return super().to_internal_value(value)

    def enforce_timezone(self, value: Any) -> Any:
        if value.tzinfo is None:
            self.fail("invalid")
        return super().enforce_timezone(value)


@extend_schema_field(OpenApiTypes.OBJECT)
class JsonObject(serializers.Field[Any, Any, Any, Any]):
    """A JSON object that stays unchanged. The model checks its meaning. This field only checks that
    PostgreSQL can store it."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise serializers.ValidationError("Must be an object.")
        if holds_nul(data):
            raise serializers.ValidationError("Holds a NUL character; remove it.")
        return data

    def to_representation(self, value: Any) -> Any:
        return value


def holds_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, dict):
        return any("\x00" in name or holds_nul(inner) for name, inner in value.items())
    return isinstance(value, list) and any(holds_nul(inner) for inner in value)
