"""Schema check: Google's own description of a message, compiled into plain check functions.

`fcm.v1.discovery.json` in this folder is revision 20261023. A check takes a value and returns its
problems, each with its field. It is stricter than Google where Google guesses (a number for a text,
"5" for 5): a message that passes means the same to every reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from django.utils.translation import gettext

from notifications.fcm import rules
from notifications.values.text import unstorable


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One problem of a message: the field, and what to change."""

    field: str
    text: str

    def inside(self, name: str) -> FieldProblem:
        """Add an outer field name. Paths are built on the way up, so valid values cost nothing."""
        joint = "." if self.field and not self.field.startswith("[") else ""
        return FieldProblem(f"{name}{joint}{self.field}", self.text)

    def __str__(self) -> str:
        return f"{self.field}: {self.text}"


Check = Callable[[Any], list[FieldProblem]]
# Rules by field name: a rule for a value, or nested rules for an object.
Rules = Mapping[str, Any]

DURATION = re.compile(r"\d{1,12}(?:\.\d{1,9})?s", re.ASCII)
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z", re.ASCII)
INT32 = range(-(2**31), 2**31)
FINE: list[FieldProblem] = []


def wrong(words: str) -> list[FieldProblem]:
    return [FieldProblem("", words)] if words else FINE


# --- One value ------------------------------------------------------------------------------------


def _text(value: Any, rule: rules.Rule | None) -> list[FieldProblem]:
    if type(value) is not str:
        return wrong(
            gettext("must be a text in quotes, not %(value)s.") % {"value": _shorten(value)}
        )
    if problem := unstorable(value):
        return wrong(f"{problem}.")
    return wrong(rule(value)) if rule else FINE


def _boolean(value: Any, rule: rules.Rule | None) -> list[FieldProblem]:
    return (
        FINE
        if type(value) is bool
        else wrong(gettext("must be true or false, not %(value)s.") % {"value": _shorten(value)})
    )


def _integer(value: Any, rule: rules.Rule | None) -> list[FieldProblem]:
    if type(value) is not int or value not in INT32:
        return wrong(
            gettext("must be a whole number without quotes, not %(value)s.")
            % {"value": _shorten(value)}
        )
    return wrong(rule(value)) if rule else FINE


def _number(value: Any, rule: rules.Rule | None) -> list[FieldProblem]:
    if words := rules.number(value):
        return wrong(words)
    return wrong(rule(value)) if rule else FINE


def _duration(value: Any, rule: rules.Rule | None) -> list[FieldProblem]:
    if type(value) is not str or not DURATION.fullmatch(value):
        return wrong(
            gettext('must be seconds with an s, e.g. "3600s", not %(value)s.')
            % {"value": _shorten(value)}
        )
    return wrong(rule(value)) if rule else FINE


def _instant(value: Any, rule: rules.Rule | None) -> list[FieldProblem]:
    if type(value) is str and INSTANT.fullmatch(value):
        return FINE
    return wrong(
        gettext("must be a moment such as 2026-11-21T14:30:00Z, not %(value)s.")
        % {"value": _shorten(value)}
    )


def _choice(choices: list[str], value: Any) -> list[FieldProblem]:
    # Upper or lower case: Google's own libraries send lower case.
    if type(value) is str and value.upper() in choices:
        return FINE
    return wrong(
        gettext("must be one of %(known)s, not %(value)s.")
        % {"known": ", ".join(choices), "value": _shorten(value)}
    )


def _anything(value: Any, rule: rules.Rule | None) -> list[FieldProblem]:
    """Check free JSON, which Apple and browsers define and FCM only carries."""
    if isinstance(value, str):
        return _text(value, rule)
    if isinstance(value, dict):
        problems = [p.inside(key) for key, inner in value.items() for p in _anything(inner, None)]
    elif isinstance(value, list):
        inners = enumerate(value)
        problems = [
            p.inside(f"[{place}]") for place, inner in inners for p in _anything(inner, None)
        ]
    else:
        problems = FINE if value is None or type(value) is bool else wrong(rules.number(value))
    return problems or (wrong(rule(value)) if rule else FINE)


# --- Several values -------------------------------------------------------------------------------


def _list(check: Check, rule: rules.Rule | None, value: Any) -> list[FieldProblem]:
    if type(value) is not list:
        return wrong(gettext("must be a list, not %(value)s.") % {"value": _shorten(value)})
    found = [p.inside(f"[{place}]") for place, item in enumerate(value) for p in check(item)]
    return found or (wrong(rule(value)) if rule else FINE)


def _object(name: str, checks: Mapping[str, Check], value: Any) -> list[FieldProblem]:
    """Check an object. Fields may be camelCase or snake_case; a null field counts as left out."""
    if type(value) is not dict:
        return wrong(gettext("must be an object, not %(value)s.") % {"value": _shorten(value)})
    all_problems: list[FieldProblem] = []
    for field, inner in value.items():
        check = checks.get(field)
        if check is None:
            all_problems.append(
                FieldProblem(
                    str(field),
                    gettext("FCM's %(name)s has no such field; remove it.") % {"name": name},
                )
            )
        elif inner is not None and (problems := check(inner)):
            all_problems += [problem.inside(field) for problem in problems]
    return all_problems


def _map(
    check: Check, keyed: Mapping[str, Check], rule: rules.Rule | None, value: Any
) -> list[FieldProblem]:
    """Check an object with any keys and values of one type. Some keys have their own rules."""
    if type(value) is not dict:
        return wrong(gettext("must be an object, not %(value)s.") % {"value": _shorten(value)})
    all_problems: list[FieldProblem] = []
    for key, inner in value.items():
        if problems := keyed.get(key, check)(inner) or _key(key):
            all_problems += [problem.inside(str(key)) for problem in problems]
    return all_problems or (wrong(rule(value)) if rule else FINE)


def _key(key: Any) -> list[FieldProblem]:
    if type(key) is not str:
        return wrong(gettext("a key must be a text."))
    # Most keys are plain ASCII, which is fast to check.
    return FINE if key.isascii() and "\x00" not in key else wrong(unstorable(key))


def _shorten(value: Any) -> str:
    try:
        text = orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


# --- The compiler ---------------------------------------------------------------------------------

SCALARS = {
    "string": _text, "boolean": _boolean, "int32": _integer, "float": _number,
    "google-duration": _duration, "google-datetime": _instant,
}  # fmt: skip


def compile_schema(name: str, of: Rules) -> Check:
    """Compile the check of one named schema, with our rules for the values inside it."""
    document = orjson.loads(Path(__file__).with_name("fcm.v1.discovery.json").read_bytes())
    return _Compiler(document["schemas"]).named(name, of)


class _Compiler:
    def __init__(self, schemas: dict[str, Any]) -> None:
        self._schemas = schemas

    def named(self, name: str, of: Rules) -> Check:
        checks: dict[str, Check] = {}
        for field, kind in self._schemas[name].get("properties", {}).items():
            checks[field] = checks[_snake(field)] = self.check(kind, of.get(field))
        return partial(_object, name, checks)

    def check(self, kind: dict[str, Any], of: Any) -> Check:
        if "$ref" in kind:
            return self.named(kind["$ref"], of or {})
        if "enum" in kind:
            return partial(_choice, kind["enum"])
        if kind["type"] == "array":
            return partial(_list, self.check(kind["items"], None), of)
        if "additionalProperties" in kind:
            return self._map(kind["additionalProperties"], of)
        return partial(SCALARS[kind.get("format", kind["type"])], rule=of)

    def _map(self, kind: dict[str, Any], of: Any) -> Check:
        free = kind["type"] == "any"
        inner = partial(_anything, rule=None) if free else self.check(kind, None)
        if not isinstance(of, Mapping):
            return partial(_map, inner, {}, of)
        keyed: dict[str, Check] = {}
        for key, rule in of.items():
            deeper = free and isinstance(rule, Mapping)
            keyed[key] = (
                self._map(kind, rule)
                if deeper
                else partial(_anything if free else _text, rule=rule)
            )
        return partial(_map, inner, keyed, None)


def _snake(camel: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", camel).lower()
