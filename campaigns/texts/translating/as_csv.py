"""A template's texts as CSV: a row for each text, a column for each language."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from django.utils.translation import gettext as _

from campaigns.texts.content import Content
from campaigns.texts.translating.units import Cell, Unreadable, columns, units
from campaigns.texts.writing.field_labels import word_of
from notifications.values.spreadsheet import NAMES_DELIMITER, neutral, read_back

ID, FIELD, SOURCE = "id", "field", "source"
MAX_ROWS = 1_000
MARK = "\ufeff"  # tells Excel that the file is UTF-8


def written(content: Content, more: Iterable[str] = ()) -> str:
    tags = columns(content, more)
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\r\n")
    rows.writerow([ID, FIELD, SOURCE, *tags])
    for unit in units(content):
        texts = [unit.source, *(unit.translations.get(tag, "") for tag in tags)]
        rows.writerow([neutral(text) for text in (unit.id, word_of(unit.id), *texts)])
    return MARK + file.getvalue()


def parse(text: str) -> list[Cell]:
    """Read the translations from a CSV file, without empty cells. Raises Unreadable."""
    text = text.removeprefix(MARK)
    if named := NAMES_DELIMITER.match(text):
        text = text[named.end() :]
    first = text.partition("\n")[0]
    # In many countries a spreadsheet separates with semicolons.
    separator = named["delimiter"] if named else max(",;\t", key=first.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        head = [name.strip() for name in next(rows, [])]
        _check_head(head)
        return list(_cells(head, rows, first=3 if named else 2))
    except csv.Error as error:
        if "field limit" in str(error):  # the limit of the process; imports of people have it, too
            message = _("The line is longer than %(most)s characters.")
            raise Unreadable(message % {"most": f"{csv.field_size_limit():,}"}) from error
        message = _("Line %(line)s cannot be read as CSV: a quote is not closed, or stands alone.")
        raise Unreadable(message % {"line": rows.line_num + bool(named)}) from error


def _check_head(head: list[str]) -> None:
    if ID not in head:
        text = _("The first line must name the columns: id, field, source, and a language each.")
        raise Unreadable(text)
    twice = next((name for at, name in enumerate(head) if name and name in head[:at]), "")
    if twice:
        raise Unreadable(_("There are two columns “%(name)s”; keep one.") % {"name": twice})
    if not set(head) - {ID, FIELD, SOURCE, ""}:
        raise Unreadable(_("There is no column of a language; add one named ko, de or pt-BR."))


def _cells(head: list[str], rows: Iterator[list[str]], *, first: int) -> Iterator[Cell]:
    for number, row in enumerate(rows, start=first):
        if number > MAX_ROWS:
            message = _("More than %(most)s rows; a template has fewer texts.")
            raise Unreadable(message % {"most": f"{MAX_ROWS:,}"})
        said_in = {name: read_back(cell) for name, cell in zip(head, row, strict=False)}
        if len(row) > len(head):
            message = _("Row %(row)s has more cells than the first line names.")
            raise Unreadable(message % {"row": number})
        for tag in head:
            if tag not in (ID, FIELD, SOURCE, "") and (text := said_in.get(tag, "")):
                yield Cell(number, said_in.get(ID, ""), tag, text, said_in.get(SOURCE))
