"""Due: which days have messages to single people that may be taken now.

Taking one message costs nearly as much as taking a hundred. So messages that come soon after a
taking wait to be taken together; the first one after a silence does not wait.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import connection

GATHERING = timedelta(milliseconds=200)

# Chunks of a day to take again: their retries are due, or their worker died.
TO_TRY_AGAIN = """(
    state = 'waiting' AND COALESCE(not_before, '-infinity') <= statement_timestamp()
)"""

# A message that was already due at the last taking does not wait: it was too much for one chunk, or
# of another category. Subqueries let each day use its own index.
WAITS = f"""
SELECT id, CASE WHEN again OR first_at <= taken_at OR taken_at IS NULL THEN 0 ELSE
    greatest(0, extract(epoch FROM taken_at + %(gathering)s - statement_timestamp())) END
FROM (
    SELECT run.id, run.taken_at, (
        SELECT min(at) FROM campaigns_message
        WHERE run_id = run.id AND state = 'waiting' AND NOT bulk AND at <= statement_timestamp()
    ) AS first_at, EXISTS (
        SELECT FROM campaigns_chunk WHERE run_id = run.id AND NOT bulk AND {TO_TRY_AGAIN}
    ) AS again
    FROM campaigns_run run WHERE run.state = 'open'
) day
WHERE again OR first_at IS NOT NULL
"""


def waits() -> dict[int, float]:
    """The days with due messages to single people: in how many seconds they may be taken."""
    with connection.cursor() as cursor:
        params: dict[str, Any] = {"gathering": GATHERING}
        cursor.execute(WAITS, params)
        return {run: float(wait) for run, wait in cursor.fetchall()}
