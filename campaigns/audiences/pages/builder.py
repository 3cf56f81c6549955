"""Rule builder: the widget, and its choices as JSON."""

from __future__ import annotations

from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.audiences import vocabulary
from campaigns.audiences.audience import Audience
from campaigns.audiences.bounds import MAX_DEPTH
from campaigns.audiences.pages import builder_kinds
from campaigns.audiences.rules import ATTRIBUTE_OPS, FIELDS, OPERATORS
from campaigns.audiences.words import label_of
from notifications.admin.ui.widgets import CodeArea
from notifications.people.attributes import types_of
from notifications.people.device import Device

PREFIX = "attributes."
SAME, THERE = ("eq", "ne", "in", "not_in"), ("exists", "not_exists")
# The operators offered for each type of value; the rules accept more.
OPS = {
    "text": {*SAME, "contains", "starts_with", *THERE},
    "number": {*SAME, "gt", "gte", "lt", "lte", *THERE},
    "boolean": {"eq", "ne", *THERE},
    "time": {"within_last", "before", "after", *THERE},
    "list": {"has", "has_any", "has_none", *THERE},
    "object": {*THERE},
}
VERBS = {
    "eq": gettext_lazy("is"),
    "ne": gettext_lazy("is not"),
    "in": gettext_lazy("is one of"),
    "not_in": gettext_lazy("is none of"),
    "gt": gettext_lazy("is more than"),
    "gte": gettext_lazy("is at least"),
    "lt": gettext_lazy("is less than"),
    "lte": gettext_lazy("is at most"),
    "contains": gettext_lazy("contains"),
    "starts_with": gettext_lazy("starts with"),
    "has": gettext_lazy("has"),
    "has_any": gettext_lazy("has one of"),
    "has_none": gettext_lazy("has none of"),
    "exists": gettext_lazy("is known"),
    "not_exists": gettext_lazy("is not known"),
    "before": gettext_lazy("is before"),
    "after": gettext_lazy("is after"),
    "within_last": gettext_lazy("is within the last"),
}
# These tell apart fields that sound alike.
HINTS = {
    "person_seen_at": gettext_lazy("The last time on any of their devices."),
    "last_seen_at": gettext_lazy("Checked for each device; a person may have others."),
}
# The most common operator comes first.
ORDER = ("within_last", "in", *(op for op in OPERATORS if op not in ("within_last", "in")))


class RulesBuilder(CodeArea):
    """Rules as blocks, over the same JSON that one may type. Without scripts, only the JSON."""

    class Media:
        css = {"all": ["audience.css"]}
        js = [
            "audience_tree.js",
            "audience_value.js",
            "audience_kinds.js",
            "audience_parts.js",
            "audience.js",
        ]

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        context = {
            "name": name,
            "json": super().render(name, value, attrs, renderer),
            "most_levels": MAX_DEPTH,
        }
        return render_to_string("admin/campaigns/audience/builder.html", context)


def choices(project_id: int, used_names: list[str]) -> dict[str, Any]:
    """Fields, operators and lists to choose from. `used_names`: attributes that the rules name."""
    known = {attribute.name: attribute for attribute in vocabulary.attributes(project_id)}
    declared = {name: kind for name, kind in types_of(project_id).items() if name not in known}
    strangers = [name for name in dict.fromkeys(used_names) if name not in {**known, **declared}]
    unknown_names = vocabulary.nowhere(project_id, strangers)
    lists = Audience.objects.filter(project=project_id, kind=Audience.Kind.LIST)
    return {
        "fields": [
            *(
                _attribute(attribute.name, attribute.types, percent=attribute.percent)
                for attribute in known.values()
            ),
            *(_attribute(name, [kind]) for name, kind in declared.items()),
            *(_attribute(name, [], gone=name in unknown_names) for name in strangers),
            *(_column(name) for name in FIELDS),
            *builder_kinds.fields(),
        ],
        "verbs": {op: str(verb) for op, verb in {**VERBS, **builder_kinds.VERBS}.items()},
        "lists": [{"exact": pk, "label": name} for pk, name in lists.values_list("pk", "name")],
        **builder_kinds.choices(project_id),
    }


def _attribute(
    name: str, types: list[str], *, percent: int = 0, gone: bool = False
) -> dict[str, Any]:
    ops = set().union(*(OPS[kind] for kind in types)) if types else set(ATTRIBUTE_OPS)
    return {
        "name": f"{PREFIX}{name}",
        "label": label_of(f"{PREFIX}{name}"),
        "group": _("Attributes from your app"),
        "types": types or ["text"],
        "ops": [op for op in ORDER if op in ops],
        "percent": percent,
        "gone": gone,
    }


def _column(name: str) -> dict[str, Any]:
    field = FIELDS[name]
    group = _("Device") if field.of_device else _("Person")
    choice = list(Device.Platform.choices) if name == "platform" else []
    kind = "choice" if choice else field.kind
    ops = {*SAME, *THERE} & field.ops if choice else field.ops
    return {
        "name": name,
        "label": label_of(name) if name != "list" else _("on a list"),
        "group": group,
        "types": ["member" if kind == "list" else kind],
        "ops": [op for op in ORDER if op in ops],
        "choices": [{"exact": value, "label": str(label)} for value, label in choice],
        "hint": str(HINTS.get(name, "")),
        "gone": False,
    }


def suggestions(project_id: int, field: str, typed: str) -> list[dict[str, Any]]:
    return [
        {"exact": suggestion.exact, "percent": suggestion.percent}
        for suggestion in vocabulary.values(project_id, field, typed)
    ]
