"""Rules of an audience: a tree of all / any / not over typed leaves, and the check at the door.

A security boundary with `selection.py`, which makes SQL of a checked tree: fields and operators
come from closed lists, and depth and size are bounded (`bounds.py`).
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, TypeGuard

from django.core.exceptions import ValidationError
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext

from campaigns.audiences.bounds import AS_KEPT, AS_WRITTEN, MAX_DEPTH, Bounds, leaves, too_much
from campaigns.audiences.durations import parse_duration
from campaigns.audiences.problem import Path, Problem
from notifications.people.contact import validate_attribute_name
from notifications.values.text import unstorable

MAX_VALUES = 1_000
MAX_TEXT = 500
PROBLEMS_SAID = 20
VERSION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){0,5}")

OPERATORS = (
    *("eq", "ne", "in", "not_in", "gt", "gte", "lt", "lte", "contains", "starts_with"),
    *("has", "has_any", "has_none"),
    *("exists", "not_exists", "before", "after", "within_last"),
)
MANY = {"in", "not_in", "has_any", "has_none"}  # take a list of values


@dataclass(frozen=True)
class Field:
    """A column a rule may ask, and the operators that make sense for it."""

    column: str
    kind: str  # text, time, version or list
    ops: frozenset[str]


SAME = {"eq", "ne", "in", "not_in"}
THERE = {"exists", "not_exists"}
TEXT_OPS = frozenset(SAME | THERE | {"contains", "starts_with"})
TIME_OPS = frozenset(THERE | {"before", "after", "within_last"})
VERSION_OPS = frozenset(SAME | THERE | {"gt", "gte", "lt", "lte", "starts_with"})
FIELDS = {
    "external_id": Field("c.external_id", "text", TEXT_OPS),
    "locale": Field("c.locale", "text", TEXT_OPS),
    "timezone": Field("c.timezone", "text", TEXT_OPS),
    "created_at": Field("c.created_at", "time", TIME_OPS),
    "platform": Field("d.platform", "text", TEXT_OPS),
    "app_version": Field("d.app_version", "version", VERSION_OPS),
    "last_seen_at": Field("d.last_seen_at", "time", TIME_OPS),
    "list": Field("", "list", frozenset(SAME)),
}
ATTRIBUTE_OPS = frozenset(OPERATORS)


def everyone() -> dict[str, Any]:
    return {"all": []}


# --- Checking -------------------------------------------------------------------------------------


class Broken(ValidationError):
    """Rules that are kept, and are none: of before a limit, or written past every door."""


def validate(tree: Any, *, lists: Container[int]) -> None:
    """Raise ValidationError naming the place, e.g. `rules.all[1].op`, and the fix.

    `lists` holds the ids of the project's static lists.
    """
    if found := problems(tree) or _unknown_lists(tree, lists):
        raise ValidationError({"rules": found[:PROBLEMS_SAID]})


def problems(tree: Any, bounds: Bounds = AS_WRITTEN) -> list[Problem]:
    """What is wrong with a tree, whoever wrote it and whenever. Sizes come before contents."""
    found = too_much(tree, bounds)
    if not found:
        _check(tree, (), bounds.depth, found)
    return found


def refuse_broken(tree: Any) -> None:
    """Raise Broken for a tree that nothing but `walk` may look into."""
    if found := problems(tree, AS_KEPT):
        raise Broken({"rules": found[:PROBLEMS_SAID]})


def _check(node: Any, path: Path, levels: int, found: list[Problem]) -> None:
    """`levels`: how many there may be, this one among them."""
    if not levels:
        said = gettext("nested deeper than %(most)s levels.") % {"most": MAX_DEPTH}
        found.append(Problem(said, path))
    elif not isinstance(node, dict):
        said = gettext('must be an object such as {"all": []}.')
        found.append(Problem(said, path))
    elif set(node) in ({"all"}, {"any"}):
        word = "all" if "all" in node else "any"
        if not isinstance(node[word], list):
            said = gettext("must be a list of rules.")
            found.append(Problem(said, path, word))
            return
        for index, inner in enumerate(node[word]):
            _check(inner, (*path, word, index), levels - 1, found)
    elif set(node) == {"not"}:
        _check(node["not"], (*path, "not"), levels - 1, found)
    else:
        found += [problem for problem in [_leaf_problem(node, path)] if problem]


def _leaf_problem(leaf: dict[str, Any], path: Path) -> Problem | None:
    if extra := set(leaf) - {"field", "op", "value"}:
        said = gettext("unknown key “%(key)s”. Use all, any, not, or field, op, value.")
        return Problem(said % {"key": str(min(extra))[:50]}, path)
    name, op = leaf.get("field"), leaf.get("op")
    if not isinstance(name, str) or (problem := _field_problem(name)):
        known = ", ".join(["attributes.<name>", *FIELDS])
        said = gettext("%(problem)s. Known: %(known)s.")
        words = {
            "problem": problem if isinstance(name, str) else gettext("missing"),
            "known": known,
        }
        return Problem(said % words, path, "field")
    asked = field_of(name)
    if not isinstance(op, str) or op not in asked.ops:
        allowed = ", ".join(o for o in OPERATORS if o in asked.ops)
        said = gettext("“%(op)s” does not fit %(field)s. Use one of %(allowed)s.")
        words = {"op": str(op)[:50], "field": name, "allowed": allowed}
        return Problem(said % words, path, "op")
    problem = _value_problem(asked, op, leaf.get("value"))
    return Problem(problem, path, "value") if problem else None


def _field_problem(name: str) -> str:
    if name in FIELDS:
        return ""
    prefix, _, attribute = name.partition(".")
    if prefix != "attributes":
        return gettext("unknown field “%(name)s”") % {"name": name[:80]}
    try:
        validate_attribute_name(attribute)
    except ValidationError as error:
        return f"“{name[:80]}”: {error.messages[0].rstrip('.')}"
    return ""


def is_field(name: str) -> bool:
    return not _field_problem(name)


def field_of(name: str) -> Field:
    """The field of a checked leaf. An attribute's values carry their own type."""
    return FIELDS.get(name) or Field("c.attributes", "attribute", ATTRIBUTE_OPS)


def _value_problem(asked: Field, op: str, value: Any) -> str:
    if op in ("exists", "not_exists"):
        return (
            "" if value in (None, "", True) else gettext("leave it out; this operator takes none.")
        )
    if op in MANY:
        if not isinstance(value, list) or not 1 <= len(value) <= MAX_VALUES:
            return gettext("must be a list of 1 to %(most)s values.") % {"most": f"{MAX_VALUES:,}"}
        return next((p for inner in value if (p := _scalar_problem(asked, inner))), "")
    if op in ("before", "after"):
        said = gettext("must be a date or time in ISO 8601, e.g. 2026-05-31.")
        return "" if moment(value) else said
    if op == "within_last":
        fits = isinstance(value, str) and parse_duration(value) is not None
        return "" if fits else gettext("must be an ISO 8601 duration, e.g. P30D or PT12H.")
    if op in ("contains", "starts_with") and not (isinstance(value, str) and value):
        return gettext("must be a text.")
    if op in ("gt", "gte", "lt", "lte"):
        return _order_problem(asked, value)
    return _scalar_problem(asked, value)


def _order_problem(asked: Field, value: Any) -> str:
    if asked.kind == "version":
        fits = isinstance(value, str) and VERSION.fullmatch(value)
        return "" if fits else gettext("must be a version such as 4.10.1, in quotes.")
    if _is_large(value):
        return gettext("must be a number of at most 15 digits.")
    said = gettext("must be a number. For dates use before or after.")
    return "" if _is_number(value) else said


def _scalar_problem(asked: Field, value: Any) -> str:
    if asked.kind == "list":
        return "" if _is_id(value) else gettext("must be the id of a static list.")
    if isinstance(value, str):
        if len(value) > MAX_TEXT or unstorable(value):
            said = gettext("must be a text of at most %(most)s ordinary characters.")
            return said % {"most": MAX_TEXT}
        return ""
    if asked.kind != "attribute":
        return gettext("must be a text.")
    if _is_large(value):
        return gettext("must be a number of at most 15 digits.")
    return (
        ""
        if isinstance(value, bool) or _is_number(value)
        else gettext("must be a text, number or true/false.")
    )


def _is_number(value: Any) -> bool:
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    return fits and abs(value) < 1e15  # NaN and Infinity fail this too


def _is_large(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and not _is_number(value)


def _is_id(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63


def _unknown_lists(tree: dict[str, Any], lists: Container[int]) -> list[Problem]:
    said = gettext("there is no static list %(id)s in this project.")
    return [Problem(said % {"id": pk}) for pk in lists_named(tree) if pk not in lists]


def lists_named(tree: Any) -> list[int]:
    """The ids of the static lists that a tree asks, each once, also of one that is broken."""
    asked = [leaf.get("value") for leaf in leaves(tree) if leaf["field"] == "list"]
    values = [pk for value in asked for pk in (value if isinstance(value, list) else [value])]
    return list(dict.fromkeys(pk for pk in values if _is_id(pk)))


def moment(value: Any) -> datetime | date | None:
    """In UTC, if it says its offset: Python knows offsets that PostgreSQL does not read."""
    if not isinstance(value, str):
        return None
    try:
        parsed = parse_datetime(value)
        if parsed is None:
            return parse_date(value)
        return parsed.astimezone(UTC) if parsed.tzinfo else parsed
    except (ValueError, OverflowError):
        return None
