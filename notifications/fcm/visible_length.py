"""Visible length: how much of a title and a body phones show, before and after expanding the push.

There are no official numbers, and they differ by maker, font size and language. These are the
figures that push vendors publish (Braze, Batch, Reteno; 2022 to 2025); where they differ, the
smaller one. They count places: a letter as wide as 가 or 字 takes two, as on the screen.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

JOINER = "\u200d"  # joins several emoji into one picture
TONES = range(0x1F3FB, 0x1F400)  # skin tones
SECOND_HALVES = range(0x1160, 0x1200)  # of Korean syllables that are written in parts


@dataclass(frozen=True, slots=True)
class Room:
    """The number of places for a text while the push is collapsed, and when it is expanded."""

    closed: int
    opened: int

    @property
    def shows_more(self) -> str:
        """How much the expanded push shows, in words; empty if it shows no more."""
        text = _("%(count)s once opened")
        return text % {"count": self.opened} if self.opened > self.closed else ""


ROOMS: Mapping[str, Mapping[str, Room]] = {
    "android": {"title": Room(45, 45), "body": Room(45, 240)},
    "ios": {"title": Room(40, 80), "body": Room(150, 300)},
    "web": {"title": Room(50, 50), "body": Room(120, 120)},  # browsers do not expand a push
}


@dataclass(frozen=True, slots=True)
class Parted:
    """A text split as one platform shows it: at once, only when expanded, and never."""

    room: Room
    places: int
    at_once: str
    opened: str
    never: str

    @property
    def whole(self) -> bool:
        return self.places <= self.room.closed


def parted(platform: str, name: str, text: str) -> Parted:
    """Split a title or a body where this platform cuts it off."""
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
    """Return the width of each character; 0 for one that only modifies the character before it."""
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
