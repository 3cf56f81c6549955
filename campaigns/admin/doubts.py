"""Rules that are in order but cannot mean what they say: not of these people, or of none."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from campaigns import vocabulary
from campaigns.rules import leaves
from notifications.contact import Contact

PREFIX = "attributes."
# What these compare; a value of another type is simply never more, or never before.
NEEDS = {
    **dict.fromkeys(("gt", "gte", "lt", "lte"), "number"),
    **dict.fromkeys(("before", "after", "within_last"), "time"),
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
        if name in types and op in NEEDS and NEEDS[op] not in types[name]
    ]


def _gone(name: str) -> str:
    return _(
        "Nobody has the attribute “{name}”: your app has renamed it or no longer sends it. "
        "Choose another attribute, or remove the rule."
    ).format(name=name)


def _other_type(name: str, op: str) -> str:
    if NEEDS[op] == "number":
        text = _("“{name}” holds no numbers, so a rule that compares it is true for nobody.")
    else:
        text = _("“{name}” holds no dates, so a rule about its time is true for nobody.")
    return text.format(name=name)
