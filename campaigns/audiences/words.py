"""Rules as a sentence: “plan is one of pro, plus and platform is android”.

Whole sentences are translated, not words: other languages put the field and the verb elsewhere.
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.audiences.audience import Audience
from campaigns.audiences.durations import parse_duration
from campaigns.audiences.rules import lists_named, problems
from notifications.values.moments import in_words

SAID = {
    "eq": gettext_lazy("{field} is {value}"),
    "ne": gettext_lazy("{field} is not {value}"),
    "in": gettext_lazy("{field} is one of {value}"),
    "not_in": gettext_lazy("{field} is none of {value}"),
    "gt": gettext_lazy("{field} is more than {value}"),
    "gte": gettext_lazy("{field} is at least {value}"),
    "lt": gettext_lazy("{field} is less than {value}"),
    "lte": gettext_lazy("{field} is at most {value}"),
    "contains": gettext_lazy("{field} contains {value}"),
    "starts_with": gettext_lazy("{field} starts with {value}"),
    "has": gettext_lazy("{field} has {value}"),
    "has_any": gettext_lazy("{field} has one of {value}"),
    "has_none": gettext_lazy("{field} has none of {value}"),
    "exists": gettext_lazy("{field} is known"),
    "not_exists": gettext_lazy("{field} is not known"),
    "before": gettext_lazy("{field} is before {value}"),
    "after": gettext_lazy("{field} is after {value}"),
    "within_last": gettext_lazy("{field} is within the last {value}"),
}
TURNED = {
    "eq": SAID["ne"],
    "ne": SAID["eq"],
    "in": SAID["not_in"],
    "not_in": SAID["in"],
    "gt": gettext_lazy("{field} is not more than {value}"),
    "gte": gettext_lazy("{field} is not at least {value}"),
    "lt": gettext_lazy("{field} is not less than {value}"),
    "lte": gettext_lazy("{field} is not at most {value}"),
    "contains": gettext_lazy("{field} does not contain {value}"),
    "starts_with": gettext_lazy("{field} does not start with {value}"),
    "has": gettext_lazy("{field} does not have {value}"),
    "has_any": SAID["has_none"],
    "has_none": SAID["has_any"],
    "exists": SAID["not_exists"],
    "not_exists": SAID["exists"],
    "before": gettext_lazy("{field} is not before {value}"),
    "after": gettext_lazy("{field} is not after {value}"),
    "within_last": gettext_lazy("{field} is not within the last {value}"),
}
FIELDS = {
    "external_id": gettext_lazy("external id"),
    "locale": gettext_lazy("locale"),
    "timezone": gettext_lazy("time zone"),
    "created_at": gettext_lazy("first seen"),
    "platform": gettext_lazy("platform"),
    "app_version": gettext_lazy("app version"),
    "last_seen_at": gettext_lazy("device last seen"),
    "list": gettext_lazy("list"),
}
SHOWN_VALUES = 6


Names = dict[int, str]


def sentence(tree: Any, *, project_id: int, lists: Names | None = None) -> str:
    """The whole tree; names of static lists are looked up once, or were for many trees."""
    return broken(tree) or clause(tree, project_id=project_id, lists=lists)


def broken(tree: Any) -> str:
    """That these are no rules, and why; empty when they are."""
    wrong = problems(tree)[:1]
    said = _("These rules do not work any more ({problem})")
    return said.format(problem=str(wrong[0]).rstrip(".")) if wrong else ""


def clause(tree: dict[str, Any], *, project_id: int, lists: Names | None = None) -> str:
    """Of a tree, or a part of one, that is in order."""
    names = names_of_lists(tree, project_id=project_id) if lists is None else lists
    return _said(tree, names, outermost=True)


def names_of_lists(*trees: Any, project_id: int) -> Names:
    """What the static lists in these rules are called."""
    asked: set[int] = set().union(*map(lists_named, trees))
    found = Audience.objects.filter(project=project_id, pk__in=asked) if asked else ()
    return {row.pk: row.name for row in found}


def label_of(field: str) -> str:
    name = field.removeprefix("attributes.")
    return str(FIELDS.get(field) or name.replace("_", " "))


def _said(tree: dict[str, Any], lists: Names, *, outermost: bool = False) -> str:
    joined = (("all", _("{} and {}"), _("everyone")), ("any", _("{} or {}"), _("nobody")))
    for word, joiner, empty in joined:
        if word in tree:
            parts = [_said(inner, lists) for inner in tree[word]]
            text = _joined(parts, joiner) or empty
            return text if outermost or len(parts) < 2 else f"({text})"
    if "not" not in tree:
        return _leaf(tree, lists)
    inner = tree["not"]
    if "field" in inner:
        return _leaf(inner, lists, turned=True)
    return _("not {rules}").format(rules=_said(inner, lists))


def _joined(parts: list[str], joiner: str) -> str:
    whole, *rest = parts or [""]
    for part in rest:
        whole = joiner.format(whole, part)
    return whole


def _leaf(leaf: dict[str, Any], lists: Names, *, turned: bool = False) -> str:
    name, op = leaf["field"], leaf["op"]
    if name == "list":
        unnamed = _("list {id}")
        names = [f"“{lists.get(pk) or unnamed.format(id=pk)}”" for pk in _values(leaf)]
        off = (op in ("ne", "not_in")) != turned
        where = _("is not on the list {names}") if off else _("is on the list {names}")
        return where.format(names=_joined(names, _("{} or {}")))
    pattern = str((TURNED if turned else SAID)[op])
    return pattern.format(field=label_of(name), value=_value(op, leaf.get("value")))


def _values(leaf: dict[str, Any]) -> list[Any]:
    value = leaf.get("value")
    return value if isinstance(value, list) else [value]


def _value(op: str, value: Any) -> str:
    if op in ("exists", "not_exists"):
        return ""
    if op == "within_last":
        return in_words(parse_duration(value))
    if isinstance(value, list):
        shown = ", ".join(map(_one, value[:SHOWN_VALUES]))
        more = len(value) - SHOWN_VALUES
        return (
            _("{values} and {more} more").format(values=shown, more=f"{more:,}")
            if more > 0
            else shown
        )
    return _one(value)


def _one(value: Any) -> str:
    if isinstance(value, bool):
        return _("true") if value else _("false")
    return str(value)
