"""Serializers that refuse what they do not know, and fields for free-form JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

MOST_NAMED = 20


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses unknown fields by name: a misspelt one would otherwise be lost in silence."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            known = ", ".join(name for name, field in self.fields.items() if not field.read_only)
            unknown = {
                name[:80]: [f"Unknown field. Known: {known or 'none'}."]
                for name in sorted(set(data) - set(self.fields))[:MOST_NAMED]
            }
            if unknown:
                raise serializers.ValidationError(unknown)
        return super().to_internal_value(data)


class CountedList(serializers.ListField):
    """Counts before it looks, where DRF's own looks at each of a million first, and then says that
    they are too many. Of many that do not fit it names the first."""

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


@extend_schema_field(OpenApiTypes.OBJECT)
class JsonObject(serializers.Field[Any, Any, Any, Any]):
    """An object as it came. What it means is for the model to judge; PostgreSQL must take it."""

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
