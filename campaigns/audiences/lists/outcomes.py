"""Rules that find the people with an outcome in a run, for lists and for “send to the rest”."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connection

from campaigns.audiences.behavior import reported
from campaigns.audiences.behavior.past import FIELD, ITEM, missing
from campaigns.audiences.selection import people_and_devices
from campaigns.runs.run import Run
from notifications.people.consent import eligibility
from notifications.postgres.budget import TooSlow, statement_timeout

COUNTING_SECONDS = 2.0
LOOKING_SECONDS = 0.1  # for a page that only needs to know whether there is anybody


def of_run(run: Run, outcome: str, **more: Any) -> dict[str, Any]:
    """Rules for people with this outcome on any device; `not_reached`: accepted on none."""
    return _rule(run, "was", outcome, **more)


def rest(run: Run, *, with_unknown: bool) -> dict[str, Any]:
    """Rules for people who certainly did not get it; `with_unknown` adds those who may have."""
    reached = [_rule(run, "was", "not_reached")]
    surely = [] if with_unknown else [_rule(run, "was_not", "unknown")]
    return {"all": [*reached, *surely]}


def not_planned(run: Run) -> dict[str, Any]:
    """Rules for people who were not chosen for the run."""
    return _rule(run, "was_not", "planned")


def _rule(run: Run, op: str, outcome: str, **more: Any) -> dict[str, Any]:
    return {"field": FIELD, "op": op, "value": {"outcome": outcome, "run": run.pk, **more}}


# People to whom one may send again. `unsure`: they may have got it, or opened it; nobody knows.
MISSED = """
SELECT r.contact_id, COALESCE(bool_or(x.status = 'unknown'), FALSE) AS unsure
FROM campaigns_recipient r
LEFT JOIN campaigns_delivery x ON x.run_id = %(run)s AND x.seq = r.seq
WHERE r.run_id = %(run)s AND COALESCE(r.variant, 0) >= 0
GROUP BY r.contact_id HAVING bool_or(x.status = 'accepted') IS NOT TRUE
"""
UNOPENED = reported.UNOPENED
GOT = """
SELECT r.contact_id, bool_and(x.status <> 'accepted') AS unsure
FROM campaigns_recipient r
JOIN campaigns_delivery x ON x.run_id = %(run)s AND x.seq = r.seq
WHERE r.run_id = %(run)s AND x.status IN ('accepted', 'unknown')
GROUP BY r.contact_id
"""
# Some of these people got no push, and find the text only in their inbox.
IN_INBOX = f"""
SELECT r.contact_id, FALSE AS unsure FROM campaigns_recipient r JOIN {ITEM}
WHERE r.run_id = %(run)s GROUP BY r.contact_id
"""
GOT_OR_IN_INBOX = f"""
SELECT contact_id, bool_and(unsure) AS unsure
FROM ({GOT} UNION ALL {IN_INBOX}) found GROUP BY contact_id
"""


def got(run: Run) -> str:
    """SQL of the people whom the run's text reached, or may have reached."""
    return GOT_OR_IN_INBOX if run.inbox else GOT


def count(run_id: int, whom: str, *, seconds: float = COUNTING_SECONDS) -> tuple[int, int] | None:
    """Count people, and how many of them are unsure; None if counting takes too long.

    `whom`: one of the statements above. People erased since are included.
    """
    try:
        with statement_timeout(seconds=seconds), connection.cursor() as cursor:
            cursor.execute(
                f"SELECT count(*), count(*) FILTER (WHERE unsure) FROM ({whom}) person",
                {"run": run_id},
            )
            people, unsure = cursor.fetchone()
            return people, unsure
    except TooSlow:
        return None


@dataclass(frozen=True)
class Reachable:
    """How many people a new campaign would be sent to now, and why not to the others."""

    people: int
    unsure: int  # of these, people who may have got the run, or opened it; nobody knows
    kept_back: dict[str, int]  # by reason: suppressed, unsubscribed, no_device


# The same devices as in the selection: retired ones, and those unseen for too long, do not count.
REACHABLE = """
WITH rest AS ({whom}), judged AS (
    SELECT c.id, rest.unsure, {out} AS out, count(d.id) AS devices
    FROM {source} {standing} JOIN rest ON rest.contact_id = c.id
    GROUP BY c.id, rest.unsure, 3
)
SELECT CASE WHEN out = '' AND devices = 0 THEN 'no_device' ELSE out END, unsure, count(*)
FROM judged GROUP BY 1, 2
"""


def reachable(run: Run, whom: str, *, seconds: float = COUNTING_SECONDS) -> Reachable | None:
    """How many of these people a campaign would reach now; None if counting takes too long."""
    statement = REACHABLE.format(
        whom=whom,
        out=eligibility.skip_reason_sql(),
        source=people_and_devices(run.project_id),
        standing=eligibility.JOIN,
    )
    try:
        with statement_timeout(seconds=seconds), connection.cursor() as cursor:
            cursor.execute(statement, {**run.campaign.asks, "run": run.pk})
            rows = cursor.fetchall()
    except TooSlow:
        return None
    kept_back: dict[str, int] = {}
    for why, _unsure, people in rows:
        kept_back[why] = kept_back.get(why, 0) + people
    unsure = sum(people for why, maybe, people in rows if not why and maybe)
    return Reachable(kept_back.pop("", 0), unsure, kept_back)


MAX_VARIABLES = 20


def reasons_of(run: Run) -> list[tuple[str, str]]:
    """The reasons of the recipients, each with its outcome."""
    with connection.cursor() as cursor:
        cursor.execute(REASONS, {"run": run.pk})
        return [(status, reason) for status, reason in cursor.fetchall()]


# The chunks' sums have the reasons; the rows of one chunk with a reason give its outcome.
REASONS = """
SELECT DISTINCT x.status, named.reason
FROM (
    SELECT DISTINCT jsonb_object_keys(reasons) AS reason
    FROM campaigns_chunk WHERE run_id = %(run)s
) named
CROSS JOIN LATERAL (
    SELECT first_seq, last_seq FROM campaigns_chunk
    WHERE run_id = %(run)s AND reasons ? named.reason LIMIT 1
) k
JOIN campaigns_delivery x
    ON x.run_id = %(run)s AND x.seq BETWEEN k.first_seq AND k.last_seq AND x.reason = named.reason
ORDER BY 1, 2
"""


def variables_missing(run: Run) -> list[str]:
    """The variables for lack of which people were skipped; empty if the search takes too long."""
    pattern = missing("%")
    try:
        with statement_timeout(seconds=COUNTING_SECONDS / 2), connection.cursor() as cursor:
            cursor.execute(
                "SELECT split_part(detail, %s, 2) FROM campaigns_delivery"
                " WHERE run_id = %s AND status = 'skipped' AND reason = 'missing_value'"
                " AND detail LIKE %s GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT %s",
                ["'", run.pk, pattern, MAX_VARIABLES],
            )
            return [row[0] for row in cursor.fetchall()]
    except TooSlow:
        return []
