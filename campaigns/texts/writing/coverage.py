"""How many people of an audience have a value, for whoever puts it into a text for them."""

from __future__ import annotations

from typing import Any

from campaigns.audiences import reach
from campaigns.audiences.behavior.kind import Sql
from campaigns.texts.preview import OWN
from notifications.people.project import Project

SECONDS = 0.3  # of a page; where that is too little, a part of the people is looked at


def lacking(names: list[str], project: Project, rules: dict[str, Any]) -> tuple[int, list[int]]:
    """Of how many people, and how many of them lack each value. Of nobody, where even a part of
    them cannot be counted in time."""
    try:
        found = reach.filled(project.pk, rules, [_has(one) for one in names], seconds=SECONDS)
    except reach.Uncountable:
        return 0, [0] * len(names)
    return found.people, [found.people - count for count in found.holds]


def _has(name: str) -> Sql:
    # As a text sees it: what is empty is missing.
    if name in OWN:
        return Sql(f"COALESCE({OWN[name]}, '') <> ''")
    return Sql("COALESCE(c.attributes ->> %s, '') <> ''", [name])
