"""SQL of a checked tree of rules. Values are parameters; nothing that a user typed becomes SQL."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.db import connection

from campaigns.audiences import last_seen
from campaigns.audiences.behavior import at_most
from campaigns.audiences.behavior.kind import Sql
from campaigns.audiences.behavior.kinds import KINDS
from campaigns.audiences.durations import parse_duration
from campaigns.audiences.resolving.settling import rules_for_sql
from campaigns.audiences.rules import FIELDS, Field, field_of, moment, refuse_broken
from notifications.people.attributes import ISO_TIME
from notifications.people.contact import Contact

MAX_ID = 2**63 - 1


# Rules are evaluated for a person with each of their devices: “platform is iOS” selects iPhones,
# not every device of people who own one. For people without a device, they are evaluated once.
def joined(seen_since: datetime | None) -> str:
    """A FROM item: people `c`, each with their active devices `d` that were seen since then."""
    return f"""
        notifications_contact c
        LEFT JOIN notifications_device d
            ON d.contact_id = c.id AND d.retired_at IS NULL AND {last_seen.fresh(seen_since)}
    """


def people_and_devices(project_id: int) -> str:
    """A FROM item: people and devices, with the project's current setting for unseen devices."""
    return joined(last_seen.seen_since(project_id))


def compile_tree(tree: dict[str, Any]) -> Sql:
    """A condition over `c` (contact) and `d` (device or NULL) that is true or false, never NULL.

    Raises Broken.
    """
    refuse_broken(tree)
    return _tree_sql(tree)


def sample(
    project_id: int,
    tree: dict[str, Any],
    size: int = 10,
    *,
    start: int | None = None,
    only: Sql | None = None,
) -> list[Contact]:
    """Some of the people that the rules select, the newest first.

    `start`: the id of the newest person to consider. `only`: a condition that they must also meet.
    """
    where = compile_tree(drawn(project_id, rules_for_sql(project_id, tree)))
    extra = only or Sql("TRUE")
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT c.id FROM {people_and_devices(project_id)}"
            f" WHERE c.project_id = %s AND c.id <= %s AND {where.sql} AND {extra.sql}"
            " GROUP BY c.id ORDER BY c.id DESC LIMIT %s",
            [project_id, start or MAX_ID, *where.params, *extra.params, size],
        )
        ids = [row[0] for row in cursor.fetchall()]
    return list(Contact.objects.filter(pk__in=ids).order_by("-pk").prefetch_related("devices"))


def drawn(
    project_id: int, tree: dict[str, Any], *, source: str | None = None, times: float = 1
) -> dict[str, Any]:
    """Settled rules, with the place of the last person in their “at most n people” rule, if any.

    In a sample that is `times` smaller, the rule takes that many times fewer people.
    """
    if not (cut := at_most.only(tree)):
        return tree
    others = {"all": [rule for rule in tree.get("all", []) if rule is not cut]}
    where, place = compile_tree(others), at_most.place_of(cut)
    before_last = max(1, round(cut["value"]["most"] / times)) - 1
    statement = (
        f"SELECT DISTINCT {place.sql}, c.id FROM {source or people_and_devices(project_id)}"
        f" WHERE c.project_id = %s AND d.id IS NOT NULL AND {where.sql}"
        " ORDER BY 1, 2 OFFSET %s LIMIT 1"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [*place.params, project_id, *where.params, before_last])
        last = cursor.fetchone()
    return {"all": [*others["all"], at_most.through(cut, last)]}


def nth(contact: Contact, tree: dict[str, Any]) -> int:
    """The place of a selected person among the “at most n people” of rules returned by `drawn`."""
    cut = at_most.only(tree)
    assert cut
    where, place = compile_tree(tree), at_most.place_of(cut)
    own_place = Sql(f"SELECT {place.sql}, c.id FROM notifications_contact c WHERE c.id = %s")
    statement = (
        f"SELECT count(DISTINCT c.id) FROM {people_and_devices(contact.project_id)}"
        f" WHERE c.project_id = %s AND {where.sql} AND ({place.sql}, c.id) <= ({own_place.sql})"
    )
    values = [*where.params, *place.params, *place.params, contact.pk]
    with connection.cursor() as cursor:
        cursor.execute(statement, [contact.project_id, *values])
        count: int = cursor.fetchone()[0]
    return count


def _tree_sql(tree: dict[str, Any]) -> Sql:
    for word, joiner, empty in (("all", " AND ", "TRUE"), ("any", " OR ", "FALSE")):
        if word in tree:
            parts = [_tree_sql(inner) for inner in tree[word]]
            sql = joiner.join(part.sql for part in parts) or empty
            return Sql(f"({sql})", [p for part in parts for p in part.params])
    if "not" in tree:
        inner = _tree_sql(tree["not"])
        return Sql(f"(NOT {inner.sql})", inner.params)
    if kind := KINDS.get(tree["field"]):
        return kind.sql(tree["op"], tree["value"])
    condition = _leaf_sql(tree)
    return Sql(f"COALESCE({condition.sql}, FALSE)", condition.params)


NEGATIVE = {"ne": "eq", "not_in": "in", "has_none": "has_any", "not_exists": "exists"}
OF_SEVERAL = {"eq": "in", "has": "has_any"}


def _leaf_sql(leaf: dict[str, Any]) -> Sql:
    field, op, value = field_of(leaf["field"]), leaf["op"], leaf.get("value")
    if negative := NEGATIVE.get(op):  # missing counts as “is not”: that is what a marketer means
        positive = _leaf_sql({**leaf, "op": negative})
        return Sql(f"NOT COALESCE({positive.sql}, FALSE)", positive.params)
    if several := OF_SEVERAL.get(op):
        return _leaf_sql({**leaf, "op": several, "value": [value]})
    if field.kind == "list":
        return Sql(
            "EXISTS (SELECT 1 FROM campaigns_member m"
            " WHERE m.contact_id = c.id AND m.audience_id = ANY(%s))",
            [value],
        )
    kind_sql = _attribute_sql if field.kind == "attribute" else _column_sql
    return kind_sql(leaf, field, op, value)


NOW = "statement_timestamp()"  # now() is the transaction's start, before its own rows
COMPARE = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def _column_sql(leaf: dict[str, Any], field: Field, op: str, value: Any) -> Sql:
    column = field.column
    if op == "exists":
        return Sql(
            f"{column} IS NOT NULL" + ("" if field.kind == "time" else f" AND {column} <> ''")
        )
    if op == "in":
        return _is_one_of(field, value)
    if op in LETTERS:
        return _letters_sql(Sql(column), op, value)
    if field.kind == "version":
        return Sql(f"{_as_version(column)} {COMPARE[op]} {_as_version('%s')}", [value])
    return _time_sql(Sql(column), op, value)


def _is_one_of(field: Field, values: list[Any]) -> Sql:
    if field.kind != "version":
        return Sql(f"{field.column} = ANY(%s)", [list(values)])
    wanted = f"SELECT {_same_version('wanted')} FROM unnest(%s::text[]) wanted"
    return Sql(f"{_same_version(field.column)} IN ({wanted})", [list(values)])


def _as_version(text: str) -> str:
    # Compare numbers, not letters: 10.2 is newer than 9.9. A missing part is 0, so zeros at the end
    # are removed: 10.2 equals 10.2.0.
    numbers = f"substring({text} from '[0-9]+(?:[.][0-9]+)*')"
    return f"string_to_array(regexp_replace({numbers}, '([.]0+)+$', ''), '.')::numeric[]"


def _same_version(text: str) -> str:
    """The same text for equal versions such as 10.2 and 10.2.0; 10.2-beta equals only itself."""
    bare = f"{text} ~ '^[0-9]+([.][0-9]+)*$'"
    return f"CASE WHEN {bare} THEN {_as_version(text)}::text ELSE {text} END"


LETTERS = {"contains": "strpos({}, {}) > 0", "starts_with": "starts_with({}, {})"}


def _letters_sql(text: Sql, op: str, value: str) -> Sql:
    return Sql(LETTERS[op].format(folded(text.sql), folded("%s")), [*text.params, value])


def folded(text: str) -> str:
    """SQL that folds a text, so that case does not matter. Both sides of a comparison need it.

    Some locales lowercase “İ” to “i”, others to an “i” with a second dot, and apps may do so before
    they send it. Here all become “i”; else “istanbul” would find only some of İstanbul's people.
    """
    return f"replace(lower({text}), U&'i\\0307', 'i')"


WHICH_SIDE = {"before": "<", "after": ">"}


def _time_sql(time: Sql, op: str, value: Any) -> Sql:
    if op == "within_last":
        condition = f"{time.sql} BETWEEN {NOW} - %s AND {NOW}"
        return Sql(condition, [*time.params, parse_duration(value)])
    return Sql(f"{time.sql} {WHICH_SIDE[op]} %s::timestamptz", [*time.params, str(moment(value))])


# --- Attributes: their values carry their own type ------------------------------------------------


def _attribute_sql(leaf: dict[str, Any], field: Field, op: str, value: Any) -> Sql:
    name = leaf["field"].partition(".")[2]
    text, typed = "(c.attributes ->> %s)", "(c.attributes -> %s)"
    if op == "exists":  # an empty text counts as missing, as in a template
        return Sql(f"COALESCE({text}, '') <> ''", [name])
    if op == "in":
        return Sql(f"{typed} = ANY(%s::jsonb[])", [name, _each_json(value)])
    if op == "has_any":
        return _holds_one_of(Sql(_of_type("array", typed, typed), [name, name]), value)
    if op in COMPARE:
        number = _of_type("number", typed, f"{text}::numeric")
        return Sql(f"{number} {COMPARE[op]} %s", [name, name, value])
    if op in LETTERS:
        return _letters_sql(Sql(_of_type("string", typed, text), [name, name]), op, value)
    # A text that is not a time is neither before nor after one. PostgreSQL alone would also accept
    # “20260531” and “now”.
    parsed = f"CASE WHEN {is_time(text)} THEN {text}::timestamptz END"
    return _time_sql(Sql(_of_type("string", typed, parsed), [name] * 4), op, value)


def _holds_one_of(array: Sql, values: list[Any]) -> Sql:
    if len(values) == 1:  # four times as fast; the other form slows with each value
        return Sql(f"{array.sql} @> %s::jsonb", [*array.params, json.dumps(values)])
    elements = f"jsonb_array_elements({array.sql}) each_of(value)"
    one_of = f"EXISTS (SELECT 1 FROM {elements} WHERE each_of.value = ANY(%s::jsonb[]))"
    return Sql(one_of, [*array.params, _each_json(values)])


def _of_type(kind: str, typed: str, then: str) -> str:
    """The attribute's value if it has this type; other types never match."""
    return f"(CASE WHEN jsonb_typeof({typed}) = '{kind}' THEN {then} END)"


def is_time(text: str) -> str:
    """SQL that tells whether a text is an ISO 8601 date or time. It contains `text` twice."""
    return f"({text} ~ '{ISO_TIME}' AND pg_input_is_valid({text}, 'timestamptz'))"


def value_of(leaf: dict[str, Any]) -> Sql:
    """SQL of the value that a rule compared, as text, for “why is this person in?”."""
    if kind := KINDS.get(leaf["field"]):
        return kind.seen(leaf["op"], leaf["value"])
    if leaf["field"] == "list":
        return Sql("NULL::text")
    if leaf["field"] in FIELDS:
        return Sql(f"({FIELDS[leaf['field']].column})::text")
    return Sql("(c.attributes ->> %s)", [leaf["field"].partition(".")[2]])


def _each_json(values: list[Any]) -> list[str]:
    return [json.dumps(value, ensure_ascii=False) for value in values]
