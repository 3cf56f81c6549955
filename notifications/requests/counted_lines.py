"""Log lines that strangers can cause: one now and then, with a count, so that they fill no disk."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from copy import copy

SECONDS = 10.0  # between two lines of one kind
LONGEST = 200  # letters of what was sent


class Interval:
    """Says when the next line is due, and counts what came since the last one."""

    def __init__(self) -> None:
        self.due_at, self.skipped = 0.0, 0

    def count(self) -> int | None:
        """How many were skipped since the last line. None: skip this one, too."""
        now = time.monotonic()
        if now < self.due_at:
            self.skipped += 1
            return None
        skipped, self.skipped, self.due_at = self.skipped, 0, now + SECONDS
        return skipped


class CountedLines(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes a short line without a traceback, for each logger at most one in ten seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.intervals: defaultdict[str, Interval] = defaultdict(Interval)

    def emit(self, record: logging.LogRecord) -> None:
        skipped = self.intervals[record.name].count()
        if skipped is None:
            return
        line = copy(record)
        line.msg = f"{record.getMessage()[:LONGEST]}; {skipped} others since the last such line"
        line.args, line.exc_info, line.exc_text = (), None, None
        super().emit(line)
