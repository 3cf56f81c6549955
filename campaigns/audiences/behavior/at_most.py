"""The rule “at most n people”: a random but stable choice of people who match the other rules.

Only people with a device are chosen. The place of the last person is found once and stored in the
rule (`selection.drawn`). Until then, the rule excludes only people without a device.
"""

from __future__ import annotations

from typing import Any

from django.contrib.humanize.templatetags.humanize import ordinal
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from campaigns.audiences.behavior.chance import place, seed_problem
from campaigns.audiences.behavior.kind import Kind, Names, Sql

FIELD = "people"
KEPT = "through"  # the last person chosen: their place and id
MOST = 100_000_000


def _problem(op: str, value: Any) -> str:
    if not isinstance(value, dict) or "most" not in value or set(value) - {"most", "seed", KEPT}:
        return _('must be such as {"most": 5000, "seed": "spring"}.')
    most, through = value["most"], value.get(KEPT, [0, 0])
    if not _is_whole(most) or not 1 <= most <= MOST:
        return _("“most” must be a whole number from 1 to %(most)s.") % {"most": f"{MOST:,}"}
    if not (isinstance(through, list) and len(through) == 2 and all(map(_is_whole, through))):
        return _("“through” must be two whole numbers.")
    return seed_problem(value.get("seed", ""))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**63


def _sql(op: str, value: Any) -> Sql:
    if KEPT not in value:
        return Sql("(d.id IS NOT NULL)")
    where = place(value.get("seed", ""))
    return Sql(
        f"(d.id IS NOT NULL AND ({where.sql}, c.id) <= (%s, %s))", [*where.params, *value[KEPT]]
    )


def _words(op: str, value: Any, names: Names) -> str:
    most = value["most"]
    text = ngettext("at most {count} person", "at most {count} people", most)
    clause = text.format(count=f"{most:,}")
    seed = value.get("seed", "")
    return _("{clause} (draw “{seed}”)").format(clause=clause, seed=seed) if seed else clause


def place_of(cut: dict[str, Any]) -> Sql:
    return place(cut["value"].get("seed", ""))


def through(cut: dict[str, Any], last: Any) -> dict[str, Any]:
    """Store in the rule the last person it includes; None: it includes everybody."""
    value = {key: part for key, part in cut["value"].items() if key != KEPT}
    return {**cut, "value": value if last is None else {**value, KEPT: list(last)}}


def trimmed(found: Sql, cut: dict[str, Any], table: str) -> Sql:
    """Cut the devices found to n people: those already in the table, then as many others as fit.

    Without this, people who match only since the last person was drawn would be added on top.
    `found` has the columns contact_id and place.
    """
    # People already in the table and other people are ranked separately.
    ranked = (
        "SELECT one.*, known.id IS NOT NULL AS known,"
        " dense_rank() OVER (PARTITION BY known.id IS NOT NULL"
        " ORDER BY one.place, one.contact_id) AS nth"
        f" FROM ({found.sql}) one"
        f" LEFT JOIN (SELECT DISTINCT contact_id AS id FROM {table}) known"
        " ON known.id = one.contact_id"
    )
    room = f"%s - (SELECT count(DISTINCT contact_id) FROM {table})"
    sql = f"SELECT * FROM ({ranked}) ranked WHERE known OR nth <= {room}"
    return Sql(sql, [*found.params, cut["value"]["most"]])


def only(tree: Any) -> dict[str, Any] | None:
    """The “at most” rule of a checked tree, if there is one."""
    outermost = tree.get("all", [tree])
    return next((leaf for leaf in outermost if leaf.get("field") == FIELD), None)


def misplaced(tree: Any, count: int) -> bool:
    """Whether a tree with `count` such rules has several, or one outside its outermost “all”."""
    outermost = tree.get("all", [tree]) if isinstance(tree, dict) else []
    rules = outermost if isinstance(outermost, list) else []
    in_place = [leaf for leaf in rules if isinstance(leaf, dict) and leaf.get("field") == FIELD]
    return count > 1 or len(in_place) != count


def describe_rank(cut: dict[str, Any], nth: int | None) -> str:
    """What the rule found, in words. `nth`: the place of a selected person; None: not known."""
    count = f"{cut['value']['most']:,}"
    if not cut["holds"]:
        return _("not among the first {count}").format(count=count)
    if nth is None:
        return _("among the first {count}").format(count=count)
    # Django knows only English ordinals; a translation writes them around the number.
    place = ordinal(nth) if (get_language() or "en").startswith("en") else f"{nth:,}"
    return _("the {nth} of the first {count}").format(nth=place, count=count)


KIND = Kind(
    ops={"lte": "lte"},
    problem=_problem,
    sql=_sql,
    words=_words,
    kept=(KEPT,),
)
