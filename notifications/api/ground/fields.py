"""Serializers that refuse what they do not know, fields for free-form JSON, and what is said of
values that do not fit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty

MOST_NAMED = 20
# Each says what to give. Put where every field takes its words from when it is declared: an answer
# must not speak of “this field” and dictionaries to somebody who sent JSON.
SAID: dict[type[serializers.Field[Any, Any, Any, Any]], dict[str, str]] = {
    serializers.Field: {
        "required": "Is missing; give it.",
        "null": "Must not be null; give a value, or leave it out.",
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


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses unknown fields by name: a misspelt one would otherwise be ignored silently."""

    _given: Any = None  # while it is read

    @cached_property
    def _missed(self) -> set[str]:
        """What is complained of, or filled in, where it is not given."""
        named = self.fields.fields.items()
        return {name for name, field in named if field.required or field.default is not empty}

    @property
    def _writable_fields(self) -> list[serializers.Field[Any, Any, Any, Any]]:
        """Only those that matter: most of what may be given is not, and to ask for each of it took
        half of the time."""
        fields = list(super()._writable_fields)
        if self._given is None:
            return fields
        matter = self._missed | self._given.keys()
        return [field for field in fields if field.field_name in matter]

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := data.keys() - self.fields.fields.keys()):
            known = ", ".join(name for name, field in self.fields.items() if not field.read_only)
            said = [f"Unknown field. Known: {known or 'none'}."]
            raise serializers.ValidationError(
                {name[:80]: said for name in sorted(unknown)[:MOST_NAMED]}
            )
        self._given = data
        try:
            return super().to_internal_value(data)
        finally:
            self._given = None


class StrictText(serializers.CharField):
    """DRF takes a number for one, too: 5 and "5" would be the same key."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class StrictNumber(serializers.IntegerField):
    """DRF takes "5", too."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return super().to_internal_value(data)


class StrictYesNo(serializers.BooleanField):
    """DRF takes "yes", 1 and "off", too."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid")
        return data


class CountedList(serializers.ListField):
    """Checks the count first; DRF's own field checks each of a million items before it says that
    they are too many. Names only the first of many invalid items."""

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
            if len(problems) == MOST_NAMED:
                break
        if problems:
            raise serializers.ValidationError(problems)
        return fitting


class Nothing(StrictSerializer):
    """The body of a request that needs none."""


@extend_schema_field(OpenApiTypes.DATETIME)
class Moment(serializers.DateTimeField):
    """A time with its offset. Without one it would be another moment for who reads it elsewhere."""

    def to_internal_value(self, value: Any) -> Any:
        if isinstance(value, str) and not value.isascii():  # other scripts have digits, too
            self.fail("invalid")
        return super().to_internal_value(value)

    def enforce_timezone(self, value: Any) -> Any:
        if value.tzinfo is None:
            self.fail("invalid")
        return super().enforce_timezone(value)


@extend_schema_field(OpenApiTypes.OBJECT)
class JsonObject(serializers.Field[Any, Any, Any, Any]):
    """An object, unchanged. Its meaning is checked by the model; here only that PostgreSQL can
    store it."""

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
