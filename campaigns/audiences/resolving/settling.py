"""Settling rules: what depends on other rows is looked up once, so that all queries agree.

A launch settles what was reviewed: other audiences are replaced by their rules, and “the last run”
by a run's id. A count, and a run when it starts, also settle which runs a rule on past runs covers.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from campaigns.audiences.behavior import event, nested, past
from campaigns.audiences.bounds import AS_KEPT, leaves
from campaigns.audiences.resolving.covered_runs import refuse_forgotten, with_last_run, with_runs
from campaigns.audiences.resolving.events_kept import refuse_too_far
from campaigns.audiences.resolving.leaf_by_leaf import each_leaf
from campaigns.audiences.resolving.nested_audiences import Nest
from campaigns.audiences.rules import problems, refuse_broken


def rules_for_sql(
    project_id: int, tree: Any, *, singly: bool = False, whole: bool = False
) -> dict[str, Any]:
    """Rules ready for SQL.

    `singly`: few of many people are checked. `whole`: all people are checked at once. Raises
    ValidationError as `rules_at_launch` does, for too many runs, and for a rule that looks further
    back than events are kept.
    """
    rules = rules_at_launch(project_id, tree)
    if event.FIELD in _fields(rules):
        refuse_too_far(project_id, rules)
        rules = each_leaf(rules, lambda leaf: event.with_project(project_id, leaf, singly=singly))
    if past.FIELD not in _fields(rules):
        return rules
    refuse_forgotten(project_id, rules)
    return each_leaf(rules, lambda leaf: with_runs(project_id, leaf, whole=whole))


def rules_at_launch(project_id: int, tree: Any, *, of: int | None = None) -> dict[str, Any]:
    """Rules as a launch freezes them. `of` is the audience they belong to: it must not contain
    itself.

    Raises Broken, and ValidationError for a circle and for an audience that is gone.
    """
    refuse_broken(tree)
    rules: dict[str, Any] = tree
    if nested.FIELD in _fields(rules):
        rules = Nest(project_id).expanded(rules, () if of is None else (of,))
        _refuse_too_much(rules)
    if past.FIELD in _fields(rules):
        rules = each_leaf(rules, lambda leaf: with_last_run(project_id, leaf))
    return rules


def _refuse_too_much(tree: dict[str, Any]) -> None:
    if wrong := problems(tree, AS_KEPT)[:1]:
        text = _("together with the audiences they name, these rules cannot be used: %(problem)s")
        raise ValidationError({"rules": text % {"problem": wrong[0].words}})


def _fields(tree: dict[str, Any]) -> set[str]:
    return {leaf["field"] for leaf in leaves(tree)}
