"""Runs that took a share of an audience, such as a random 10 %, and the people outside it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.core.exceptions import ValidationError

from campaigns.audiences.behavior import at_most, chance
from campaigns.audiences.behavior.kind import Sql
from campaigns.audiences.lists import outcomes
from campaigns.audiences.selection import sample
from campaigns.runs.run import Run
from notifications.postgres.budget import TooSlow, statement_timeout

LOOKING_SECONDS = 0.3  # for a page that only needs to know whether there is anybody


def everybody_else(run: Run) -> dict[str, Any] | None:
    """Rules for people of the whole audience who were not planned in this run.

    None if the run took no share. “Not among a random 10 %” is no share: these people are kept out
    on purpose, and stay out.
    """
    all_of_them = _joined_by_and(run.rules)
    whole = [rule for rule in all_of_them if not _is_share(rule)]
    if len(whole) == len(all_of_them):
        return None
    return {"all": [*whole, outcomes.not_planned(run)]}


def _joined_by_and(tree: dict[str, Any]) -> list[dict[str, Any]]:
    if "all" not in tree:
        return [tree]
    return [rule for inner in tree["all"] for rule in _joined_by_and(inner)]


def _is_share(rule: dict[str, Any]) -> bool:
    return rule.get("field") in (chance.FIELD, at_most.FIELD)


def is_there_anybody(project_id: int, others: dict[str, Any]) -> bool:
    """Whether the rules find anybody with a device. True if it takes too long: the dialog says."""
    try:
        with suppress(TooSlow), statement_timeout(seconds=LOOKING_SECONDS):
            return bool(sample(project_id, others, size=1, only=Sql("d.id IS NOT NULL")))
    except ValidationError:  # a list or an audience in the rules is gone
        return False
    return True
