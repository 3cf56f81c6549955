"""Units: the texts of a template that can be translated, one by one, with their translations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from campaigns.texts.content import TEXTS, Content

DATA, BUTTON = "data.", "buttons."
GROUPS = ("data", "buttons")  # in a language, each is an object of texts
MAX_ASKED = 100  # languages that may be asked for
MOST_BYTES = 1_000_000  # of a file: ten times what the largest template fills


class Unreadable(Exception):
    """Raised for a file that cannot be read, in words that say what to do."""


@dataclass(frozen=True)
class Unit:
    """One text to translate: `id` names it in the file and in the template."""

    id: str
    source: str
    translations: dict[str, str]  # by language; languages without their own text are left out


@dataclass(frozen=True)
class Cell:
    """One translation in a file: a text in one language, and its place in the file."""

    row: int
    unit: str
    tag: str
    text: str
    source: str | None = None  # the main text as the translator saw it


def units(content: Content) -> list[Unit]:
    """The units of a content in the order of the form; texts that are empty are left out."""
    data = content["data"]
    sources = [
        *((name, content[name]) for name in TEXTS),
        *((f"{BUTTON}{button['id']}", button["title"]) for button in content.get("buttons", ())),
        *((f"{DATA}{key}", data[key]) for key in sorted(data)),
    ]
    return [Unit(id, text, _translations(content["locales"], id)) for id, text in sources if text]


def _translations(locales: Mapping[str, Any], id: str) -> dict[str, str]:
    translations = {tag: text_at(texts, id) for tag, texts in locales.items()}
    return {tag: text for tag, text in translations.items() if text}


def text_at(texts: Mapping[str, Any], id: str) -> str:
    group, _, key = id.partition(".")
    text: str = texts.get(group, {}).get(key, "") if group in GROUPS else texts.get(id, "")
    return text


def put(texts: Mapping[str, Any], id: str, text: str) -> dict[str, Any]:
    """The texts of a language, with this one added or replaced."""
    group, _, key = id.partition(".")
    if group in GROUPS:
        return {**texts, group: {**texts.get(group, {}), key: text}}
    return {**texts, id: text}


def columns(content: Content, more: Iterable[str] = ()) -> list[str]:
    """The languages of the content, then others that were asked for."""
    own = sorted(content["locales"])
    return [*own, *(tag for tag in dict.fromkeys(more) if tag not in own)]


# XML has no way to write these characters, and no phone shows them.
UNWRITTEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def carried(text: str) -> str:
    """The text in a form that any file can carry.

    Spreadsheets write their own line ends; a phone shows one kind.
    """
    return UNWRITTEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
