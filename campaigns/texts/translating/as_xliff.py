"""A template's texts as XLIFF 1.2, which every translation tool reads; many read 2.0 only in part.

There is one <file> for each language. Variables are written as <ph>, which tools keep a translator
from changing. What comes back is read as plain elements, by a parser that accepts no document type,
no entity of its own and nothing outside of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from django.utils.translation import gettext as _

from campaigns.texts.content import Content
from campaigns.texts.translating.units import Cell, Unit, Unreadable, carried, columns, units
from campaigns.texts.writing.field_labels import word_of

SPACE = "urn:oasis:names:tc:xliff:document:1.2"
TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
DEEPEST = 50
MAX_ELEMENTS = 100_000


def written(content: Content, more: Iterable[str] = (), *, source: str, original: str) -> str:
    """Write the file. `source`: the language of the main text, which a template does not store."""
    files = "".join(
        f'<file original={quoteattr(original)} datatype="plaintext"'
        f" source-language={quoteattr(source)} target-language={quoteattr(tag)}><body>\n"
        f"{''.join(_unit(unit, tag) for unit in units(content))}</body></file>\n"
        for tag in columns(content, more)
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return f'{head}<xliff version="1.2" xmlns="{SPACE}">\n{files}</xliff>\n'


def _unit(unit: Unit, tag: str) -> str:
    translation = unit.translations.get(tag, "")
    target = f"<target>{_mark_tags(translation)}</target>" if translation else ""
    return (
        f"<trans-unit id={quoteattr(unit.id)} resname={quoteattr(word_of(unit.id))}"
        f' xml:space="preserve"><source>{_mark_tags(unit.source)}</source>{target}</trans-unit>\n'
    )


def _mark_tags(text: str) -> str:
    """The text as XML, with each variable and each condition in a <ph> element."""
    pieces, position = [], 0
    for number, tag in enumerate(TAG.finditer(text), start=1):
        pieces.append(_escape(text[position : tag.start()]))
        pieces.append(f'<ph id="{number}">{_escape(tag[0])}</ph>')
        position = tag.end()
    return "".join([*pieces, _escape(text[position:])])


def _escape(text: str) -> str:
    return escape(carried(text))


# --- Reading --------------------------------------------------------------------------------------


def parse(text: str) -> list[Cell]:
    """Read the translations from an XLIFF file, without empty ones. Raises Unreadable."""
    reading = _Reading()
    parser = expat.ParserCreate("utf-8", " ")  # whatever encoding it declares, it is decoded
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
    parser.ExternalEntityRefHandler = _refuse
    parser.StartElementHandler = reading.start
    parser.EndElementHandler = reading.end
    parser.CharacterDataHandler = reading.words
    reading.parser = parser
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        message = _("Line %(line)s cannot be read as XML: %(problem)s.")
        words = expat.errors.messages.get(error.code, "") or str(error)
        raise Unreadable(message % {"line": error.lineno, "problem": words}) from error
    if not reading.is_xliff:
        raise Unreadable(_("This is no XLIFF 1.2 file."))
    return reading.cells


def _refuse(*_args: Any) -> int:
    raise Unreadable(_("A document type and entities have no place in this file; take them out."))


@dataclass
class _Reading:
    """The handlers of the parser: where it is in the file, and what it has read."""

    cells: list[Cell] = field(default_factory=list)
    is_xliff: bool = False
    parser: Any = None
    _inside: list[str] = field(default_factory=list)
    _count: int = 0
    _language: str = ""
    _unit: str = ""
    _row: int = 0
    # Texts in pieces. There may be very many: joining them one by one would copy all before each.
    _said: dict[str, list[str]] = field(default_factory=dict)

    def start(self, name: str, given: dict[str, str]) -> None:
        space, _, element = name.rpartition(" ")
        self._count += 1
        self._inside.append(element)
        if len(self._inside) > DEEPEST or self._count > MAX_ELEMENTS:
            raise Unreadable(_too_much())
        if len(self._inside) == 1:
            self.is_xliff = element == "xliff" and space == SPACE
            if given.get("version", "1.2") != "1.2":
                self.is_xliff = False
        if element == "file":
            self._language = given.get("target-language", "")
        elif element == "trans-unit":
            self._unit, self._row = given.get("id", ""), self.parser.CurrentLineNumber
            self._said = {}

    def words(self, text: str) -> None:
        if place := self._place():
            self._said.setdefault(place, []).append(text)

    def _place(self) -> str:
        """“source” or “target” if the parser is inside that element of a unit; else empty.

        Elements that a tool adds beside them, such as <alt-trans>, do not count.
        """
        if "trans-unit" not in self._inside:
            return ""
        inner = self._inside[self._inside.index("trans-unit") + 1 :]
        return inner[0] if inner and inner[0] in ("source", "target") else ""

    def end(self, name: str) -> None:
        self._inside.pop()
        if name.rpartition(" ")[2] == "trans-unit" and "target" in self._said:
            texts = {place: "".join(pieces) for place, pieces in self._said.items()}
            pair = (texts["target"], texts.get("source"))
            self.cells.append(Cell(self._row, self._unit, self._language, *pair))


def _too_much() -> str:
    return _("There is more in this file than a template has.")
