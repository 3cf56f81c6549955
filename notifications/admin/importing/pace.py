"""Import speed: the rate and the remaining time, measured between two requests of the page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from notifications.people.importing.model import Import
from notifications.values.moments import in_words

READING, CHECKING, MERGING = "reading", "checking", "merging"
MEASURED_SECONDS = 20  # a rate covers at most this time
MIN_SECONDS = 1.5
MARK = re.compile(r"([a-z]{1,10})-(\d{1,15})-(\d{1,15})-(\d{1,7})")


@dataclass(frozen=True)
class Mark:
    """The progress at one moment. The page sends it back with its next request."""

    stage: str
    at_ms: int
    done: int
    share_ppm: int  # of a million

    def __str__(self) -> str:
        return f"{self.stage}-{self.at_ms}-{self.done}-{self.share_ppm}"


@dataclass(frozen=True)
class Progress:
    title: str
    share: int
    done: int
    total: int | None
    rate: int | None
    left: str
    mark: Mark


def progress(one: Import, now: datetime, *, before: str) -> Progress:
    """The progress: by bytes while the file is read; then by people, as their number is known."""
    current = _mark(one, now)
    since = _same_stage(before, current)
    seconds = (current.at_ms - since.at_ms) / 1_000
    measured = seconds >= MIN_SECONDS and current.done >= since.done
    gained = current.share_ppm - since.share_ppm
    return Progress(
        title=_title(current.stage),
        share=current.share_ppm // 10_000,
        done=current.done,
        total=None if current.stage == READING else one.people,
        rate=round((current.done - since.done) / seconds) if measured else None,
        left=in_words((1_000_000 - current.share_ppm) / gained * seconds)
        if measured and gained > 0
        else "",
        mark=current if seconds > MEASURED_SECONDS else since,
    )


def _mark(file_import: Import, now: datetime) -> Mark:
    stage = READING if file_import.staged_at is None else file_import.state
    done_count = file_import.rows if stage == READING else file_import.handled
    return Mark(
        stage, int(now.timestamp() * 1_000), done_count, int(1_000_000 * _share(file_import, stage))
    )


def _share(file_import: Import, stage: str) -> float:
    if stage == READING:
        read, total = (
            int(file_import.position.get("read", 0)),
            int(file_import.position.get("of", 0)),
        )
        return min(read / total, 1.0) if total else 0.0
    return min(file_import.handled / file_import.people, 1.0) if file_import.people else 1.0


def _same_stage(before: str, current: Mark) -> Mark:
    """The earlier mark, if valid and of the same stage (each has its own rate); else `current`."""
    match = MARK.fullmatch(before)
    if not match or match[1] != current.stage or int(match[2]) > current.at_ms:
        return current
    return Mark(match[1], int(match[2]), int(match[3]), int(match[4]))


def _title(stage: str) -> str:
    return {
        READING: _("Reading the file"),
        CHECKING: _("Comparing it with the people in this project"),
        MERGING: _("Importing"),
    }[stage]
