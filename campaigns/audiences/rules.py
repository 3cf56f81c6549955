"""Rules of an audience: a tree of all / any / not over typed leaves, and its validation.

With `selection.py`, which makes SQL of a checked tree, this is a security boundary: fields and
operators come from closed lists, and depth and size are bounded (`bounds.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import chain
from typing import Any, TypeGuard

from django.core.exceptions import ValidationError
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext

from campaigns.audiences.behavior import at_most
from campaigns.audiences.behavior.kind import Named
from campaigns.audiences.behavior.kinds import KINDS
from campaigns.audiences.bounds import (
    AS_KEPT,
    AS_WRITTEN,
    MAX_DEPTH,
    Bounds,
    is_leaf,
    leaves,
    too_much,
)
from campaigns.audiences.durations import duration_problem
from campaigns.audiences.problem import Path, Problem
from notifications.people.attributes import validate_attribute_name
from notifications.people.device import Device, seen_at
from notifications.values.text import unstorable

MAX_VALUES = 1_000
MAX_TEXT = 500
PROBLEMS_SAID = 20
VERSION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){0,5}")

ATTRIBUTE_OPS = (
    *("eq", "ne", "in", "not_in", "gt", "gte", "lt", "lte", "contains", "starts_with"),
    *("has", "has_any", "has_none"),
    *("exists", "not_exists", "before", "after", "within_last"),
)
OPERATORS = tuple(dict.fromkeys([*ATTRIBUTE_OPS, *chain(*(kind.ops for kind in KINDS.values()))]))
MANY = {"in", "not_in", "has_any", "has_none"}  # take a list of values


@dataclass(frozen=True)
class Field:
    """A column that rules can compare, and the operators that make sense for it."""

    column: str
    kind: str  # text, time, version or list
    ops: frozenset[str]
    of_device: bool = False


SAME = {"eq", "ne", "in", "not_in"}
THERE = {"exists", "not_exists"}
TEXT_OPS = frozenset(SAME | THERE | {"contains", "starts_with"})
TIME_OPS = frozenset(THERE | {"before", "after", "within_last"})
VERSION_OPS = frozenset(SAME | THERE | {"gt", "gte", "lt", "lte", "starts_with"})
# When any device of the person was last seen. Retired devices count: the person used them too.
PERSON_SEEN = (
    f"(SELECT max({seen_at('theirs')}) FROM notifications_device theirs"
    " WHERE theirs.contact_id = c.id)"
)
FIELDS = {
    "external_id": Field("c.external_id", "text", TEXT_OPS),
    "locale": Field("c.locale", "text", TEXT_OPS),
    "timezone": Field("c.timezone", "text", TEXT_OPS),
    "created_at": Field("c.created_at", "time", TIME_OPS),
    "person_seen_at": Field(PERSON_SEEN, "time", TIME_OPS),
    "platform": Field("d.platform", "text", TEXT_OPS, of_device=True),
    "app_version": Field("d.app_version", "version", VERSION_OPS, of_device=True),
    "last_seen_at": Field(f"({seen_at('d')})", "time", TIME_OPS, of_device=True),
    "list": Field("", "list", frozenset(SAME)),
}


def everyone() -> dict[str, Any]:
    return {"all": []}


# --- Checking -------------------------------------------------------------------------------------


class Broken(ValidationError):
    """Stored rules that are not valid: older than a limit, or written past all checks."""


def validate(tree: Any, *, lists: Container[int]) -> None:
    """Check new rules. ValidationError names the place, e.g. `rules.all[1].op`, and the fix.

    `lists` holds the ids of the project's static lists.
    """
    if errors := problems(tree) or _reference_problems(tree, lists) or _server_key_problems(tree):
        raise ValidationError({"rules": errors[:PROBLEMS_SAID]})


def problems(tree: Any, bounds: Bounds = AS_WRITTEN) -> list[Problem]:
    """The problems of any tree; empty if it is valid. Sizes are checked before contents."""
    errors = too_much(tree, bounds)
    if not errors:
        _check(tree, (), bounds.depth, errors)
    return errors or _misplaced(tree)


def refuse_broken(tree: Any) -> None:
    """Raise Broken if stored rules are not valid: only `walk` is safe with them."""
    if errors := problems(tree, AS_KEPT):
        raise Broken({"rules": errors[:PROBLEMS_SAID]})


def _paths(tree: Any, path: Path = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Each rule of a checked tree, with its path from the root."""
    if is_leaf(tree):
        yield path, tree
    elif "not" in tree:
        yield from _paths(tree["not"], (*path, "not"))
    else:
        word = "all" if "all" in tree else "any"
        for index, inner in enumerate(tree[word]):
            yield from _paths(inner, (*path, word, index))


def _check(node: Any, path: Path, levels: int, errors: list[Problem]) -> None:
    """Add the problems of a node to `errors`. `levels`: how many it may have, its own included."""
    if not levels:
        text = gettext("nested deeper than %(most)s levels.") % {"most": MAX_DEPTH}
        errors.append(Problem(text, path))
    elif not isinstance(node, dict):
        text = gettext('must be an object such as {"all": []}.')
        errors.append(Problem(text, path))
    elif set(node) in ({"all"}, {"any"}):
        word = "all" if "all" in node else "any"
        if not isinstance(node[word], list):
            text = gettext("must be a list of rules.")
            errors.append(Problem(text, path, word))
            return
        for index, inner in enumerate(node[word]):
            _check(inner, (*path, word, index), levels - 1, errors)
    elif set(node) == {"not"}:
        _check(node["not"], (*path, "not"), levels - 1, errors)
    elif not set(node) - {"all", "any", "not"} and node:
        text = gettext("use one of all, any and not in an object; put one inside the other.")
        errors.append(Problem(text, path))
    else:
        errors += [problem for problem in [_leaf_problem(node, path)] if problem]


def _leaf_problem(leaf: dict[str, Any], path: Path) -> Problem | None:
    if extra := set(leaf) - {"field", "op", "value"}:
        text = gettext("unknown key “%(key)s”. Use all, any, not, or field, op, value.")
        return Problem(text % {"key": str(min(extra))[:50]}, path)
    name, op = leaf.get("field"), leaf.get("op")
    if not isinstance(name, str) or (problem := _field_problem(name)):
        known = ", ".join(["attributes.<name>", *FIELDS, *KINDS])
        text = gettext("%(problem)s. Known: %(known)s.")
        words = {
            "problem": problem if isinstance(name, str) else gettext("missing"),
            "known": known,
        }
        return Problem(text % words, path, "field")
    field = field_of(name)
    if not isinstance(op, str):
        text = gettext("must be a text, one of %(allowed)s.")
        allowed = ", ".join(o for o in OPERATORS if o in field.ops)
        return Problem(text % {"allowed": allowed}, path, "op")
    if op not in field.ops:
        allowed = ", ".join(o for o in OPERATORS if o in field.ops)
        text = gettext("“%(op)s” cannot be used with %(field)s. Use one of %(allowed)s.")
        words = {"op": op[:50], "field": name, "allowed": allowed}
        return Problem(text % words, path, "op")
    value, kind = leaf.get("value"), KINDS.get(name)
    problem = kind.problem(op, value) if kind else _value_problem(field, op, value)
    return Problem(problem, path, "value") if problem else None


def _field_problem(name: str) -> str:
    if name in FIELDS or name in KINDS:
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
    if kind := KINDS.get(name):
        return Field("", "happened", frozenset(kind.ops))
    return FIELDS.get(name) or Field("c.attributes", "attribute", frozenset(ATTRIBUTE_OPS))


def _value_problem(field: Field, op: str, value: Any) -> str:
    if op in ("exists", "not_exists"):
        return (
            "" if value in (None, "", True) else gettext("leave it out; this operator takes none.")
        )
    if op in MANY:
        if value == []:
            return gettext("needs at least one value.")
        if not isinstance(value, list) or not 1 <= len(value) <= MAX_VALUES:
            return gettext("must be a list of 1 to %(most)s values.") % {"most": f"{MAX_VALUES:,}"}
        return next((p for inner in value if (p := _scalar_problem(field, inner))), "")
    if op in ("before", "after"):
        text = gettext("must be a date or time in ISO 8601, e.g. 2026-05-31.")
        return "" if moment(value) else text
    if op == "within_last":
        return duration_problem(value)
    if op in ("contains", "starts_with") and not (isinstance(value, str) and value):
        return gettext("must be a text.")
    if op in ("gt", "gte", "lt", "lte"):
        return _order_problem(field, value)
    return _scalar_problem(field, value)


def _order_problem(field: Field, value: Any) -> str:
    if field.kind == "version":
        is_version = isinstance(value, str) and VERSION.fullmatch(value)
        return "" if is_version else gettext("must be a version such as 4.10.1, in quotes.")
    if _is_large(value):
        return gettext("must be a number of at most 15 digits.")
    text = gettext("must be a number. For dates use before or after.")
    return "" if _is_number(value) else text


def _scalar_problem(field: Field, value: Any) -> str:
    if field.kind == "list":
        return "" if _is_id(value) else gettext("must be the id of a static list.")
    if isinstance(value, str):
        if len(value) > MAX_TEXT or unstorable(value):
            text = gettext("must be a text of at most %(most)s ordinary characters.")
            return text % {"most": MAX_TEXT}
        return ""
    if field.kind != "attribute":
        return gettext("must be a text.")
    if _is_large(value):
        return gettext("must be a number of at most 15 digits.")
    return (
        ""
        if isinstance(value, bool) or _is_number(value)
        else gettext("must be a text, number or true/false.")
    )


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) < 1e15  # NaN and Infinity fail this too


def _is_large(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and not _is_number(value)


def _is_id(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63


def _misplaced(tree: Any) -> list[Problem]:
    count = sum(leaf["field"] == at_most.FIELD for leaf in leaves(tree))
    text = gettext(
        "“at most … people” can stand once, in the outermost group, which must be “all”."
    )
    return [Problem(text)] if at_most.misplaced(tree, count) else []


def _server_key_problems(tree: Any) -> list[Problem]:
    """Refuse keys that only the server may set, when it counts people or starts a run."""
    text = gettext("remove “%(key)s” from the value: the server sets it.")
    keys = [
        key
        for leaf in leaves(tree)
        if leaf["field"] in KINDS
        for key in KINDS[leaf["field"]].kept
        if key in leaf["value"]
    ]
    return [Problem(text % {"key": key}) for key in keys]


def _reference_problems(tree: dict[str, Any], lists: Container[int]) -> list[Problem]:
    return _unknown_lists(tree, lists) + _unknown_platforms(tree)


def _unknown_lists(tree: dict[str, Any], lists: Container[int]) -> list[Problem]:
    text = gettext("there is no static list %(id)s in this project.")
    return [
        Problem(text % {"id": pk}, path, "value")
        for path, leaf in _paths(tree)
        for pk in lists_named(leaf)
        if pk not in lists
    ]


def _unknown_platforms(tree: dict[str, Any]) -> list[Problem]:
    """Refuse unknown platforms in new rules. Rules saved before keep them, and match nobody."""
    known = Device.Platform.values
    text = gettext("unknown platform: use %(known)s.") % {"known": ", ".join(known)}
    return [
        Problem(text, path, "value")
        for path, leaf in _paths(tree)
        if leaf["field"] == "platform" and leaf["op"] in SAME
        for value in (leaf["value"] if leaf["op"] in MANY else [leaf["value"]])
        if value not in known
    ]


def no_such(tree: Any, gone: Container[Named]) -> list[Problem]:
    """The problems of rules that name rows in `gone`: these do not exist in the project."""
    return [
        Problem(_missing_text(*named), path, "value")
        for path, leaf in _paths(tree)
        for named in named_in(leaf)
        if named in gone
    ][:PROBLEMS_SAID]


def _missing_text(sort: str, pk: int) -> str:
    texts = {
        "audience": gettext("there is no audience %(id)s in this project."),
        "campaign": gettext("there is no campaign %(id)s in this project."),
        "run": gettext("there is no run %(id)s in this project."),
    }
    return texts[sort] % {"id": pk}


def each_at_fault(tree: Any, problem: Callable[[dict[str, Any]], str]) -> list[Problem]:
    """Check the value of each rule with `problem`. Each problem names its place in the tree."""
    results = ((path, problem(leaf)) for path, leaf in _paths(tree))
    return [Problem(text, path, "value") for path, text in results if text][:PROBLEMS_SAID]


def lists_named(tree: Any) -> list[int]:
    """The ids of the static lists in a tree, each once; also for a broken tree."""
    leaf_values = [leaf.get("value") for leaf in leaves(tree) if leaf["field"] == "list"]
    values = [pk for value in leaf_values for pk in (value if isinstance(value, list) else [value])]
    return list(dict.fromkeys(pk for pk in values if _is_id(pk)))


def named_in(tree: Any) -> list[Named]:
    """The rows that a tree names; also for a broken tree. Static lists count as audiences."""
    rows: list[Named] = [("audience", pk) for pk in lists_named(tree)]
    for leaf in leaves(tree):
        if leaf["field"] in tuple(KINDS):  # in a broken rule, the field may be anything
            rows += KINDS[leaf["field"]].names(leaf.get("value"))
    return rows


def moment(value: Any) -> datetime | date | None:
    """Parse an ISO 8601 date or time; None if it is neither.

    A time with an offset becomes UTC, because Python knows offsets that PostgreSQL does not read.
    """
    if not isinstance(value, str):
        return None
    try:
        parsed = parse_datetime(value)
        if parsed is None:
            return parse_date(value)
        return parsed.astimezone(UTC) if parsed.tzinfo else parsed
    except (ValueError, OverflowError):
        return None
