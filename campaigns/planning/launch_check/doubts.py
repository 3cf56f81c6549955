"""Rules that are in order but cannot mean what they say: not of these people, or of none."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from campaigns.audiences import vocabulary
from campaigns.audiences.bounds import leaves
from notifications.people.contact import Contact

PREFIX = "attributes."
# What these compare; a value of another type is simply never more, never before, never in it.
NEEDS = {
    **dict.fromkeys(("gt", "gte", "lt", "lte"), "number"),
    **dict.fromkeys(("before", "after", "within_last"), "time"),
    **dict.fromkeys(("contains", "starts_with"), "text"),
    **dict.fromkeys(("has", "has_any"), "list"),
}


def doubts(project_id: int, tree: dict[str, Any]) -> list[str]:
    """What somebody should look at before launching, in words with what to do."""
    if not Contact.objects.filter(project=project_id).exists():
        return [_("This project knows nobody yet: your app registers people through the API.")]
    asked = [
        (leaf["field"].removeprefix(PREFIX), leaf["op"])
        for leaf in leaves(tree)
        if leaf["field"].startswith(PREFIX)
    ]
    if not asked:
        return []
    types = {known.name: known.types for known in vocabulary.attributes(project_id)}
    gone = vocabulary.nowhere(project_id, {name for name, _op in asked} - set(types))
    return [_gone(name) for name in gone] + [
        _other_type(name, op)
        for name, op in dict.fromkeys(asked)
        if name in types and op in NEEDS and not _holds(NEEDS[op], types[name])
    ]


def _holds(kind: str, types: list[str]) -> bool:
    return kind in types or (kind == "text" and "time" in types)  # a time is written as a text


def _gone(name: str) -> str:
    return _(
        "Nobody has the attribute “{name}”: your app has renamed it or no longer sends it. "
        "Choose another attribute, or remove the rule."
    ).format(name=name)


def _other_type(name: str, op: str) -> str:
    said = {
        "number": _("“{name}” holds no numbers, so a rule that compares it is true for nobody."),
        "time": _("“{name}” holds no dates, so a rule about its time is true for nobody."),
        "text": _("“{name}” holds no texts, so a rule about its letters is true for nobody."),
        "list": _("“{name}” holds no lists, so a rule about what is in it is true for nobody."),
    }
    return said[NEEDS[op]].format(name=name)
