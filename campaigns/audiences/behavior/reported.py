"""What phones reported of a run, for rules on past runs: who received or opened it, who did not.

A report is a fact; a missing report is none. If a person's phone reports nothing, nobody knows
whether they opened anything. `not_opened` includes these people, unless `can_tell` is set.
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.audiences.behavior.kind import Sql
from campaigns.engagement.receipt import STEPS, Event

NOT_OPENED = "not_opened"
CAN_TELL = "can_tell"  # with not_opened: only people whose phones that may have got it all report
TOLD = {
    "received": (
        gettext_lazy("received {run}"),
        gettext_lazy("is not known to have received {run}"),
    ),
    "displayed": (
        gettext_lazy("was shown {run}"),
        gettext_lazy("is not known to have been shown {run}"),
    ),
    "opened": (
        gettext_lazy("opened {run}"),
        gettext_lazy("is not known to have opened {run}"),
    ),
    "dismissed": (
        gettext_lazy("dismissed {run}"),
        gettext_lazy("is not known to have dismissed {run}"),
    ),
    "action_1": (
        gettext_lazy("pressed button 1 of {run}"),
        gettext_lazy("is not known to have pressed button 1 of {run}"),
    ),
    "action_2": (
        gettext_lazy("pressed button 2 of {run}"),
        gettext_lazy("is not known to have pressed button 2 of {run}"),
    ),
    "action_3": (
        gettext_lazy("pressed button 3 of {run}"),
        gettext_lazy("is not known to have pressed button 3 of {run}"),
    ),
    NOT_OPENED: (
        gettext_lazy("was reached by {run} and is not known to have opened it"),
        gettext_lazy("was not reached by {run}, or opened it"),
    ),
}
OF_THOSE_WHO_CAN_TELL = (
    gettext_lazy("was reached by {run}, can tell of it, and did not open it"),
    gettext_lazy("was not reached by {run}, cannot tell of it, or opened it"),
)
# The reports that prove each step: any report proves “received”; any other one, “displayed”.
BY = {
    "received": tuple(Event),
    "displayed": tuple(event for event in Event if event != Event.RECEIVED),
    **{event.name.lower(): (event,) for event in Event if event not in STEPS},
    "opened": (Event.OPENED,),
}


def can_tell_problem(value: dict[str, Any]) -> str:
    if CAN_TELL not in value:
        return ""
    if value["outcome"] != NOT_OPENED:
        return _("“can_tell” can only be used with not_opened.")
    return "" if value[CAN_TELL] is True else _("“can_tell” must be true, or be left out.")


def words_of(value: dict[str, Any]) -> tuple[Any, Any]:
    return OF_THOSE_WHO_CAN_TELL if CAN_TELL in value else TOLD[value["outcome"]]


# --- SQL ------------------------------------------------------------------------------------------

# Whether a device reports, as the funnel counts it: it reported a step before the run began, or a
# step of this message.
TELLS = (
    "(EXISTS (SELECT 1 FROM campaigns_receipt of_it WHERE of_it.run_id = {one}.run_id"
    f" AND of_it.seq = {{one}}.seq AND of_it.event <= {STEPS[-1].value})"
    " OR EXISTS (SELECT 1 FROM campaigns_reporter known WHERE known.device_id = {one}.device_id"
    f" AND known.event <= {STEPS[-1].value}"
    " AND known.since < (SELECT started_at FROM campaigns_run WHERE id = {one}.run_id)))"
)
REPORTED = (
    "campaigns_recipient r JOIN campaigns_receipt t ON t.run_id = r.run_id AND t.seq = r.seq"
    " WHERE r.contact_id = c.id AND r.run_id = ANY(%s) AND t.run_id = ANY(%s) AND t.event = ANY(%s)"
)
ACCEPTED = (
    "campaigns_recipient r JOIN campaigns_delivery x ON x.run_id = r.run_id AND x.seq = r.seq"
    " WHERE r.contact_id = c.id AND r.run_id = ANY(%s) AND x.run_id = ANY(%s)"
    " AND x.status = 'accepted'"
)
# Whether the same person opened it on any device, in the same run.
OPENED_ON_ONE = (
    "EXISTS (SELECT 1 FROM campaigns_recipient one"
    " JOIN campaigns_receipt t ON t.run_id = one.run_id AND t.seq = one.seq"
    " WHERE one.contact_id = r.contact_id AND one.run_id = r.run_id"
    f" AND one.run_id = ANY(%s) AND t.run_id = ANY(%s) AND t.event = {Event.OPENED.value})"
)
# Whether any of the person's devices may have got it, and does not report.
SILENT_ON_ONE = (
    "EXISTS (SELECT 1 FROM campaigns_recipient one"
    " JOIN campaigns_delivery x ON x.run_id = one.run_id AND x.seq = one.seq"
    " WHERE one.contact_id = r.contact_id AND one.run_id = r.run_id"
    " AND one.run_id = ANY(%s) AND x.run_id = ANY(%s) AND x.status IN ('accepted', 'unknown')"
    f" AND NOT {TELLS.format(one='one')})"
)


def rows(value: dict[str, Any], runs: list[int]) -> Sql:
    """A FROM item: the rows of one person in these runs to which the rule applies."""
    if value["outcome"] != NOT_OPENED:
        return Sql(REPORTED, [runs, runs, list(BY[value["outcome"]])])
    sql = f"{ACCEPTED} AND NOT {OPENED_ON_ONE}"
    if CAN_TELL in value:
        return Sql(f"{sql} AND NOT {SILENT_ON_ONE}", [runs] * 6)
    return Sql(sql, [runs] * 4)


REPORTED_IN = (
    "SELECT r.contact_id, r.run_id FROM campaigns_recipient r"
    " JOIN campaigns_receipt t ON t.run_id = %s AND t.seq = r.seq"
    " WHERE r.run_id = %s AND r.contact_id BETWEEN %s AND %s AND t.event = ANY(%s)"
)
UNOPENED_BY_ALL = "bool_or(x.status = 'accepted') AND count(t.seq) = 0"
NOT_OPENED_IN = (
    "SELECT r.contact_id, r.run_id FROM campaigns_recipient r"
    " LEFT JOIN campaigns_delivery x ON x.run_id = %s AND x.seq = r.seq"
    " LEFT JOIN campaigns_receipt t ON t.run_id = %s AND t.seq = r.seq"
    f" AND t.event = {Event.OPENED.value}"
    " WHERE r.run_id = %s AND r.contact_id BETWEEN %s AND %s"
    " GROUP BY r.contact_id, r.run_id"
    f" HAVING {UNOPENED_BY_ALL}"
)
ALL_TELL = (
    "bool_and(x.status IS NULL OR x.status NOT IN ('accepted', 'unknown')"
    f" OR {TELLS.format(one='r')})"
)


def in_run(value: dict[str, Any], run: int, people: list[int]) -> Sql:
    """A SELECT of the people, from the first id to the last, to whom the rule applies in a run."""
    if value["outcome"] != NOT_OPENED:
        return Sql(REPORTED_IN, [run, run, *people, list(BY[value["outcome"]])])
    sql = f"{NOT_OPENED_IN} AND {ALL_TELL}" if CAN_TELL in value else NOT_OPENED_IN
    return Sql(sql, [run, run, run, *people])


# All people of one run who are not known to have opened it. `unsure`: one of their devices does not
# report, so they may have opened it.
UNOPENED = (
    f"SELECT r.contact_id, NOT {ALL_TELL} AS unsure"
    " FROM campaigns_recipient r"
    " LEFT JOIN campaigns_delivery x ON x.run_id = %(run)s AND x.seq = r.seq"
    " LEFT JOIN campaigns_receipt t ON t.run_id = %(run)s AND t.seq = r.seq"
    f" AND t.event = {Event.OPENED.value}"
    " WHERE r.run_id = %(run)s"
    f" GROUP BY r.contact_id HAVING {UNOPENED_BY_ALL}"
)


# --- What the rule found --------------------------------------------------------------------------

# For one person in the run `newest`: what was reported, and whether each of their phones reports.
SEEN = (
    ", array_agg(DISTINCT t.event) FILTER (WHERE t.event IS NOT NULL AND r.run_id = newest.id)"
    f", bool_and({TELLS.format(one='r')}) FILTER"
    " (WHERE r.run_id = newest.id AND x.status IN ('accepted', 'unknown'))"
)
SEEN_OF = " LEFT JOIN campaigns_receipt t ON t.run_id = r.run_id AND t.seq = r.seq"


def describe_reports(events: list[int] | None, tells: bool | None) -> str:
    """What was reported, in words, or why nothing is known."""
    known = [Event(event).label for event in sorted(events or []) if event in Event.values]
    if known:
        return _("reported: {events}").format(events=", ".join(map(str, known)))
    return _("nothing reported, and it cannot tell") if tells is False else _("nothing reported")
