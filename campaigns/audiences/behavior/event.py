"""A rule on events: who did something at least n times, within a time, with given properties.

Events are found by name or by person, so the rule is quick both for a whole project and for one
person. `_sql` explains how.
"""

from __future__ import annotations

import json
from functools import reduce
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns.audiences.behavior.kind import Kind, Names, Sql
from campaigns.audiences.durations import duration_problem, parse_duration
from notifications.people.attributes import validate_attribute_name
from notifications.people.events.names import validate_event_name
from notifications.values.moments import in_words, short
from notifications.values.text import unstorable

FIELD = "event"
KEYS = ("name", "at_least", "within", "where")
KEPT = "asked"  # the project, and whether few people are checked: see `with_project`
MAX_TIMES = 1_000
MAX_CONDITIONS = 5
MOST_VALUES = 100
MAX_TEXT = 500
EXAMPLE = '{"name": "bought", "at_least": 2, "within": "P30D"}'

COMPARED = {
    "eq": gettext_lazy("{field} is {value}"),
    "ne": gettext_lazy("{field} is not {value}"),
    "in": gettext_lazy("{field} is one of {value}"),
    "not_in": gettext_lazy("{field} is none of {value}"),
    "gt": gettext_lazy("{field} is more than {value}"),
    "gte": gettext_lazy("{field} is at least {value}"),
    "lt": gettext_lazy("{field} is less than {value}"),
    "lte": gettext_lazy("{field} is at most {value}"),
    "exists": gettext_lazy("{field} is known"),
    "not_exists": gettext_lazy("{field} is not known"),
}
COMPARE = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
MANY = ("in", "not_in")
NEGATIVE = {"ne": "eq", "not_in": "in", "not_exists": "exists"}


# --- Checking -------------------------------------------------------------------------------------


def _problem(op: str, value: Any) -> str:
    if not isinstance(value, dict) or "name" not in value:
        return _("must be such as %(example)s.") % {"example": EXAMPLE}
    if extra := set(value) - {*KEYS, KEPT}:
        text = _("unknown key “%(key)s”. Use %(known)s.")
        return text % {"key": str(min(extra))[:50], "known": ", ".join(KEYS)}
    return (
        _event_name_problem(value["name"])
        or _times_problem(value.get("at_least", 1))
        or _within_problem(value.get("within", "P1D"))
        or where_problem(value.get("where", []))
        or _kept_problem(value.get(KEPT, {"project": 1}))
    )


def _event_name_problem(name: Any) -> str:
    try:
        validate_event_name(name if isinstance(name, str) else "")
    except ValidationError as error:
        return f"“name”: {error.messages[0]}"
    return ""


def _property_problem(name: Any) -> str:
    try:
        validate_attribute_name(name if isinstance(name, str) else "")
    except ValidationError as error:
        return f"“property”: {error.messages[0]}"
    return ""


def _times_problem(times: Any) -> str:
    whole = isinstance(times, int) and not isinstance(times, bool)
    text = _("“at_least” must be a whole number from 1 to %(most)s.") % {"most": MAX_TIMES}
    return "" if whole and 1 <= times <= MAX_TIMES else text


def _within_problem(within: Any) -> str:
    problem = duration_problem(within)
    return f"“within” {problem}" if problem else ""


def where_problem(where: Any) -> str:
    if not isinstance(where, list) or len(where) > MAX_CONDITIONS:
        text = _("“where” must be a list of at most %(most)s conditions on properties.")
        return text % {"most": MAX_CONDITIONS}
    return next((problem for condition in where if (problem := _condition_problem(condition))), "")


def _condition_problem(condition: Any) -> str:
    if not isinstance(condition, dict) or set(condition) - {"property", "op", "value"}:
        example = '{"property": "price", "op": "gte", "value": 10}'
        return _("“where” must hold conditions such as %(example)s.") % {"example": example}
    op, value = condition.get("op"), condition.get("value")
    if problem := _property_problem(condition.get("property")):
        return problem
    if not isinstance(op, str):
        text = _("“op” is missing in “where”, or is not a text. Use one of %(allowed)s.")
        return text % {"allowed": ", ".join(COMPARED)}
    if op not in COMPARED:
        text = _("“%(op)s” cannot be used with a property. Use one of %(allowed)s.")
        return text % {"op": op[:50], "allowed": ", ".join(COMPARED)}
    if op in ("exists", "not_exists"):
        return "" if value in (None, "", True) else _("%(op)s takes no value.") % {"op": op}
    if op in MANY:
        counted = isinstance(value, list) and 1 <= len(value) <= MOST_VALUES
        text = _("%(op)s takes a list of 1 to %(most)s texts, numbers or true/false.")
        is_valid = counted and all(map(_is_scalar, value or []))
        return "" if is_valid else text % {"op": op, "most": MOST_VALUES}
    if op in COMPARE:
        return "" if _is_number(value) else _("%(op)s takes a number.") % {"op": op}
    text = _("%(op)s takes a text of at most %(most)s characters, a number or true/false.")
    return "" if _is_scalar(value) else text % {"op": op, "most": MAX_TEXT}


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) < 1e15  # NaN and Infinity fail this too


def _is_scalar(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_TEXT and not unstorable(value)
    return isinstance(value, bool) or _is_number(value)


def _kept_problem(kept: Any) -> str:
    is_valid = isinstance(kept, dict) and isinstance(kept.get("project"), int)
    return "" if is_valid else _("remove “asked”: the server sets it.")


# --- SQL ------------------------------------------------------------------------------------------

NOW = "statement_timestamp()"
TABLE = "notifications_event e"


def with_project(project_id: int, leaf: dict[str, Any], *, singly: bool) -> dict[str, Any]:
    """The rule with its project, ready for SQL. `singly`: only few of many people are checked."""
    if leaf["field"] != FIELD:
        return leaf
    stored = {"project": project_id, "singly": singly}
    return {**leaf, "value": {**leaf["value"], KEPT: stored}}


def _sql(op: str, value: Any) -> Sql:
    """SQL of the rule, in one of two forms.

    In the general form, PostgreSQL chooses by cost between two plans. It collects all people who
    did it, once, and looks each person up among them (10,000,000 events of 1,000,000 people: 0.3 to
    2.4 s in all). Or it looks up each person's events (5 µs each: 1 ms for one person). COALESCE
    keeps this choice: a plain EXISTS becomes a join, which always collects.

    The `singly` form is for a part of the people, where PostgreSQL chooses badly: with conditions
    on properties it overestimates the cost of look-ups, and collects (0.9 s instead of 0.2).
    """
    happened, times = _matching_events(value), value.get("at_least", 1)
    if value[KEPT].get("singly"):
        sql = (
            "((SELECT count(*) FROM (SELECT FROM"
            f" {happened.sql} AND e.contact_id = c.id LIMIT %s) did) >= %s)"
        )
        params = [*happened.params, times, times]
    else:
        sql = (
            f"COALESCE(EXISTS (SELECT FROM (SELECT e.contact_id FROM {happened.sql}"
            " GROUP BY e.contact_id HAVING count(*) >= %s) did"
            " WHERE did.contact_id = c.id), FALSE)"
        )
        params = [*happened.params, times]
    return Sql(sql, params) if op == "did" else Sql(f"(NOT {sql})", params)


def _matching_events(value: dict[str, Any]) -> Sql:
    """A FROM item: the matching events of all people. Events in the future do not count yet."""
    sql = f"{TABLE} WHERE e.project_id = %s AND e.name = %s AND e.at <= {NOW}"
    params: list[Any] = [value[KEPT]["project"], value["name"]]
    if within := value.get("within"):
        sql, params = f"{sql} AND e.at >= {NOW} - %s", [*params, parse_duration(within)]
    matches = matching(value.get("where", []))
    return Sql(f"{sql} AND {matches.sql}", [*params, *matches.params])


def matching(where: list[dict[str, Any]]) -> Sql:
    """SQL that tells whether an event `e` meets all these conditions on its properties."""
    conditions = [_condition_sql(**{"value": None, **condition}) for condition in where]
    sql = " AND ".join(["TRUE", *(f"COALESCE({condition.sql}, FALSE)" for condition in conditions)])
    return Sql(sql, [param for condition in conditions for param in condition.params])


def _condition_sql(property: str, op: str, value: Any) -> Sql:
    """SQL of one condition. 5 is not “5”. A missing property matches negative operators only."""
    if positive := NEGATIVE.get(op):
        condition = _condition_sql(property, positive, value)
        return Sql(f"NOT COALESCE({condition.sql}, FALSE)", condition.params)
    if op == "exists":
        return Sql("e.properties ->> %s <> ''", [property])
    if op in COMPARE:
        number = (
            "CASE WHEN jsonb_typeof(e.properties -> %s) = 'number'"
            " THEN (e.properties ->> %s)::numeric END"
        )
        return Sql(f"{number} {COMPARE[op]} %s", [property, property, value])
    values = value if op == "in" else [value]
    encoded = [json.dumps(item, ensure_ascii=False) for item in values]
    return Sql("e.properties -> %s = ANY(%s::jsonb[])", [property, encoded])


def _seen(op: str, value: Any) -> Sql:
    """SQL of how often the person did it, and when last, as JSON."""
    happened = _matching_events(value)
    sql = (
        f"(SELECT json_build_array(count(*), max(e.at))::text FROM {happened.sql}"
        " AND e.contact_id = c.id)"
    )
    return Sql(sql, happened.params)


# --- Words ----------------------------------------------------------------------------------------


def _words(op: str, value: Any, names: Names) -> str:
    times, within = value.get("at_least", 1), value.get("within")
    pattern = _often(op, times) if times > 1 else _once(op)
    clause = (pattern[1] if within else pattern[0]).format(
        event=f"“{value['name']}”",
        count=f"{times:,}",
        span=in_words(parse_duration(within)) if within else "",
    )
    return with_conditions(clause, value.get("where", []))


def with_conditions(clause: str, where: list[dict[str, Any]]) -> str:
    conditions = [_condition(**{"value": None, **condition}) for condition in where]
    if not conditions:
        return clause
    joined = reduce(_("{} and {}").format, conditions)
    return _("{clause} where {conditions}").format(clause=clause, conditions=joined)


def _once(op: str) -> tuple[str, str]:
    """The clause without and with a time limit."""
    if op == "did":
        return _("did {event}"), _("did {event} within the last {span}")
    return _("did not do {event}"), _("did not do {event} within the last {span}")


def _often(op: str, times: int) -> tuple[str, str]:
    if op == "did":
        return (
            ngettext("did {event} at least {count} time",
                     "did {event} at least {count} times", times),
            ngettext("did {event} at least {count} time within the last {span}",
                     "did {event} at least {count} times within the last {span}", times),
        )  # fmt: skip
    return (
        ngettext("did {event} fewer than {count} time",
                 "did {event} fewer than {count} times", times),
        ngettext("did {event} fewer than {count} time within the last {span}",
                 "did {event} fewer than {count} times within the last {span}", times),
    )  # fmt: skip


def _condition(property: str, op: str, value: Any) -> str:
    text = ", ".join(map(_scalar, value)) if isinstance(value, list) else _scalar(value)
    return str(COMPARED[op]).format(field=property.replace("_", " "), value=text)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return _("true") if value else _("false")
    return str(value)


def _shown(seen: str, zone: str) -> str:
    times, last = json.loads(seen or "[0, null]")
    if not times:
        return _("it never happened")
    text = ngettext("it happened {count} time, on {last}",
                    "it happened {count} times, last on {last}", times)  # fmt: skip
    moment = parse_datetime(last)
    return text.format(count=f"{times:,}", last=short(moment, zone) if moment else last)


KIND = Kind(
    ops={"did": "did_not", "did_not": "did"},
    problem=_problem,
    sql=_sql,
    words=_words,
    seen=_seen,
    shown=_shown,
    kept=(KEPT,),
    costly=True,
)
