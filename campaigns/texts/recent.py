"""A cache of results made from texts, limited by the size of the texts, not by their number.

A thousand short texts cost less memory than ten long ones.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

EACH = 200  # characters added to each text, for what keeping it costs

Made = TypeVar("Made")


class Recent(Generic[Made]):
    """Calls `make` on texts, and keeps the results of the latest ones, up to `most` characters."""

    def __init__(self, make: Callable[[str], Made], *, most: int) -> None:
        self._make, self._most, self._size = make, most, 0
        self._kept: OrderedDict[str, Made] = OrderedDict()
        self._lock = Lock()  # the web server's threads share it

    def __call__(self, text: str) -> Made:
        with self._lock:
            if text in self._kept:
                self._kept.move_to_end(text)
                return self._kept[text]
        value = self._make(text)  # two threads may both do it: that costs less than waiting
        with self._lock:
            if text not in self._kept:
                self._kept[text] = value
                self._size += len(text) + EACH
            while self._size > self._most:
                oldest, _ = self._kept.popitem(last=False)
                self._size -= len(oldest) + EACH
        return value

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._size = 0
