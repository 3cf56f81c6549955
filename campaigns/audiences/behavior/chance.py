"""The rule “a random n %”: the same people each time, and others for another seed.

A person's place depends only on their external id and the seed. So neither a new import nor a
restored database changes who is in, and the 20 % of a seed include its 10 %.
"""

from __future__ import annotations

import hashlib
from typing import Any

from django.utils.translation import gettext as _

from campaigns.audiences.behavior.kind import Kind, Names, Sql
from notifications.values.text import unstorable

FIELD = "random"
LONGEST_SEED = 50
LOWEST, ALL = -(2**63), 2**64  # the range of PostgreSQL's hash


def place(seed: str) -> Sql:
    """SQL of a person's place for a seed: each 64-bit number is equally likely."""
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], signed=True)
    return Sql("hashtextextended(c.external_id, %s)", [number])


def seed_problem(seed: Any) -> str:
    is_valid = isinstance(seed, str) and len(seed) <= LONGEST_SEED and not unstorable(seed)
    text = _("“seed” must be a text of at most %(most)s ordinary characters.")
    return "" if is_valid else text % {"most": LONGEST_SEED}


def _problem(op: str, value: Any) -> str:
    if not isinstance(value, dict) or "percent" not in value or set(value) - {"percent", "seed"}:
        return _('must be such as {"percent": 10, "seed": "spring"}.')
    percent = value["percent"]
    number = isinstance(percent, int | float) and not isinstance(percent, bool)
    if not number or not 0 < percent <= 100:
        return _("“percent” must be a number above 0, and 100 at most.")
    return seed_problem(value.get("seed", ""))


def _sql(op: str, value: Any) -> Sql:
    where = place(value.get("seed", ""))
    last = LOWEST + round(value["percent"] / 100 * ALL) - 1
    return Sql(f"({where.sql} <= %s)", [*where.params, min(last, LOWEST + ALL - 1)])


def _words(op: str, value: Any, names: Names) -> str:
    inside, outside = _("is among a random {percent} %"), _("is not among a random {percent} %")
    clause = (inside if op == "lte" else outside).format(percent=f"{value['percent']:g}")
    seed = value.get("seed", "")
    return _("{clause} (draw “{seed}”)").format(clause=clause, seed=seed) if seed else clause


def _seen(op: str, value: Any) -> Sql:
    """SQL of the person's place, as a percentage."""
    where = place(value.get("seed", ""))
    share = f"(({where.sql})::numeric + 9223372036854775808) * 100 / 18446744073709551616"
    return Sql(f"(round({share}, 2))::text", where.params)


def _shown(seen: str, zone: str) -> str:
    return _("placed at {percent} %").format(percent=seen)


KIND = Kind(
    ops={"lte": "gt"},
    problem=_problem,
    sql=_sql,
    words=_words,
    seen=_seen,
    shown=_shown,
)
