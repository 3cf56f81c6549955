"""The rule “is in another saved audience”.

`resolving/` replaces it by that audience's rules, so a later edit does not change what a launch
froze.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from django.utils.translation import gettext as _

from campaigns.audiences.behavior.kind import Kind, Named, Names, Sql
from campaigns.audiences.behavior.past import is_id

FIELD = "audience"
MOST = 20
MANY = ("in", "not_in")


def ids_of(value: Any) -> list[int]:
    return [pk for pk in (value if isinstance(value, list) else [value]) if is_id(pk)]


def _problem(op: str, value: Any) -> str:
    if op not in MANY:
        return "" if is_id(value) else _("must be the id of an audience.")
    is_valid = isinstance(value, list) and 1 <= len(value) <= MOST and all(map(is_id, value))
    return (
        "" if is_valid else _("must be a list of 1 to %(most)s ids of audiences.") % {"most": MOST}
    )


def _sql(op: str, value: Any) -> Sql:
    raise AssertionError("Rules are settled before anybody is asked.")


def _words(op: str, value: Any, names: Names) -> str:
    unnamed = _("audience {id}")
    called = [names.get(("audience", pk)) or unnamed.format(id=pk) for pk in ids_of(value)]
    inside, outside = _("is in the audience {names}"), _("is not in the audience {names}")
    joined = reduce(_("{} or {}").format, called)
    return (inside if op in ("eq", "in") else outside).format(names=joined)


def _names(value: Any) -> list[Named]:
    return [("audience", pk) for pk in ids_of(value)]


KIND = Kind(
    ops={"eq": "ne", "ne": "eq", "in": "not_in", "not_in": "in"},
    problem=_problem,
    sql=_sql,
    words=_words,
    names=_names,
)
