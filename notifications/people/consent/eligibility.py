"""Standing: who must not get a message now, as SQL for any statement about people.

Marketing goes to people who are subscribed and did not decline its category. Other kinds ignore
both. Suppressed people get no messages of any kind.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.db import connection

from notifications.people.consent.category import Category
from notifications.postgres.budget import TooSlow, statement_timeout

COUNTING_SECONDS = 1.0
REASONS = SUPPRESSED, UNSUBSCRIBED = "suppressed", "unsubscribed"


# Joins a person `c` with their suppression, if there is one.
JOIN = """LEFT JOIN notifications_suppression suppressed
    ON suppressed.project_id = c.project_id AND suppressed.external_id = c.external_id"""


def skip_reason_sql(marketing: str = "%(marketing)s", category: str = "%(category)s") -> str:
    """An SQL expression: why the person must not get a message; empty if they may.

    It needs JOIN and the two params of `asked_of`.
    """
    return f"""CASE WHEN suppressed.id IS NOT NULL THEN '{SUPPRESSED}'
    WHEN {marketing} AND (
        NOT c.subscribed OR c.preferences -> {category} ->> 'wanted' = 'false'
    ) THEN '{UNSUBSCRIBED}' ELSE '' END"""


# Served by the indexes of people who opted out, or answered anything.
OUT_OF_MARKETING = """
SELECT count(*) FROM notifications_contact c WHERE c.project_id = %(project)s AND (
    NOT c.subscribed OR
    (NOT (c.preferences = '{}'::jsonb) AND c.preferences -> %(slug)s ->> 'wanted' = 'false')
)
"""


def out_of_marketing(category: Category) -> int | None:
    """How many people a marketing category does not reach; None: counting takes too long."""
    params: dict[str, Any] = {"project": category.project_id, "slug": category.slug}
    with (
        suppress(TooSlow),
        statement_timeout(seconds=COUNTING_SECONDS),
        connection.cursor() as cursor,
    ):
        cursor.execute(OUT_OF_MARKETING, params)
        found: int = cursor.fetchone()[0]
        return found
    return None


def skip_reason_params(kind: str, slug: str) -> dict[str, Any]:
    """The params of `out` for a message's category. Without one, it is general marketing."""
    return {"marketing": kind in ("", Category.Kind.MARKETING), "category": slug}
