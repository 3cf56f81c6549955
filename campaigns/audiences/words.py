"""Rules as a sentence: “plan is one of pro, plus and platform is android”.

Whole sentences are translated, not words: other languages put the field and the verb elsewhere.
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.audiences.behavior.event import COMPARED
from campaigns.audiences.behavior.kind import Names
from campaigns.audiences.behavior.kinds import KINDS
from campaigns.audiences.behavior.row_names import look_up_names
from campaigns.audiences.bounds import AS_WRITTEN, Bounds
from campaigns.audiences.durations import parse_duration
from campaigns.audiences.rules import named_in, problems
from notifications.values.moments import in_words

SAID = {
    **COMPARED,
    "contains": gettext_lazy("{field} contains {value}"),
    "starts_with": gettext_lazy("{field} starts with {value}"),
    "has": gettext_lazy("{field} has {value}"),
    "has_any": gettext_lazy("{field} has one of {value}"),
    "has_none": gettext_lazy("{field} has none of {value}"),
    "before": gettext_lazy("{field} is before {value}"),
    "after": gettext_lazy("{field} is after {value}"),
    "within_last": gettext_lazy("{field} is within the last {value}"),
}
TURNED = {
    "eq": SAID["ne"],
    "ne": SAID["eq"],
    "in": SAID["not_in"],
    "not_in": SAID["in"],
    "gt": gettext_lazy("{field} is not more than {value}, or is not known"),
    "gte": gettext_lazy("{field} is not at least {value}, or is not known"),
    "lt": gettext_lazy("{field} is not less than {value}, or is not known"),
    "lte": gettext_lazy("{field} is not at most {value}, or is not known"),
    "contains": gettext_lazy("{field} does not contain {value}"),
    "starts_with": gettext_lazy("{field} does not start with {value}"),
    "has": gettext_lazy("{field} does not have {value}"),
    "has_any": SAID["has_none"],
    "has_none": SAID["has_any"],
    "exists": SAID["not_exists"],
    "not_exists": SAID["exists"],
    "before": gettext_lazy("{field} is not before {value}, or is not known"),
    "after": gettext_lazy("{field} is not after {value}, or is not known"),
    "within_last": gettext_lazy("{field} is not within the last {value}, or is not known"),
}
# Every person has a `created_at`, so these leave out “or is not known”.
CREATED_TURNED = {
    "before": gettext_lazy("{field} is not before {value}"),
    "after": gettext_lazy("{field} is not after {value}"),
    "within_last": gettext_lazy("{field} is not within the last {value}"),
}
# For lists with one value: “is Seoul” reads better than “is one of Seoul”.
OF_ONE = {"in": SAID["eq"], "not_in": SAID["ne"], "has_any": SAID["has"], "has_none": TURNED["has"]}
OF_ONE_TURNED = {
    "in": SAID["ne"], "not_in": SAID["eq"], "has_any": TURNED["has"], "has_none": SAID["has"]
}  # fmt: skip
FIELDS = {
    "external_id": gettext_lazy("external id"),
    "locale": gettext_lazy("locale"),
    "timezone": gettext_lazy("time zone"),
    "created_at": gettext_lazy("first seen"),
    "person_seen_at": gettext_lazy("person last seen"),
    "platform": gettext_lazy("platform"),
    "app_version": gettext_lazy("app version"),
    "last_seen_at": gettext_lazy("device last seen"),
    "list": gettext_lazy("list"),
}
SHOWN_VALUES = 6


def sentence(
    tree: Any, *, project_id: int, names: Names | None = None, bounds: Bounds = AS_WRITTEN
) -> str:
    """The whole tree in words. `names`: names of lists and other rows, if already looked up."""
    return broken(tree, bounds) or clause(tree, project_id=project_id, names=names)


def broken(tree: Any, bounds: Bounds = AS_WRITTEN) -> str:
    """A sentence that these rules no longer work, and why; empty if they work."""
    wrong = problems(tree, bounds)[:1]
    text = _("These rules no longer work ({problem})")
    return text.format(problem=str(wrong[0]).rstrip(".")) if wrong else ""


def clause(tree: dict[str, Any], *, project_id: int, names: Names | None = None) -> str:
    """A valid tree, or a part of one, in words."""
    known_names = names_in(tree, project_id=project_id) if names is None else names
    return _describe(tree, known_names, outermost=True)


def names_in(*trees: Any, project_id: int) -> Names:
    """The names of the static lists, audiences, campaigns and runs in these rules."""
    return look_up_names(project_id, {named for tree in trees for named in named_in(tree)})


def label_of(field: str) -> str:
    name = field.removeprefix("attributes.")
    return str(FIELDS.get(field) or name.replace("_", " "))


def _describe(tree: dict[str, Any], names: Names, *, outermost: bool = False) -> str:
    joined = (("all", _("{} and {}"), _("everyone")), ("any", _("{} or {}"), _("nobody")))
    for word, joiner, empty in joined:
        if word in tree:
            parts = [_describe(inner, names) for inner in tree[word]]
            text = _join(parts, joiner) or empty
            return text if outermost or len(parts) < 2 else f"({text})"
    if "not" not in tree:
        return _leaf(tree, names)
    inner = tree["not"]
    if "field" in inner:
        return _leaf(inner, names, turned=True)
    return _("not {rules}").format(rules=_describe(inner, names))


def _join(parts: list[str], joiner: str) -> str:
    whole, *rest = parts or [""]
    for part in rest:
        whole = joiner.format(whole, part)
    return whole


def _leaf(leaf: dict[str, Any], names: Names, *, turned: bool = False) -> str:
    name, op = leaf["field"], leaf["op"]
    if kind := KINDS.get(name):
        return kind.words(kind.ops[op] if turned else op, leaf["value"], names)
    if name == "list":
        unnamed = _("“list {id}”")
        called = [names.get(("audience", pk)) or unnamed.format(id=pk) for pk in _values(leaf)]
        off = (op in ("ne", "not_in")) != turned
        text = _("is not on the list {names}") if off else _("is on the list {names}")
        return text.format(names=_join(called, _("{} or {}")))
    patterns, of_one = (TURNED, OF_ONE_TURNED) if turned else (SAID, OF_ONE)
    if turned and name == "created_at":
        patterns = TURNED | CREATED_TURNED
    pattern = str((patterns | of_one if len(_values(leaf)) == 1 else patterns)[op])
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
        text = ", ".join(map(_scalar, value[:SHOWN_VALUES]))
        more = len(value) - SHOWN_VALUES
        return (
            _("{values} and {more} more").format(values=text, more=f"{more:,}")
            if more > 0
            else text
        )
    return _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return _("true") if value else _("false")
    return str(value)
