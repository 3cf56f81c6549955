"""Rules as a sentence: “plan is one of pro, plus and platform is android”."""

from __future__ import annotations

from typing import Any

from campaigns.audience import Audience
from campaigns.durations import parse_duration
from campaigns.rules import leaves
from notifications.moments import in_words

OPERATORS = {
    "eq": "is", "ne": "is not", "in": "is one of", "not_in": "is none of", "gt": "is more than",
    "gte": "is at least", "lt": "is less than", "lte": "is at most", "contains": "contains",
    "starts_with": "starts with", "exists": "is known", "not_exists": "is not known",
    "before": "is before", "after": "is after", "within_last": "is within the last",
}  # fmt: skip
TURNED = {
    "eq": "is not", "ne": "is", "in": "is none of", "not_in": "is one of", "gt": "is not more than",
    "gte": "is not at least", "lt": "is not less than", "lte": "is not at most",
    "contains": "does not contain", "starts_with": "does not start with",
    "exists": "is not known", "not_exists": "is known", "before": "is not before",
    "after": "is not after", "within_last": "is not within the last",
}  # fmt: skip
FIELDS = {
    "external_id": "external id", "timezone": "time zone", "created_at": "first seen",
    "app_version": "app version", "last_seen_at": "device last seen",
}  # fmt: skip
SHOWN_VALUES = 6


def sentence(tree: dict[str, Any], *, project_id: int) -> str:
    """The whole tree; names of static lists are looked up once."""
    asked = {pk for leaf in leaves(tree) if leaf["field"] == "list" for pk in _values(leaf)}
    found = Audience.objects.filter(project=project_id, pk__in=asked) if asked else ()
    return _said(tree, {row.pk: row.name for row in found}, outermost=True)


def _said(tree: dict[str, Any], lists: dict[int, str], *, outermost: bool = False) -> str:
    for word, joiner, empty in (("all", " and ", "everyone"), ("any", " or ", "nobody")):
        if word in tree:
            parts = [_said(inner, lists) for inner in tree[word]]
            text = joiner.join(parts) or empty
            return text if outermost or len(parts) < 2 else f"({text})"
    if "not" not in tree:
        return _leaf(tree, lists)
    inner = tree["not"]
    return _leaf(inner, lists, turned=True) if "field" in inner else f"not {_said(inner, lists)}"


def _leaf(leaf: dict[str, Any], lists: dict[int, str], *, turned: bool = False) -> str:
    name, op = leaf["field"], leaf["op"]
    if name == "list":
        names = " or ".join(f"“{lists.get(pk, f'list {pk}')}”" for pk in _values(leaf))
        off = (op in ("ne", "not_in")) != turned
        return f"{'is not' if off else 'is'} on the list {names}"
    said = FIELDS.get(name, name.removeprefix("attributes.").replace("_", " "))
    verb = TURNED[op] if turned else OPERATORS[op]
    return f"{said} {verb} {_value(op, leaf.get('value'))}".rstrip()


def _values(leaf: dict[str, Any]) -> list[Any]:
    value = leaf.get("value")
    return value if isinstance(value, list) else [value]


def _value(op: str, value: Any) -> str:
    if op in ("exists", "not_exists"):
        return ""
    if op == "within_last":
        return in_words(parse_duration(value))
    if isinstance(value, list):
        shown = ", ".join(map(str, value[:SHOWN_VALUES]))
        more = len(value) - SHOWN_VALUES
        return f"{shown} and {more:,} more" if more > 0 else shown
    return (
        {True: "true", False: "false"}.get(value, str(value))
        if isinstance(value, bool)
        else str(value)
    )
