"""Wrong inbox items: how many people of a correction still have the wrong text in their inbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection

from campaigns.audiences.rules import Broken
from campaigns.audiences.selection import compile_tree, people_and_devices
from campaigns.runs.run import Run
from campaigns.sending.inbox.run_items import reference_of, references_beside
from notifications.postgres.budget import TooSlow, statement_timeout

SECONDS = 0.5
COUNT = """
SELECT count(DISTINCT c.id) FROM {source}
JOIN notifications_inboxitem i ON i.contact_id = c.id AND i.reference = ANY(%s)
WHERE c.project_id = %s AND {fits}
"""


def count_before_launch(wrong: Run, rules: dict[str, Any]) -> int | None:
    """Count the people of an audience who have the text of this run, or of a correction of it, in
    their inbox. None if that takes too long."""
    references = [reference_of(pk) for pk in wrong.text_family()]
    return _count(wrong.project_id, rules, references)


def count_left(correction: Run) -> int | None:
    """Count the people of a launched correction who still have a wrong text in their inbox. None if
    that takes too long."""
    older, _newer = references_beside(correction)
    return _count(correction.project_id, correction.rules, older)


def _count(project_id: int, rules: dict[str, Any], references: Sequence[str]) -> int | None:
    try:
        fits = compile_tree(rules)
        statement = COUNT.format(source=people_and_devices(project_id), fits=fits.sql)
        with statement_timeout(seconds=SECONDS), connection.cursor() as cursor:
            cursor.execute(statement, [[*references], project_id, *fits.params])
            return int(cursor.fetchone()[0])
    except (TooSlow, Broken):
        return None
