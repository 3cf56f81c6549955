"""How many people of an audience have a value, for the author of a text for them."""

from __future__ import annotations

from typing import Any

from campaigns.audiences import reach
from campaigns.audiences.behavior.kind import Sql
from campaigns.texts.preview import OWN
from notifications.people.project import Project

SECONDS = 0.3  # of a page; if that is too short, a sample of the people is counted


def lacking(names: list[str], project: Project, rules: dict[str, Any]) -> tuple[int, list[int]]:
    """How many people were counted, and how many of them lack each value.

    0 people if even a sample cannot be counted in time.
    """
    try:
        counted = reach.filled(project.pk, rules, [_has(name) for name in names], seconds=SECONDS)
    except reach.Uncountable:
        return 0, [0] * len(names)
    return counted.people, [counted.people - count for count in counted.holds]


def _has(name: str) -> Sql:
    # An empty value counts as missing, as in a text.
    if name in OWN:
        return Sql(f"COALESCE({OWN[name]}, '') <> ''")
    return Sql("COALESCE(c.attributes ->> %s, '') <> ''", [name])
