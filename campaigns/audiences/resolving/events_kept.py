"""How far back a project's events reach, and which rules on events look further.

Removed events count as if nobody had done them: “did not buy” would select buyers.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from campaigns.audiences.behavior.event import FIELD, KIND
from campaigns.audiences.bounds import AS_KEPT, leaves
from campaigns.audiences.durations import parse_duration
from campaigns.audiences.resolving.leaf_by_leaf import Leaf
from campaigns.audiences.rules import problems
from notifications.people.retention import kept_since
from notifications.postgres import clock
from notifications.values.moments import DAY, local


@dataclass(frozen=True)
class Kept:
    """How long a project keeps events: those before `since` are removed."""

    since: datetime
    span: timedelta

    @property
    def day(self) -> str:
        return local(self.since, "UTC", DAY)

    def problem(self, leaf: Leaf) -> str:
        """The problem of a rule whose time limit is longer than events are kept; else empty."""
        if leaf["field"] != FIELD or has_no_limit(leaf):
            return ""
        limit = parse_duration(leaf["value"]["within"])
        if limit is None or limit <= self.span:
            return ""
        text = _(
            "%(rule)s: events are kept only since %(date)s. Use a shorter time, or keep events "
            "for longer."
        )
        return text % {"rule": in_words(leaf), "date": self.day}


def retention_of_events(project_id: int, tree: Leaf) -> Kept | None:
    """How long events are kept; None if none is removed, or no rule of a checked tree needs any."""
    if not any(leaf["field"] == FIELD for leaf in leaves(tree)):
        return None
    now = clock.now()
    since = kept_since(project_id, "events", now=now)
    return Kept(since, now - since) if since else None


def refuse_too_far(project_id: int, tree: Leaf) -> None:
    """Raise ValidationError if a rule looks further back than events are kept."""
    events = retention_of_events(project_id, tree)
    for leaf in leaves(tree) if events else ():
        if events and (problem := events.problem(leaf)):
            raise ValidationError({"rules": problem})


def has_no_limit(leaf: Leaf) -> bool:
    return leaf["field"] == FIELD and "within" not in leaf["value"]


def in_words(leaf: Leaf) -> str:
    value: dict[str, Any] = leaf["value"]
    return KIND.words(leaf["op"], value, {})


# --- Rules that a shorter retention would break ---------------------------------------------------


def needing(tree: Any, days: int) -> list[str]:
    """Rules on events, in words, that look further back than `days`; empty for a broken tree."""
    if problems(tree, AS_KEPT):
        return []
    span = timedelta(days=days)
    event_rules = [leaf for leaf in leaves(tree) if leaf["field"] == FIELD]
    return [
        in_words(leaf)
        for leaf in event_rules
        if has_no_limit(leaf) or (parse_duration(leaf["value"]["within"]) or span) > span
    ]
