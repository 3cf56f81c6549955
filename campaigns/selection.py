"""From a checked tree of rules to SQL. Values travel as parameters; nothing typed becomes SQL."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from campaigns.durations import parse_duration
from campaigns.rules import FIELDS, Field, field_of, moment

# A person is judged together with each of their devices: “platform is iOS” selects iPhones, not
# every device of people who own one. People without a device are judged once, with none.
PEOPLE_AND_DEVICES = """
    notifications_contact c
    LEFT JOIN notifications_device d ON d.contact_id = c.id AND d.retired_at IS NULL
"""


@dataclass(frozen=True)
class Sql:
    """A piece of a statement and the values it refers to."""

    sql: str
    params: list[Any] = field(default_factory=list)


def compile_tree(tree: dict[str, Any]) -> Sql:
    """A condition over `c` (contact) and `d` (device or NULL) that is true or false, never NULL."""
    for word, joiner, empty in (("all", " AND ", "TRUE"), ("any", " OR ", "FALSE")):
        if word in tree:
            parts = [compile_tree(inner) for inner in tree[word]]
            sql = joiner.join(part.sql for part in parts) or empty
            return Sql(f"({sql})", [p for part in parts for p in part.params])
    if "not" in tree:
        inner = compile_tree(tree["not"])
        return Sql(f"(NOT {inner.sql})", inner.params)
    condition = _leaf_sql(tree)
    return Sql(f"COALESCE({condition.sql}, FALSE)", condition.params)


def _leaf_sql(leaf: dict[str, Any]) -> Sql:
    asked, op, value = field_of(leaf["field"]), leaf["op"], leaf.get("value")
    negative = {"ne": "eq", "not_in": "in", "not_exists": "exists"}.get(op)
    if negative:  # missing counts as “is not”: that is what a marketer means
        positive = _leaf_sql({**leaf, "op": negative})
        return Sql(f"NOT COALESCE({positive.sql}, FALSE)", positive.params)
    if op == "eq":
        return _leaf_sql({**leaf, "op": "in", "value": [value]})
    if asked.kind == "list":
        return Sql(
            "EXISTS (SELECT 1 FROM campaigns_member m"
            " WHERE m.contact_id = c.id AND m.audience_id = ANY(%s))",
            [value],
        )
    kind_sql = _attribute_sql if asked.kind == "attribute" else _column_sql
    return kind_sql(leaf, asked, op, value)


NOW = "statement_timestamp()"  # now() is the transaction's start: too early for its own rows
COMPARE = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def _column_sql(leaf: dict[str, Any], asked: Field, op: str, value: Any) -> Sql:
    column = asked.column
    if op == "exists":
        return Sql(
            f"{column} IS NOT NULL" + ("" if asked.kind == "time" else f" AND {column} <> ''")
        )
    if op == "in":
        return Sql(f"{column} = ANY(%s)", [list(value)])
    if op == "contains":
        return Sql(f"strpos(lower({column}), lower(%s)) > 0", [value])
    if op == "starts_with":
        return Sql(f"starts_with(lower({column}), lower(%s))", [value])
    if asked.kind == "version":
        return Sql(f"{_as_version(column)} {COMPARE[op]} {_as_version('%s')}", [value])
    return _time_sql(column, op, value)


def _as_version(text: str) -> str:
    # 10.2 is newer than 9.9: compare the numbers, not the letters.
    return f"string_to_array(substring({text} from '[0-9]+(?:[.][0-9]+)*'), '.')::numeric[]"


def _time_sql(column: str, op: str, value: Any) -> Sql:
    if op == "within_last":
        return Sql(f"{column} BETWEEN {NOW} - %s AND {NOW}", [parse_duration(value)])
    return Sql(f"{column} {'<' if op == 'before' else '>'} %s::timestamptz", [str(moment(value))])


def _attribute_sql(leaf: dict[str, Any], asked: Field, op: str, value: Any) -> Sql:
    name = leaf["field"].partition(".")[2]
    text, typed = Sql("(c.attributes ->> %s)", [name]), Sql("(c.attributes -> %s)", [name])
    if op == "exists":  # an empty text reads as missing in a template, so it does here
        return Sql(f"COALESCE({text.sql}, '') <> ''", [name])
    if op == "in":
        return Sql(f"{typed.sql} = ANY(%s::jsonb[])", [name, [_json(v) for v in value]])
    if op == "contains":
        has = f"{typed.sql} @> %s::jsonb AND jsonb_typeof({typed.sql}) = 'array'"
        return Sql(
            f"(({has}) OR strpos(lower({text.sql}), lower(%s)) > 0)",
            [name, _json([value]), name, name, value],
        )
    if op == "starts_with":
        return Sql(f"starts_with(lower({text.sql}), lower(%s))", [name, value])
    if op in COMPARE:
        number = f"CASE WHEN jsonb_typeof({typed.sql}) = 'number' THEN {text.sql}::numeric END"
        return Sql(f"({number}) {COMPARE[op]} %s", [name, name, value])
    return _attribute_time_sql(text, name, op, value)


def _attribute_time_sql(text: Sql, name: str, op: str, value: Any) -> Sql:
    # People's attributes hold anything; what is no time is simply not before or after one.
    valid = f"pg_input_is_valid({text.sql}, 'timestamptz')"
    column = f"(CASE WHEN {valid} THEN {text.sql}::timestamptz END)"
    condition = _time_sql(column, op, value)
    return Sql(condition.sql, [name, name, *condition.params])


def value_of(leaf: dict[str, Any]) -> Sql:
    """The value a leaf looked at, as text, for “why is this person in?”."""
    if leaf["field"] == "list":
        return Sql("NULL::text")
    if leaf["field"] in FIELDS:
        return Sql(f"({FIELDS[leaf['field']].column})::text")
    return Sql("(c.attributes ->> %s)", [leaf["field"].partition(".")[2]])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
