"""Record: the only code that writes people's consent answers, for one person or a million.

The newest answer counts, in whatever order answers arrive. An answer older than the stored one
changes nothing. Of two answers with the same time, the no wins. People are locked in the registry's
order, by external id. If the process dies here: nothing of the call is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from notifications.people.project import Project
from notifications.values.registry import Registry

EVERYTHING = ""  # the category of an answer about all marketing: subscribed or not


@dataclass(frozen=True, slots=True)
class ConsentAnswer:
    """A person's answer about a category.

    Without a time, a yes counts from the beginning of the call, and a no from now, so that no
    stored answer is newer.
    """

    external_id: str
    category: str
    wanted: bool
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StoredAnswers:
    """Answers that are in PostgreSQL already: a SELECT of (external_id, category, wanted, at)."""

    sql: str
    params: Mapping[str, Any] = field(default_factory=dict)  # of this SELECT, by name


GIVEN = """
SELECT * FROM unnest(%(ids)s::text[], %(categories)s::text[], %(wanted)s::bool[],
    %(times)s::timestamptz[]) AS word (external_id, category, wanted, at)
"""


def record_answers(
    project: Project,
    words: Sequence[ConsentAnswer],
    *,
    source: str,
    by: str,
    now: datetime,
    careful: bool = False,
) -> int:
    """Write people's answers; unknown people are skipped. Returns how many answers changed.

    `careful`: a yes without a time, or from the future, has no effect: people who never said no are
    subscribed anyway, and any answer with a time takes precedence.
    """
    if not words:
        return 0
    params = {
        "ids": [word.external_id for word in words],
        "categories": [word.category for word in words],
        "wanted": [word.wanted for word in words],
        "times": [word.at for word in words],
    }
    return record_stored_answers(
        project, StoredAnswers(GIVEN, params), source=source, by=by, now=now, careful=careful
    )


HOLD = """
SELECT count(*) FROM (
    SELECT c.id FROM notifications_contact c
    WHERE c.project_id = %(project)s AND c.external_id IN (SELECT external_id FROM ({given}) g)
    ORDER BY c.external_id FOR NO KEY UPDATE
) held
"""
# Joins each stored answer with the new one, and then keeps the new ones that change it. A time in
# the future counts as now: a clock that is ahead must not fix an answer for ever. A no without a
# time is newer than every stored answer, whichever server's clock wrote that. A yes is not: its
# call may have waited here while a later call said no.
SAY = """
WITH said AS (
    SELECT DISTINCT ON (c.id, given.category) c.id, given.category, given.wanted, word.at,
        known.wanted AS was, known.at AS since
    FROM ({given}) given
    JOIN notifications_contact c
        ON c.project_id = %(project)s AND c.external_id = given.external_id
    CROSS JOIN LATERAL (
        SELECT CASE given.category WHEN '' THEN c.subscribed
                ELSE COALESCE((c.preferences -> given.category ->> 'wanted')::bool, TRUE)
            END AS wanted,
            CASE given.category WHEN '' THEN c.subscribed_at
                ELSE (c.preferences -> given.category ->> 'at')::timestamptz
            END AS at
    ) known
    CROSS JOIN LATERAL (
        SELECT CASE WHEN given.at IS NULL AND NOT given.wanted
            THEN GREATEST(%(now)s, known.at + interval '1 microsecond')
            ELSE LEAST(given.at, %(now)s) END AS at
    ) word
    WHERE NOT (%(careful)s AND given.wanted AND (given.at IS NULL OR given.at > %(now)s))
    ORDER BY c.id, given.category, word.at DESC, given.wanted
), news AS (
    SELECT * FROM said
    WHERE since IS NULL OR at > since OR (at = since AND was AND NOT wanted)
), answers AS (
    SELECT id,
        bool_and(wanted) FILTER (WHERE category = '') AS subscribed,
        max(at) FILTER (WHERE category = '') AS subscribed_at,
        jsonb_object_agg(category, jsonb_build_object(
            'wanted', wanted, 'from', %(source)s::text,
            'at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
        )) FILTER (WHERE category <> '') AS preferences
    FROM news GROUP BY id
), written AS (
    UPDATE notifications_contact c SET
        subscribed = COALESCE(answers.subscribed, c.subscribed),
        subscribed_at = COALESCE(answers.subscribed_at, c.subscribed_at),
        subscribed_from = CASE WHEN answers.subscribed IS NULL THEN c.subscribed_from
            ELSE %(source)s END,
        preferences = c.preferences || COALESCE(answers.preferences, '{{}}'),
        updated_at = %(now)s
    FROM answers WHERE c.id = answers.id
)
INSERT INTO notifications_consentchange
    (project_id, contact_id, category, wanted, at, source, by)
SELECT %(project)s, id, category, wanted, at, %(source)s, %(by)s
FROM news WHERE since IS NULL OR wanted <> was
ORDER BY id, category
"""
WANTED = "opt_out"
ANSWERED = """
RETURNING category, wanted, at, source,
    (SELECT external_id FROM notifications_contact c WHERE c.id = contact_id)
"""


@dataclass(frozen=True, slots=True)
class OptOut:
    """A changed answer. Listeners get only opt-outs, so `wanted` is False."""

    category: str
    wanted: bool
    at: datetime
    source: str
    external_id: str


# Called inside the transaction that writes the answers, if an endpoint wants opt-outs.
on_opt_outs = Registry[Callable[[Project, list[OptOut]], object]]()


def record_stored_answers(
    project: Project,
    given: StoredAnswers,
    *,
    source: str,
    by: str,
    now: datetime,
    careful: bool = False,
) -> int:
    """Like `say`, for any number of answers in a table, such as an import's."""
    ours = {"project": project.pk, "source": source, "by": by, "now": now, "careful": careful}
    params = {**given.params, **ours}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(HOLD.format(given=given.sql), params)
        # Only a statement that begins after the locks were taken sees what others wrote before.
        returning = ANSWERED if WANTED in project.wanted_reports else ""
        cursor.execute(SAY.format(given=given.sql) + returning, params)
        changed: int = cursor.rowcount
        if returning and (nos := [no for no in (OptOut(*row) for row in cursor) if not no.wanted]):
            for listener in on_opt_outs:
                listener(project, nos)
    return changed
