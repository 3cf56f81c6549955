"""A rule on past runs: whether a person was planned, accepted, skipped … in them.

It covers one run, the runs of a campaign, or any run. It may also ask what the person's phone
reported (`reported.py`). It is about people, not devices: a person with one accepted device of two
was reached. Each run has a table of its own, indexed by person, so only named runs are read:
`resolving/` decides once which these are, and writes their ids into the rule.
"""

from __future__ import annotations

import json
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns.audiences.behavior import reported
from campaigns.audiences.behavior.kind import Kind, Named, Names, Sql
from campaigns.audiences.durations import duration_problem, parse_duration
from campaigns.runs import reasons
from campaigns.runs.reasons import Reason
from campaigns.runs.variants import group
from notifications.values.moments import in_words
from notifications.values.text import unstorable

FIELD = "run"
NEWEST = "last"
IN_INBOX = "in_inbox"  # now: an item that expired or was replaced does not count
OUTCOMES = {
    "planned": (
        gettext_lazy("was a recipient of {run}"),
        gettext_lazy("was not a recipient of {run}"),
    ),
    "accepted": (gettext_lazy("was reached by {run}"), gettext_lazy("was not reached by {run}")),
    "rejected": (
        gettext_lazy("was rejected{reason} in {run}"),
        gettext_lazy("was not rejected{reason} in {run}"),
    ),
    "skipped": (
        gettext_lazy("was skipped{reason} in {run}"),
        gettext_lazy("was not skipped{reason} in {run}"),
    ),
    "unknown": (
        gettext_lazy("has an unknown outcome{reason} in {run}"),
        gettext_lazy("has no unknown outcome{reason} in {run}"),
    ),
    "not_reached": (
        gettext_lazy("was a recipient of {run} and was not reached"),
        gettext_lazy("was not a recipient of {run}, or was reached"),
    ),
    IN_INBOX: (
        gettext_lazy("has the text of {run} in the inbox"),
        gettext_lazy("does not have the text of {run} in the inbox"),
    ),
    **reported.TOLD,
}
WITH_REASON = ("rejected", "skipped", "unknown")
WITH_REVISION = ("accepted", IN_INBOX, *WITH_REASON)
WITH_VARIANT = ("planned", *WITH_REVISION)
KEYS = {
    *("outcome", "reason", "variable", reported.CAN_TELL),
    *("campaign", "run", "within", "at_least", "revision", "variant"),
}
KEPT = "runs"  # the ids of the runs that it covers, set at a count or the start of a run
WHOLE = "whole"  # set if the rule is checked for everybody at once
AMONG = "among"  # first id, last id, and the people between them to whom it applies
FOUND_OUT = (KEPT, WHOLE, AMONG)
MAX_TIMES = 1_000
LONGEST = 100
MAX_RUNS = 30  # for one rule: each person is looked up in every one of them


def missing(variable: str) -> str:
    """The detail of a delivery that was skipped for lack of this value, in Liquid's words."""
    return f"'{variable}' is undefined"


def is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63


def _problem(op: str, value: Any) -> str:
    if not isinstance(value, dict) or "outcome" not in value:
        return _('must be such as {"outcome": "accepted", "run": "last"}.')
    if extra := set(value) - KEYS - set(FOUND_OUT):
        text = _("unknown key “%(key)s”. Use %(known)s.")
        return text % {"key": str(min(extra))[:50], "known": ", ".join(sorted(KEYS))}
    if value["outcome"] not in list(OUTCOMES):
        return _("“outcome” must be one of %(known)s.") % {"known": ", ".join(OUTCOMES)}
    return (
        _reason_problem(value)
        or _revision_problem(value)
        or _variant_problem(value)
        or reported.can_tell_problem(value)
        or _runs_problem(value)
        or _kept_problem(value.get(KEPT, []))
    )


def _reason_problem(value: dict[str, Any]) -> str:
    if "reason" not in value:
        return "" if "variable" not in value else _("“variable” needs the reason missing_value.")
    if value["outcome"] not in WITH_REASON:
        return _("“reason” can only be used with rejected, skipped and unknown.")
    known = ", ".join(Reason.values)
    if value["reason"] not in list(Reason.values):
        return _("“reason” must be one of %(known)s.") % {"known": known}
    return _variable_problem(value)


def _variable_problem(value: dict[str, Any]) -> str:
    if "variable" not in value:
        return ""
    name, lacks = value["variable"], value["reason"] == Reason.MISSING_VALUE
    if not lacks or not isinstance(name, str) or not 0 < len(name) <= LONGEST or unstorable(name):
        return _(
            "“variable” must be the name of a value, and can only be used with the "
            "reason missing_value."
        )
    return ""


def _revision_problem(value: dict[str, Any]) -> str:
    if "revision" not in value:
        return ""
    is_valid = is_id(value["revision"]) and value["revision"] < 2**15
    if not is_valid or not is_id(value.get("run")) or value["outcome"] not in WITH_REVISION:
        return _(
            "“revision” must be the number of a text, and can only be used with the id of a run "
            "and with accepted, in_inbox, rejected, skipped and unknown."
        )
    return ""


def _variant_problem(value: dict[str, Any]) -> str:
    if "variant" not in value:
        return ""
    is_valid = isinstance(value["variant"], str) and value["variant"] in group.NUMBERS
    if is_valid and is_id(value.get("run")) and value["outcome"] in WITH_VARIANT:
        return ""
    text = _(
        "“variant” must be one of %(known)s, and can only be used with the id of a run and with "
        "planned, accepted, in_inbox, rejected, skipped and unknown."
    )
    return text % {"known": ", ".join(group.NUMBERS)}


def _runs_problem(value: dict[str, Any]) -> str:
    for name in ("campaign", "run"):
        if name in value and not is_id(value[name]) and (name, value[name]) != ("run", NEWEST):
            if name == "campaign":
                return _("“campaign” must be the id of a campaign.")
            return _("“run” must be the id of a run, or “last”.")
    if problem := duration_problem(value.get("within", "P1D")):
        return f"“within” {problem}"
    times = value.get("at_least", 1)
    if not is_id(times) or times > MAX_TIMES:
        return _("“at_least” must be a whole number from 1 to %(most)s.") % {"most": MAX_TIMES}
    if times > 1 and "run" in value:
        return _("in one run it happens once: leave out “at_least”, or “run”.")
    return ""


def _kept_problem(runs: Any) -> str:
    is_valid = isinstance(runs, list) and len(runs) <= MAX_RUNS and all(map(is_id, runs))
    return "" if is_valid else _("“runs” must be a list of ids.")


# --- SQL ------------------------------------------------------------------------------------------

OF_PERSON = "campaigns_recipient r WHERE r.contact_id = c.id AND r.run_id = ANY(%s)"
# The run is named on both sides, so that PostgreSQL skips other runs' tables on both.
FINAL = (
    "campaigns_recipient r JOIN campaigns_delivery x ON x.run_id = r.run_id AND x.seq = r.seq"
    " WHERE r.contact_id = c.id AND r.run_id = ANY(%s) AND x.run_id = ANY(%s) AND x.status = %s"
)
# A run stores its inbox items under this reference.
ITEM = (
    "notifications_inboxitem i ON i.contact_id = r.contact_id AND i.reference = 'run ' || r.run_id"
)
HAVE_ITEM = f"campaigns_recipient r JOIN {ITEM} WHERE r.contact_id = c.id AND r.run_id = ANY(%s)"
NOT_REACHED = (
    # People of the control group and the holdout get nothing on purpose, so they do not count.
    f"{OF_PERSON} AND COALESCE(r.variant, 0) >= 0"
    " AND NOT EXISTS (SELECT 1 FROM campaigns_recipient one"
    " JOIN campaigns_delivery x ON x.run_id = one.run_id AND x.seq = one.seq"
    " WHERE one.contact_id = r.contact_id AND one.run_id = r.run_id"
    " AND one.run_id = ANY(%s) AND x.run_id = ANY(%s) AND x.status = 'accepted')"
)


def _rows(value: dict[str, Any]) -> Sql:
    runs = value[KEPT]
    if value["outcome"] in reported.TOLD:
        return reported.rows(value, runs)
    if value["outcome"] == "planned":
        return _with_variant(Sql(OF_PERSON, [runs]), value)
    if value["outcome"] == "not_reached":
        return Sql(NOT_REACHED, [runs, runs, runs])
    if value["outcome"] == IN_INBOX:
        return _of_item(Sql(HAVE_ITEM, [runs]), value)
    narrower = _extra_conditions(value)
    params = [runs, runs, value["outcome"], *narrower.params]
    return _with_variant(Sql(f"{FINAL}{narrower.sql}", params), value)


def _extra_conditions(value: dict[str, Any]) -> Sql:
    """Further conditions on a delivery: reason, revision, and the variable that was missing."""
    columns = {"reason": value.get("reason"), "revision": value.get("revision")}
    if variable := value.get("variable"):
        columns["detail"] = missing(variable)
    filters = {name: expected for name, expected in columns.items() if expected}
    return Sql("".join(f" AND x.{name} = %s" for name in filters), [*filters.values()])


def _sql(op: str, value: Any) -> Sql:
    condition = _exists_sql(_rows(value), value) if value[KEPT] else Sql("FALSE")
    if value[KEPT] and AMONG in value:
        condition = _use_stored(value, condition)
    return condition if op == "was" else Sql(f"(NOT {condition.sql})", condition.params)


# For one run: the people of a range of ids to whom the rule applies.
PLANNED_IN = (
    "SELECT r.contact_id, r.run_id FROM campaigns_recipient r"
    " WHERE r.run_id = %s AND r.contact_id BETWEEN %s AND %s"
)
ENDED_IN = (
    "SELECT r.contact_id, r.run_id FROM campaigns_recipient r"
    " JOIN campaigns_delivery x ON x.run_id = %s AND x.seq = r.seq"
    " WHERE r.run_id = %s AND r.contact_id BETWEEN %s AND %s AND x.status = %s"
)
HAVE_ITEM_IN = (
    f"SELECT r.contact_id, r.run_id FROM campaigns_recipient r JOIN {ITEM}"
    " WHERE r.run_id = %s AND r.contact_id BETWEEN %s AND %s"
)
NOT_REACHED_IN = (
    "SELECT r.contact_id, r.run_id FROM campaigns_recipient r"
    " LEFT JOIN campaigns_delivery x ON x.run_id = %s AND x.seq = r.seq AND x.status = 'accepted'"
    " WHERE r.run_id = %s AND r.contact_id BETWEEN %s AND %s AND COALESCE(r.variant, 0) >= 0"
    " GROUP BY r.contact_id, r.run_id HAVING count(x.seq) = 0"
)


def of_people(value: dict[str, Any], first: int, last: int) -> Sql:
    """A SELECT of the people, from the first id to the last, to whom a settled rule applies.

    It reads this range of each run once, instead of looking up each person in 30 runs.
    """
    selects = [_in_run(value, run, [first, last]) for run in value[KEPT]]
    rows = " UNION ALL ".join(select.sql for select in selects)
    times = value.get("at_least", 1)
    often = f" HAVING count(DISTINCT run_id) >= {int(times)}" if times > 1 else ""
    sql = f"SELECT contact_id FROM ({rows}) found GROUP BY contact_id{often}"
    return Sql(sql, [param for select in selects for param in select.params])


def _use_stored(value: dict[str, Any], one_by_one: Sql) -> Sql:
    """Use the stored answer. People outside its range, e.g. a device's new owner, are looked up."""
    first, last, matches = value[AMONG]
    in_range = "c.id BETWEEN %s AND %s THEN c.id = ANY(%s::bigint[])"
    return Sql(
        f"(CASE WHEN {in_range} ELSE {one_by_one.sql} END)",
        [first, last, matches, *one_by_one.params],
    )


def _in_run(value: dict[str, Any], run: int, people: list[int]) -> Sql:
    if value["outcome"] in reported.TOLD:
        return reported.in_run(value, run, people)
    if value["outcome"] == "planned":
        return _with_variant(Sql(PLANNED_IN, [run, *people]), value)
    if value["outcome"] == "not_reached":
        return Sql(NOT_REACHED_IN, [run, run, *people])
    if value["outcome"] == IN_INBOX:
        return _of_item(Sql(HAVE_ITEM_IN, [run, *people]), value)
    narrower = _extra_conditions(value)
    params = [run, run, *people, value["outcome"], *narrower.params]
    return _with_variant(Sql(f"{ENDED_IN}{narrower.sql}", params), value)


def _of_item(rows: Sql, value: dict[str, Any]) -> Sql:
    """Narrow inbox items by variant and revision: the revision of the text that an item has now."""
    if revision := value.get("revision"):
        rows = Sql(f"{rows.sql} AND i.revision = %s", [*rows.params, revision])
    return _with_variant(rows, value)


def _with_variant(rows: Sql, value: dict[str, Any]) -> Sql:
    if variant := value.get("variant"):
        return Sql(f"{rows.sql} AND r.variant = %s", [*rows.params, group.NUMBERS[variant]])
    return rows


def _exists_sql(rows: Sql, value: dict[str, Any]) -> Sql:
    """A condition that there are such rows, in enough runs.

    For everybody, EXISTS becomes a join with a run (4 s for a million people). For a part of the
    people, a count looks up each person (5 µs per run): it cannot become a join, which would read
    whole runs for a few people. LIMIT stops at the first run that matches.
    """
    times = value.get("at_least", 1)
    if times > 1:
        count = f"SELECT count(DISTINCT r.run_id) FROM {rows.sql}"
        return Sql(f"(({count}) >= %s)", [*rows.params, times])
    if value.get(WHOLE):
        return Sql(f"EXISTS (SELECT FROM {rows.sql})", rows.params)
    first_match = f"SELECT count(*) FROM (SELECT FROM {rows.sql} LIMIT 1) one"
    return Sql(f"(({first_match}) = 1)", rows.params)


def looks(value: Any) -> int:
    """In how many runs a settled rule looks up each person."""
    return len(value[KEPT])


def _seen(op: str, value: Any) -> Sql:
    """SQL of what the rule found for a person, as JSON.

    It has the number of these runs that the person was in, the newest of them, and each device's
    result there; for a rule on reports, also the reports.
    """
    if not value[KEPT]:
        return Sql("'[]'::text")
    is_reported = value["outcome"] in reported.TOLD
    more, of_more = (reported.SEEN, reported.SEEN_OF) if is_reported else ("", "")
    return Sql(
        "(SELECT json_build_array(count(DISTINCT r.run_id), max(r.run_id),"
        " array_agg(DISTINCT COALESCE(x.status || ' ' || x.reason, 'waiting'))"
        f" FILTER (WHERE r.run_id = newest.id){more})::text FROM campaigns_recipient r"
        " LEFT JOIN campaigns_delivery x"
        f" ON x.run_id = r.run_id AND x.seq = r.seq AND x.run_id = ANY(%s){of_more}"
        " CROSS JOIN (SELECT max(run_id) AS id FROM campaigns_recipient"
        " WHERE contact_id = c.id AND run_id = ANY(%s)) newest"
        " WHERE r.contact_id = c.id AND r.run_id = ANY(%s))",
        [value[KEPT]] * 3,
    )


# --- Words ----------------------------------------------------------------------------------------


def _words(op: str, value: Any, names: Names) -> str:
    is_reported = value["outcome"] in reported.TOLD
    positive, negative = reported.words_of(value) if is_reported else OUTCOMES[value["outcome"]]
    reason = value.get("reason")
    of_reason = f" ({_describe_reason(value)})" if reason else ""
    pattern = str(positive if op == "was" else negative)
    text = pattern.format(reason=of_reason, run=_describe_run(value, names))
    times = value.get("at_least", 1)
    if times > 1:
        often = ngettext("at least {count} time", "at least {count} times", times)
        text = f"{text}, {often.format(count=times)}"
    return text


def _describe_reason(value: dict[str, Any]) -> str:
    if variable := value.get("variable"):
        return _("for lack of “{variable}”").format(variable=variable)
    return reasons.in_words(value["reason"])


def _describe_run(value: dict[str, Any], names: Names) -> str:
    run, campaign = value.get("run"), value.get("campaign")
    called = names.get(("campaign", campaign or 0)) or _("campaign {id}").format(id=campaign)
    if run == NEWEST:
        which = _("the last run of {campaign}") if campaign else _("the last run")
    elif run:
        called = names.get(("run", run)) or "–"
        which = _("run {run} of {campaign}")
    else:
        which = _("a run of {campaign}") if campaign else _("any run")
    text = which.format(run=run, campaign=called)
    if revision := value.get("revision"):
        text = _("{run} (revision {number} of its text)").format(run=text, number=revision)
    if variant := value.get("variant"):
        text = f"{text} ({group.in_words(group.NUMBERS[variant])})"
    if within := value.get("within"):
        span = in_words(parse_duration(within))
        text = _("{run} within the last {span}").format(run=text, span=span)
    return text


def _shown(seen: str, zone: str) -> str:
    count, newest, ends, *reports = json.loads(seen) or (0, None, None)
    if not count:
        return _("was in none of these runs")
    text = ", ".join(dict.fromkeys(map(_end, ends or [])))
    if reports:
        text = f"{text}; {reported.describe_reports(*reports)}"
    in_newest = _("run {run}: {ends}").format(run=newest, ends=text)
    more = ngettext("was in {count} run", "was in {count} runs", count).format(count=count)
    return in_newest if count == 1 else f"{more}; {in_newest}"


def _end(end: str) -> str:
    status, _space, reason = end.partition(" ")
    words = {
        "accepted": _("accepted"),
        "rejected": _("rejected"),
        "skipped": _("skipped"),
        "unknown": _("unknown outcome"),
        "waiting": _("no outcome yet"),
    }
    text = words.get(status, status)
    return f"{text} ({reasons.in_words(reason)})" if reason else text


def _names(value: Any) -> list[Named]:
    if not isinstance(value, dict):
        return []
    return [(name, value[name]) for name in ("campaign", "run") if is_id(value.get(name))]


KIND = Kind(
    ops={"was": "was_not", "was_not": "was"},
    problem=_problem,
    sql=_sql,
    words=_words,
    seen=_seen,
    shown=_shown,
    names=_names,
    kept=FOUND_OUT,
    costly=True,
)
