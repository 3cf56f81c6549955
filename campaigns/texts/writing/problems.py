"""What is wrong with a text, and where: so that the page can put the cursor on the very place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from campaigns.texts.content import TEXTS
from campaigns.texts.writing.places import place

IN_A_LANGUAGE = re.compile(rf"([\w-]+)\.({'|'.join(TEXTS)}): (.*)", re.DOTALL)
AROUND = 16


@dataclass(frozen=True)
class Found:
    """One problem. Line and column count from 1; 0 where the place is the whole field."""

    field: str
    locale: str
    place: str
    words: str
    line: int = 0
    column: int = 0
    excerpt: tuple[str, str, str] | None = None


def found(problems: Mapping[str, list[str]], content: Mapping[str, Any]) -> list[Found]:
    return [_found(field, said, content) for field in problems for said in problems[field]]


def _found(field: str, said: str, content: Mapping[str, Any]) -> Found:
    locale, source = "", content.get(field)
    where = place((field,))
    if field == "locales" and (told := IN_A_LANGUAGE.fullmatch(said)):
        locale, field, said = told.groups()
        where, source = place(("locales", locale, field)), content["locales"][locale].get(field)
    if not (placed := _placed().fullmatch(said)) or not isinstance(source, str):
        return Found(field, locale, where, said)
    line, column = int(placed["line"]), int(placed["column"])
    return Found(field, locale, where, said, line, column, _excerpt(source, line, column))


def _placed() -> re.Pattern[str]:
    """“line 1, column 5: …”, as the language says it that the problem was said in."""
    words = re.escape(gettext("line %(line)s, column %(column)s"))
    for name in ("line", "column"):
        words = words.replace(re.escape(f"%({name})s"), rf"(?P<{name}>\d+)")
    return re.compile(rf"{words}: (.*)", re.DOTALL)


def _excerpt(source: str, line: int, column: int) -> tuple[str, str, str] | None:
    """A few letters around the place, with the place itself between."""
    lines = source.split("\n")
    if line > len(lines):
        return None
    text, at = lines[line - 1], column - 1
    before, after = text[max(0, at - AROUND) : at], text[at + 1 : at + 1 + AROUND]
    return before, text[at : at + 1], after
