"""Which runs a rule on past runs covers, as of now."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection
from django.utils.translation import gettext as _

from campaigns.audiences.behavior.past import FIELD, KEPT, MAX_RUNS, NEWEST, WHOLE
from campaigns.audiences.durations import parse_duration
from campaigns.audiences.resolving.leaf_by_leaf import Leaf

# Replaces a rule on “the last run” if there is none yet: nobody was in it.
NONE_YET: dict[str, Leaf] = {"was": {"any": []}, "was_not": {"all": []}}

NOT_ACCEPTED = ("was_not", "accepted")

BEGAN = (
    "SELECT id FROM campaigns_run WHERE project_id = %(project)s AND planned IS NOT NULL"
    " AND kind <> 'rehearsal'"
    " AND (%(campaign)s::bigint IS NULL OR campaign_id = %(campaign)s)"
)
# Stands for a run whose recipients were removed: nobody counts as having been in it.
FITS = (
    f"{BEGAN} AND (%(run)s::bigint IS NULL OR id = %(run)s)"
    " AND (%(within)s::interval IS NULL"
    " OR started_at >= statement_timestamp() - %(within)s::interval)"
)
MEANT = f"{FITS} AND forgotten_at IS NULL ORDER BY id DESC LIMIT %(most)s"
FORGOTTEN = f"{FITS} AND forgotten_at IS NOT NULL"
FORGOTTEN_OF = (
    "SELECT id FROM campaigns_run WHERE project_id = %(project)s AND id = ANY(%(runs)s)"
    " AND kind <> 'rehearsal' AND forgotten_at IS NOT NULL"
)
NOT_OVER = f"{FITS} AND finished_at IS NULL ORDER BY id DESC LIMIT 1"
LAST = f"{BEGAN} ORDER BY id DESC LIMIT 1"


def with_last_run(project_id: int, leaf: Leaf) -> Leaf:
    """The rule, with “last” replaced by the id of the newest run that has started."""
    if leaf["field"] != FIELD or leaf["value"].get("run") != NEWEST:
        return leaf
    runs = _ids(LAST, project=project_id, campaign=leaf["value"].get("campaign"))
    return _with_values(leaf, run=runs[0]) if runs else NONE_YET[leaf["op"]]


def with_runs(project_id: int, leaf: Leaf, *, whole: bool) -> Leaf:
    """The rule with the ids of the runs it covers. Raises ValidationError if there are too many."""
    if leaf["field"] != FIELD:
        return leaf
    runs = _ids(MEANT, project=project_id, most=MAX_RUNS + 1, **_run_params(leaf["value"]))
    if len(runs) > MAX_RUNS:
        text = _("a rule can cover at most %(most)s runs, and more match. Choose a campaign, a run "
        "or fewer days.")  # fmt: skip
        raise ValidationError({"rules": text % {"most": MAX_RUNS}})
    return _with_values(leaf, **{KEPT: runs, **({WHOLE: True} if whole else {})})


def refuse_forgotten(project_id: int, tree: Leaf, *, out: bool = False) -> None:
    """Refuse a rule that excludes the people of a run whose recipients were removed.

    It would exclude nobody. `out`: the node is inside an odd number of “not”s. Raises
    ValidationError.
    """
    for inner in [*tree.get("all", ()), *tree.get("any", ())]:
        refuse_forgotten(project_id, inner, out=out)
    if "not" in tree:
        refuse_forgotten(project_id, tree["not"], out=not out)
    if tree.get("field") != FIELD or (tree["op"] == "was_not") == out:
        return
    if count := forgotten(project_id, tree["value"]):
        text = _("a rule excludes people by runs, and the recipients of %(count)s of these "
        "runs were removed. Choose another run or campaign, or fewer days.")  # fmt: skip
        raise ValidationError({"rules": text % {"count": count}})


def forgotten(project_id: int, value: dict[str, Any]) -> int:
    """How many of the runs that a rule covers have lost their recipients."""
    if KEPT in value:
        return len(_ids(FORGOTTEN_OF, project=project_id, runs=value[KEPT]))
    if value.get("run") == NEWEST:
        runs = _ids(LAST, project=project_id, campaign=value.get("campaign"))
        value = {**value, "run": runs[0] if runs else 0}
    return len(_ids(FORGOTTEN, project=project_id, **_run_params(value)))


def asked_for(project_id: int, value: dict[str, Any]) -> set[int]:
    """The runs whose recipients a rule needs, as of now."""
    if KEPT in value:
        return set(value[KEPT])
    if value.get("run") == NEWEST:
        return set(_ids(LAST, project=project_id, campaign=value.get("campaign")))
    return set(_ids(MEANT, project=project_id, most=None, **_run_params(value)))


def one_run(project_id: int, value: dict[str, Any]) -> int | None:
    """The run, if a rule covers just one."""
    runs = asked_for(project_id, value)
    return runs.pop() if len(runs) == 1 else None


def not_over(project_id: int, leaf: Leaf) -> int | None:
    """The newest unfinished run of a rule that counts people who still wait in it as not reached.

    None if there is no such run.
    """
    resolved = with_last_run(project_id, leaf)
    value = resolved.get("value", {"outcome": ""})
    if value["outcome"] != "not_reached" and (leaf["op"], value["outcome"]) != NOT_ACCEPTED:
        return None
    runs = _ids(NOT_OVER, project=project_id, **_run_params(value))
    return runs[0] if runs else None


def _run_params(value: dict[str, Any]) -> dict[str, Any]:
    within = parse_duration(value["within"]) if "within" in value else None
    return {"campaign": value.get("campaign"), "run": value.get("run"), "within": within}


def _with_values(leaf: Leaf, **values: Any) -> Leaf:
    return {**leaf, "value": {**leaf["value"], **values}}


def _ids(statement: str, **params: Any) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return [row[0] for row in cursor.fetchall()]
