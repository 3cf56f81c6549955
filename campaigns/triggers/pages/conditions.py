"""Conditions on an event's properties as form lines: property, comparison, value."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from unfold.widgets import INPUT_CLASSES, SELECT_CLASSES

from campaigns.audiences.behavior.event import MANY, MAX_CONDITIONS, where_problem
from campaigns.audiences.pages.builder_kinds import CONDITIONS

PARTS = ("property", "op", "value")
WITHOUT_VALUE = ("exists", "not_exists")
NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?")
TRUTHS = {"true": True, "false": False}

Typed = dict[str, str]  # a line of the form


class ConditionsInput(forms.Widget):
    """The filled lines and an empty one. The page's script shows more."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[Typed]:
        lines = [
            {part: data.get(f"{name}-{number}-{part}", "").strip() for part in PARTS}
            for number in range(MAX_CONDITIONS)
        ]
        return [line for line in lines if line["property"] or line["value"]]

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return False  # no line at all is a valid value

    def id_for_label(self, id_: str, index: str = "0") -> str:
        return f"{id_}-{index}-property"

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        filled = value or []
        empty = [{"op": "eq"}] * (MAX_CONDITIONS - len(filled))
        lines = [
            {"line": line, "number": number, "hidden": number > len(filled)}
            for number, line in enumerate([*filled, *empty])
        ]
        return render_to_string(
            "admin/campaigns/automation/conditions.html",
            {
                "name": name,
                "id": (attrs or {}).get("id", name),
                "lines": lines,
                "comparisons": CONDITIONS.items(),
                "input_class": " ".join(INPUT_CLASSES),
                "select_class": " ".join(SELECT_CLASSES),
            },
        )


class ConditionsField(forms.Field):
    widget = ConditionsInput

    def clean(self, value: list[Typed]) -> list[dict[str, Any]]:
        conditions = [_parse_condition(line) for line in value]
        if problem := where_problem(conditions):
            raise ValidationError(problem)
        return conditions

    def prepare_value(self, value: Any) -> list[Typed]:
        """The lines of a stored value, or of what was typed."""
        return [_line_of(condition) for condition in value or [] if isinstance(condition, dict)]

    def bound_data(self, data: Any, initial: Any) -> Any:
        return data

    def has_changed(self, initial: Any, data: Any) -> bool:
        return self.prepare_value(initial) != self.prepare_value(data)


def _parse_condition(line: Typed) -> dict[str, Any]:
    condition: dict[str, Any] = {"property": line["property"], "op": line["op"]}
    if line["op"] in WITHOUT_VALUE:
        return condition
    if line["op"] in MANY:
        return {
            **condition,
            "value": [_parse_value(part.strip()) for part in line["value"].split(",")],
        }
    return {**condition, "value": _parse_value(line["value"])}


def _parse_value(text: str) -> Any:
    """The value of a text: 5 is a number, and “5” in quotes is a text."""
    if NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return TRUTHS.get(text.lower(), text[1:-1] if quoted else text)


def _line_of(condition: dict[str, Any]) -> Typed:
    value = condition.get("value", "")
    text = ", ".join(map(_format_value, value)) if isinstance(value, list) else _format_value(value)
    as_typed = isinstance(value, str) and set(condition) == set(PARTS)
    return {
        "property": str(condition.get("property", "")),
        "op": str(condition.get("op", "eq")),
        "value": value if as_typed and _parse_value(value) == value else text,
    }


def _format_value(value: Any) -> str:
    """The value as text that `_parse_value` reads back as the same value."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and _parse_value(value) != value:
        return f'"{value}"'
    return "" if value is None else str(value)
