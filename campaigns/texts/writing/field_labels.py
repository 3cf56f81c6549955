"""Labels of places in a template, as its form calls them: “ko · Title”, “Android · badge”."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.texts.comparison import Change, Path, Piece
from notifications.fcm.options import PLATFORMS
from notifications.people.device import Device

WORDS = {
    "name": gettext_lazy("Name"),
    "text": gettext_lazy("Text"),
    "title": gettext_lazy("Title"),
    "body": gettext_lazy("Body"),
    "image": gettext_lazy("Image"),
    "link": gettext_lazy("Link"),
    "buttons": gettext_lazy("Buttons"),
    "data": gettext_lazy("Data"),
    "options": gettext_lazy("Options"),
    "locales": gettext_lazy("Languages"),
}


@dataclass(frozen=True)
class Shown:
    """A change, ready for a page."""

    place: str
    language: str  # for the screen reader's voice
    before: str | None
    after: str | None
    pieces: list[Piece]


def describe_changes(changes: Iterable[Change]) -> list[Shown]:
    return [
        Shown(
            place(change.path),
            change.path[1] if change.path[0] == "locales" and len(change.path) > 1 else "",
            _text(change.before),
            _text(change.after),
            change.pieces,
        )
        for change in changes
    ]


def place(path: Path) -> str:
    first, *rest = path
    if first == "locales" and rest:
        return " · ".join([rest[0], *(_word(key) for key in rest[1:2]), *rest[2:]])
    if first == "options" and rest and rest[0] in PLATFORMS:
        return " · ".join([str(Device.Platform(rest[0]).label), *rest[1:]])
    return " · ".join([_word(first), *rest])


def word_of(id: str) -> str:
    """The label of a text, by its id in files for translators: “data.screen”."""
    return place(tuple(id.split(".", 1)))


def _word(name: str) -> str:
    return str(WORDS.get(name, name))


def _text(value: Any) -> str | None:
    """A value as text: None if there is none, “(empty)” for an empty text."""
    if value is None:
        return None
    if isinstance(value, list):
        return "\n".join(map(_row, value))
    return str(value) if value not in ("", {}) else _("(empty)")


def _row(value: Any) -> str:
    """One button in one line."""
    return " · ".join(map(str, value.values())) if isinstance(value, dict) else str(value)
