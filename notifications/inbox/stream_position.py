"""Position: how far a stream has come in a person's inbox. As a text, it is an event's `id`.

Of two items that are stored at the same moment, the one with the lower number may be committed
last. A stream that asks only for numbers above the last one would never see it. So a position is a
floor, below which nothing comes any more, and the numbers above it that were sent. `1041.3.7` is
all up to 1041, and 1044 and 1048. A number becomes part of the floor a minute after it was seen,
when no transaction that stores an item can still be open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

FORM = re.compile(r"[0-9]{1,18}(\.[0-9]{1,12}){0,40}")
SETTLED_AFTER = 60.0  # seconds; PostgreSQL ends a transaction that is idle for half of that
MAX_NAMED = 40  # in the text; what is left out comes twice after a reconnect, and is never lost
# How many of them are items from before the stream. As many again may arrive before the text leaves
# one out: an old item must not come as a new one.
NAMED_AT_START = MAX_NAMED // 2
MAX_KEPT = 500  # numbers in memory for one person's stream in a burst


class Position:
    __slots__ = ("floor", "rushed_at", "seen", "settled")

    def __init__(self, floor: int = 0, seen: Iterable[int] = (), *, now: float) -> None:
        """`now` is any clock that only goes forward."""
        # After a burst, `settled` is below `floor`, while items from between may still come.
        self.floor = self.settled = floor
        self.seen = dict.fromkeys(seen, now)
        self.rushed_at: float | None = None

    @classmethod
    def read(cls, text: str, *, now: float) -> Position:
        """Parse the text of a position. Raises ValueError for a text that we never sent."""
        if not FORM.fullmatch(text):
            raise ValueError("not a position")
        floor, *above = map(int, text.split("."))
        return cls(floor, [floor + offset for offset in above], now=now)

    def __str__(self) -> str:
        newest = sorted(self.seen)[-MAX_NAMED:]
        return ".".join(map(str, [self.settled, *(number - self.settled for number in newest)]))

    def unseen(self, numbers: Iterable[int]) -> list[int]:
        """Which of these were not sent, in their order."""
        return sorted(n for n in numbers if n > self.floor and n not in self.seen)

    def see(self, numbers: Iterable[int], *, now: float) -> None:
        self.seen.update(dict.fromkeys(numbers, now))

    def settle(self, *, now: float) -> None:
        """Raise the floor past numbers that are old, or too many to be remembered."""
        old = [number for number, at in self.seen.items() if at <= now - SETTLED_AFTER]
        if old:
            self._raise_to(max(old))
            self.settled = self.floor
        if len(self.seen) > MAX_KEPT:
            self._raise_to(sorted(self.seen)[-MAX_KEPT - 1])
            self.rushed_at = now

    def take_missed_check(self, *, now: float) -> bool:
        """True once, a minute after a burst: items that came late below its floor were missed."""
        passed = self.rushed_at is not None and self.rushed_at <= now - SETTLED_AFTER
        if passed:
            self.rushed_at = None
        return passed

    def _raise_to(self, number: int) -> None:
        self.floor = max(self.floor, number)
        self.seen = {each: at for each, at in self.seen.items() if each > self.floor}
