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
    here = _mark(one, now)
    since = _same_stage(before, here)
    seconds = (here.at_ms - since.at_ms) / 1_000
    measured = seconds >= MIN_SECONDS and here.done >= since.done
    gained = here.share_ppm - since.share_ppm
    return Progress(
        title=_title(here.stage),
        share=here.share_ppm // 10_000,
        done=here.done,
        total=None if here.stage == READING else one.people,
        rate=round((here.done - since.done) / seconds) if measured else None,
        left=in_words((1_000_000 - here.share_ppm) / gained * seconds)
        if measured and gained > 0
        else "",
        mark=here if seconds > MEASURED_SECONDS else since,
    )


def _mark(one: Import, now: datetime) -> Mark:
    stage = READING if one.staged_at is None else one.state
    done = one.rows if stage == READING else one.handled
    return Mark(stage, int(now.timestamp() * 1_000), done, int(1_000_000 * _share(one, stage)))


def _share(one: Import, stage: str) -> float:
    if stage == READING:
        read, of = int(one.position.get("read", 0)), int(one.position.get("of", 0))
        return min(read / of, 1.0) if of else 0.0
    return min(one.handled / one.people, 1.0) if one.people else 1.0


def _same_stage(before: str, here: Mark) -> Mark:
    """The earlier mark, if valid and of the same stage (each has its own rate); else `here`."""
    found = MARK.fullmatch(before)
    if not found or found[1] != here.stage or int(found[2]) > here.at_ms:
        return here
    return Mark(found[1], int(found[2]), int(found[3]), int(found[4]))


def _title(stage: str) -> str:
    return {
        READING: _("Reading the file"),
        CHECKING: _("Comparing it with the people in this project"),
        MERGING: _("Importing"),
    }[stage]
