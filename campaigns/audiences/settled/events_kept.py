"""How far back a project's events reach, and which rules on events look further.

Removed events count as if nobody had done them: “did not buy” would select buyers.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from campaigns.audiences.bounds import AS_KEPT, leaves
from campaigns.audiences.durations import parse_duration
from campaigns.audiences.happened.event import FIELD, KIND
from campaigns.audiences.rules import problems
from campaigns.audiences.settled.leaf_by_leaf import Leaf
from notifications.people.retention import kept_since
from notifications.postgres import clock
from notifications.values.moments import DAY, local


def since(project_id: int) -> datetime | None:
    """Events before this are removed; None: none is."""
    return kept_since(project_id, "events", now=clock.now())


def looks_before(leaf: Leaf, moment: datetime | None) -> bool:
    """Whether a rule looks further back by its own time limit."""
    if moment is None or leaf["field"] != FIELD or "within" not in leaf["value"]:
        return False
    span = parse_duration(leaf["value"]["within"])
    return span is not None and span > clock.now() - moment


def has_no_limit(leaf: Leaf) -> bool:
    return leaf["field"] == FIELD and "within" not in leaf["value"]


def problem(leaf: Leaf, moment: datetime) -> str:
    said = _(
        "%(rule)s: events are kept only since %(date)s. Use a shorter time, or keep events "
        "for longer."
    )
    return said % {"rule": in_words(leaf), "date": day(moment)}


def in_words(leaf: Leaf) -> str:
    value: dict[str, Any] = leaf["value"]
    return KIND.words(leaf["op"], value, {})


def day(moment: datetime) -> str:
    return local(moment, "UTC", DAY)


def refuse_too_far(project_id: int, asked: list[Leaf]) -> None:
    """Raises ValidationError."""
    moment = since(project_id)
    for leaf in asked:
        if moment and looks_before(leaf, moment):
            raise ValidationError({"rules": problem(leaf, moment)})


# --- What a shorter time would take from the rules there are --------------------------------------


def needing(tree: Any, days: int) -> list[str]:
    """The rules of a tree, in words, that look further back than that; none of a broken tree."""
    if problems(tree, AS_KEPT):
        return []
    kept = timedelta(days=days)
    found = [leaf for leaf in leaves(tree) if leaf["field"] == FIELD]
    return [
        in_words(leaf)
        for leaf in found
        if has_no_limit(leaf) or (parse_duration(leaf["value"]["within"]) or kept) > kept
    ]
