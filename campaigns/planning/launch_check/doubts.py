"""What is odd about a campaign that could be launched: worth a look, and no obstacle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.audiences import vocabulary
from campaigns.audiences.bounds import leaves
from campaigns.planning import labels
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.keys import credentials
from notifications.people.contact import Contact
from notifications.people.project import Project

PREFIX = "attributes."
# What these compare; a value of another type is simply never more, never before, never in it.
NEEDS = {
    **dict.fromkeys(("gt", "gte", "lt", "lte"), "number"),
    **dict.fromkeys(("before", "after", "within_last"), "time"),
    **dict.fromkeys(("contains", "starts_with"), "text"),
    **dict.fromkeys(("has", "has_any"), "list"),
}


class Code(StrEnum):
    """What programs call it."""

    NOBODY_KNOWN = "nobody_known"  # the project has no people at all
    NO_SUCH_ATTRIBUTE = "no_such_attribute"
    OTHER_TYPE = "other_type"
    UNCOUNTABLE = "uncountable"
    NOBODY_REACHABLE = "nobody_reachable"
    NO_CREDENTIALS = "no_credentials"
    MANY_LABELS = "many_labels"
    SHARED_PACE = "shared_pace"


@dataclass(frozen=True)
class Doubt:
    """A code, and what to know and do in the reader's language."""

    code: Code
    words: str

    def __str__(self) -> str:
        return self.words


# --- About the audience's rules: not of these people, or of none ----------------------------------


def of_rules(project_id: int, tree: dict[str, Any]) -> list[Doubt]:
    """Rules that are in order but cannot mean what they say."""
    if not Contact.objects.filter(project=project_id).exists():
        nobody = _("This project knows nobody yet: your app registers people through the API.")
        return [Doubt(Code.NOBODY_KNOWN, nobody)]
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


def _gone(name: str) -> Doubt:
    said = _(
        "Nobody has the attribute “{name}”: your app has renamed it or no longer sends it. "
        "Choose another attribute, or remove the rule."
    )
    return Doubt(Code.NO_SUCH_ATTRIBUTE, said.format(name=name))


def _other_type(name: str, op: str) -> Doubt:
    said = {
        "number": _("“{name}” holds no numbers, so a rule that compares it is true for nobody."),
        "time": _("“{name}” holds no dates, so a rule about its time is true for nobody."),
        "text": _("“{name}” holds no texts, so a rule about its letters is true for nobody."),
        "list": _("“{name}” holds no lists, so a rule about what is in it is true for nobody."),
    }
    return Doubt(Code.OTHER_TYPE, said[NEEDS[op]].format(name=name))


# --- About sending it -----------------------------------------------------------------------------


def of_sending(campaign: Campaign, starts_at: datetime, now: datetime) -> Iterator[Doubt]:
    if lacking := credentials.lacking(campaign.project):
        yield Doubt(Code.NO_CREDENTIALS, lacking)
    if said := labels.warning(campaign.project_id, campaign.label, at=starts_at):
        yield Doubt(Code.MANY_LABELS, said)
    if starts_at <= now:
        yield from _others(campaign.project)


def _others(project: Project) -> Iterator[Doubt]:
    going = Run.objects.filter(project=project, state=Run.State.SENDING).count()
    if not going:
        return
    said = ngettext(
        "Another run of this project is sending now; the two share its pace.",
        "%(count)s other runs of this project are sending now; all share its pace.",
        going,
    )
    yield Doubt(Code.SHARED_PACE, said % {"count": going})
