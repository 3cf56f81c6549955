"""“contains” looks into texts only, and lists have operators of their own: rules that were written
when it looked into both are rewritten, so that they select whom their author meant.

Where the people hold lists, `contains "sport"` becomes `has "sport"`; where some hold a list and
some a text, or nobody could be asked in time, `any` of both, which is right for each of them. It
was looked for in any case and as a number too: so are the spellings found in people's lists.

Frozen rules are rewritten as well, of runs that are not finished and of those the next run of a
series copies. The release before this one does not know `has`. A worker of it that comes to freeze
such a run beside this release makes a comparison of times out of it, which PostgreSQL refuses: the
run pauses and says so, nobody is in it yet or nobody more, and it goes on when it is resumed. Left
as they were, the rules would select nobody in this release, or “transport” in that one, and neither
could be taken back. A tree at the limits of depth or size may pass them by a rule. What is frozen
has been checked; an audience says where at its next launch, instead of leaving people out.
"""

import json

from django.db import OperationalError, connection, migrations, transaction
from django.utils import timezone

MOST_SECONDS = 30  # for everybody of a project, once
NEWEST = 10_000  # whose spellings are looked at
MOST_SPELLINGS = 20
PREFIX = "attributes."
BOTH = (True, True)

# Lists and texts, for each attribute that was asked.
KINDS = """
SELECT name, bool_or(jsonb_typeof(attributes -> name) = 'array'),
    bool_or(jsonb_typeof(attributes -> name) = 'string')
FROM notifications_contact, unnest(%s::text[]) name
WHERE project_id = %s AND attributes ? name
GROUP BY name
"""
SPELLINGS = """
SELECT DISTINCT asked.name, asked.value, held.value::text
FROM (
    SELECT attributes FROM notifications_contact WHERE project_id = %s ORDER BY id DESC LIMIT %s
) person
CROSS JOIN unnest(%s::text[], %s::text[]) asked(name, value)
CROSS JOIN LATERAL jsonb_array_elements(
    CASE jsonb_typeof(attributes -> asked.name) WHEN 'array' THEN attributes -> asked.name END
) held(value)
WHERE jsonb_typeof(held.value) IN ('string', 'number')
    AND lower(held.value #>> '{}') = lower(asked.value)
"""


def ask_lists_what_they_hold(apps, schema_editor):
    audiences = apps.get_model("campaigns", "Audience").objects
    runs = apps.get_model("campaigns", "Run").objects
    asking = audiences.filter(kind="rules").exclude(rules={"all": []})
    written = [*asking, *runs.filter(pk__in=_frozen(apps))]
    asked = {}
    for row in written:
        asked.setdefault(row.project_id, set()).update(_asked(row.rules))
    # Everybody is asked before the first row is written, and so locked.
    known = {project_id: _known(project_id, pairs) for project_id, pairs in asked.items() if pairs}
    for row in written:
        rules = _rewritten(row.rules, known.get(row.project_id, {}))
        if rules != row.rules:
            _write(apps, row, rules)


def _frozen(apps):
    """Unfinished runs, and the last one of each series."""
    runs = apps.get_model("campaigns", "Run").objects
    repeating = runs.filter(campaign__schedule_kind="recurring").exclude(occurrence="once")
    last = repeating.order_by("campaign_id", "-pk").distinct("campaign_id")
    unfinished = runs.filter(finished_at=None)
    return {*unfinished.values_list("pk", flat=True), *last.values_list("pk", flat=True)}


def _write(apps, row, rules):
    as_read = type(row).objects.filter(pk=row.pk, rules=row.rules)
    if row._meta.model_name == "run":
        as_read.update(rules=rules)
    # Whoever has the audience open saves over it only after having seen this.
    elif as_read.update(rules=rules, rules_before=row.rules, updated_at=timezone.now()):
        apps.get_model("notifications", "AuditEntry").objects.create(
            project_id=row.project_id,
            actor="carillon",
            action="changed",
            subject=f"audience {row.name}"[:100],
            changes={"rules": [row.rules, rules]},
        )


# --- What people hold -----------------------------------------------------------------------------


def _known(project_id, asked):
    """For each attribute and value: whether there are lists, and texts, and how lists spell it."""
    kinds = _kinds(project_id, sorted({name for name, _ in asked}))
    spelled = {pair: [pair[1]] for pair in asked}
    names, values = zip(*sorted(asked), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(SPELLINGS, [project_id, NEWEST, list(names), list(values)])
        for name, value, found in cursor.fetchall():
            if (one := json.loads(found)) != value and len(spelled[name, value]) < MOST_SPELLINGS:
                spelled[name, value].append(one)
    return {pair: (kinds.get(pair[0], BOTH), spelled[pair]) for pair in asked}


def _kinds(project_id, names):
    """Of attributes nobody has, and of all when everybody cannot be asked in time: nothing."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {round(MOST_SECONDS * 1000)}")
            cursor.execute(KINDS, [names, project_id])
            found = {name: (lists, texts) for name, lists, texts in cursor.fetchall()}
            cursor.execute("SET LOCAL statement_timeout = DEFAULT")
            return found
    except OperationalError:
        return {}


# --- The tree -------------------------------------------------------------------------------------


def _asked(tree):
    """(attribute, value) of each “contains”."""
    if "field" in tree:
        return {(tree["field"][len(PREFIX):], tree["value"])} if _is_meant(tree) else set()
    inner = tree.get("all") or tree.get("any") or ([tree["not"]] if "not" in tree else [])
    return {pair for one in inner for pair in _asked(one)}


def _is_meant(leaf):
    return leaf["op"] == "contains" and leaf["field"].startswith(PREFIX)


def _rewritten(tree, known):
    if "all" in tree:
        return {"all": [_rewritten(inner, known) for inner in tree["all"]]}
    if "any" in tree:  # what becomes two stands beside the others: no level is added
        return {"any": [one for inner in tree["any"] for one in _apart(inner, known)]}
    if "not" in tree:
        return {"not": _rewritten(tree["not"], known)}
    parts = _apart(tree, known)
    return parts[0] if len(parts) == 1 else {"any": parts}


def _apart(node, known):
    """A rule as the one or two that mean the same now."""
    if "field" not in node:
        return [_rewritten(node, known)]
    if not _is_meant(node):
        return [node]
    (lists, texts), spelled = known[node["field"][len(PREFIX):], node["value"]]
    if texts and not lists:
        return [node]
    has = {"field": node["field"], "op": "has", "value": node["value"]}
    if len(spelled) > 1:
        has |= {"op": "has_any", "value": spelled}
    return [node, has] if texts or not lists else [has]


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0011_audience_rules_before'),
        ('notifications', '0006_device_address_tail'),
    ]

    operations = [migrations.RunPython(ask_lists_what_they_hold, migrations.RunPython.noop)]
