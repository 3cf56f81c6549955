"""How much of a title and of a body a phone shows, before and after somebody opens the push.

Nobody publishes it, and every maker, size of letters and language differs. These are the figures
that vendors of push tell of (Braze, Batch, Reteno; 2022 to 2025), of several the smaller one. They
count places: a letter as wide as 가 or 字 takes two, as it does on the screen.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

JOINER = "\u200d"  # between emoji that are one picture
TONES = range(0x1F3FB, 0x1F400)  # of skin
SECOND_HALVES = range(0x1160, 0x1200)  # of a Korean syllable written in parts


@dataclass(frozen=True, slots=True)
class Room:
    """Places there are for one text while the push is closed, and when it is opened."""

    closed: int
    opened: int

    @property
    def shows_more(self) -> str:
        """Once it is opened, in words; empty: no more than before."""
        text = _("%(count)s once opened")
        return text % {"count": self.opened} if self.opened > self.closed else ""


ROOMS: Mapping[str, Mapping[str, Room]] = {
    "android": {"title": Room(45, 45), "body": Room(45, 240)},
    "ios": {"title": Room(40, 80), "body": Room(150, 300)},
    "web": {"title": Room(50, 50), "body": Room(120, 120)},  # a browser opens nothing further
}


@dataclass(frozen=True, slots=True)
class Parted:
    """A text as one platform shows it: at once, when it is opened, and never."""

    room: Room
    places: int
    at_once: str
    opened: str
    never: str

    @property
    def whole(self) -> bool:
        return self.places <= self.room.closed


def parted(platform: str, name: str, text: str) -> Parted:
    """A title or a body, cut where this platform cuts it."""
    room = ROOMS[platform][name]
    first, second, places = len(text), len(text), 0
    for at, width in enumerate(_widths(text)):
        places += width
        if width and places > room.closed:
            first = min(first, at)
        if width and places > room.opened:
            second = min(second, at)
    return Parted(room, places, text[:first], text[first:second], text[second:])


def _widths(text: str) -> list[int]:
    """Of each character; 0 for what only changes the one before."""
    before = ""
    widths = []
    for letter in text:
        widths.append(0 if before == JOINER or _joins(letter) else _width(letter))
        before = letter
    return widths


def _joins(letter: str) -> bool:
    if letter < "\u0300":
        return False
    number = ord(letter)
    changes = unicodedata.category(letter) in ("Mn", "Me", "Cf")
    return changes or number in TONES or number in SECOND_HALVES


def _width(letter: str) -> int:
    return 2 if unicodedata.east_asian_width(letter) in ("W", "F") else 1
