"""Counted lines: limit log lines that any client can cause, so that they do not fill the disk."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from copy import copy

SECONDS = 10.0  # between two lines of one kind
LONGEST = 200  # characters of the message


class Interval:
    """Decides when the next line is due, and counts the lines that were skipped since the last."""

    def __init__(self) -> None:
        self.due_at, self.skipped = 0.0, 0

    def count(self) -> int | None:
        """Return how many lines were skipped since the last one. None: skip this line, too."""
        now = time.monotonic()
        if now < self.due_at:
            self.skipped += 1
            return None
        skipped, self.skipped, self.due_at = self.skipped, 0, now + SECONDS
        return skipped


class CountedLines(logging.StreamHandler):  # type: ignore[type-arg]
    """A log handler that writes short lines without traceback, at most one in ten seconds per
    logger."""

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
