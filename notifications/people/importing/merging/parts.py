"""Parts: which part of the people is next, and which are done, for one backend or for two.

The people are in the order of their external ids. Two backends take the next part in turn. Each
commits its own part as soon as it is done, so neither holds locks while it waits for the other. A
part that was done before the one in front of it is remembered in `ahead`.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

from django.db import connection

from notifications.people.importing.model import Import
from notifications.people.importing.staging import table_of

Span = tuple[str, str]  # everybody after the first external id, up to the second

HIGH = """
SELECT external_id FROM {table} WHERE external_id COLLATE "C" > %(low)s
ORDER BY external_id COLLATE "C" OFFSET %(rows)s LIMIT 1
"""
LAST = """
SELECT max(external_id COLLATE "C") FROM {table} WHERE external_id COLLATE "C" > %(low)s
"""


class Parts:
    """Hands out each part to one taker. Python sorts texts as COLLATE "C" does, by code points."""

    def __init__(self, one: Import) -> None:
        self._one, self._taken = one, one.done_up_to
        self.committing = Lock()  # held while progress is written, until it is committed
        self._closed = False

    def close(self) -> None:
        """Hand out no more parts, because one has failed."""
        self._closed = True

    def take(self, rows: int) -> Span | None:
        """The next part, of about so many rows. None: no part is left, or one has failed."""
        with self.committing:
            low = max(self._taken, self._one.done_up_to)
            while low in self._one.ahead:
                low = self._one.ahead[low]
            high = None if self._closed else self._high(low, rows)
            if high is None:
                return None
            done = [after for after in self._one.ahead if after > low]
            self._taken = min([high, *done])
            return low, self._taken

    def _high(self, low: str, rows: int) -> str | None:
        with connection.cursor() as cursor:
            for sql in (HIGH, LAST):
                cursor.execute(
                    sql.format(table=table_of(self._one)), {"low": low, "rows": rows - 1}
                )
                row = cursor.fetchone()
                if row and row[0] is not None:
                    return str(row[0])
        return None


def progress(one: Import, span: Span) -> dict[str, Any]:
    """The import's progress after this part is done, too."""
    low, high = span
    ahead, done_up_to = {**one.ahead, low: high}, one.done_up_to
    while done_up_to in ahead:
        done_up_to = ahead.pop(done_up_to)
    return {"done_up_to": done_up_to, "ahead": ahead}
