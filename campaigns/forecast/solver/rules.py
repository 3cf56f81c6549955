"""Rules: what a run keeps to, and its people. People who are alike share every answer."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import gcd
from typing import Protocol

from campaigns.runs.local_time import LocalTime

GOLDEN = 0.618  # share of a row's length: steps of it reach all places, far from each other


class Skip(StrEnum):
    """Why a person gets nothing, by the names that their row would have."""

    NO_ZONE = "no_zone"
    LOCAL_TIME = "local_time"
    QUIET_HOURS = "quiet_hours"
    CAPPED = "capped"
    EXPIRED = "expired"


class Quiet(Protocol):
    """Quiet hours: people get no messages in them, by their local time."""

    def asleep_until(self, zone: str, now: datetime) -> datetime | None: ...

    def awake_until(self, zone: str, now: datetime) -> datetime: ...


@dataclass(frozen=True)
class Caps:
    """Frequency caps, counted back from the moment; None: no limit of this kind."""

    per_day: int | None = None
    per_week: int | None = None
    gap: timedelta | None = None


@dataclass(frozen=True)
class Rules:
    start: datetime
    ttl: timedelta  # from the start, or from each one's own time
    local_time: LocalTime | None = None
    quiet: Quiet | None = None
    caps: Caps | None = None
    first: int = 0  # how many people go first; 0: all go at once
    wait: timedelta = timedelta()  # how long the rest waits after the last of those


@dataclass(frozen=True)
class PersonKind:
    """What the rules need to know of a person. People with equal values are one kind."""

    zone: str = ""
    # When they got messages, or will get them from other planned runs; in any order.
    counted: tuple[datetime, ...] = ()
    out: str = ""  # why they get nothing in any case; empty: they may
    best_hour: int | None = None  # of their day, if the run uses best hours
    wakes_at: datetime | None = None  # as a run under way has set it


@dataclass(frozen=True)
class People:
    """People in the order in which they are sent to: for each, the number of their kind."""

    kinds: Sequence[PersonKind]
    of: array[int]

    def __len__(self) -> int:
        return len(self.of)

    @classmethod
    def mixed(cls, groups: Iterable[tuple[PersonKind, int]]) -> People:
        """Mix the groups evenly, as people are mixed in a project."""
        counts = list(groups)
        kinds = [kind for kind, _ in counts]
        size = sum(count for _, count in counts)
        of, step, place = array("I", [0]) * size, _step(size), 0
        for number, (_, count) in enumerate(counts):
            for _nth in range(count):
                of[place] = number
                place = (place + step) % size
        return cls(kinds, of)


def _step(size: int) -> int:
    """Return a step that reaches every place once before it repeats one."""
    step = max(1, int(size * GOLDEN))
    while gcd(step, size) > 1:
        step += 1
    return step
