"""Reading: turns bytes into rows. Each row is read whole, or refused with its line and a reason.

A row whose quotes do not close would swallow the rows after it. So if a row runs over several lines
and has a wrong number of cells, only its first line is refused. Reading starts again after that
line.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from notifications.people.importing.reasons import reasons_to_store

END_OF_LINE = re.compile("\r\n|\n|\r")
# A marker row added behind the text: if the parser swallows it, the row before it has no end yet.
END = "\x1fend of the text\x1f"
LONGEST_LINE = 1024**2  # characters
MAX_CELL = 10_000  # characters of a cell that a refused row keeps
# In each of them, a decoded text is encoded to as many bytes as it was read from.
ENCODINGS: dict[str, str | Promise] = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16",
    "utf-16-be": _("UTF-16 (big endian)"),
    "cp949": _("Korean (CP949, EUC-KR)"),
    "cp932": _("Japanese (Shift-JIS)"),
    "gb18030": _("Simplified Chinese (GB18030)"),
    "cp950": _("Traditional Chinese (Big5)"),
    "cp1251": _("Cyrillic (Windows-1251)"),
    "cp1252": _("Western European (Windows-1252)"),
}


@dataclass(frozen=True, slots=True)
class Refused:
    """A refused row. `column`: the header of the invalid cell; empty: the whole row. `reason`: as
    `reasons.reasons_to_store` writes it."""

    line: int
    column: str
    reason: str
    cells: list[str]


@dataclass(slots=True)
class Block:
    """The rows of a piece of text. `used`: how many of its characters are consumed. `lines`: how
    many lines these were. `quote`: the line of the last unclosed quote, or 0."""

    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    used: int = 0
    lines: int = 0
    quote: int = 0


def decoded(content: bytes, encoding: str, *, whole: bool) -> str:
    """Decode a piece up to its last whole character. Invalid bytes become lone surrogates."""
    if encoding.startswith("utf-16"):
        content = content[: len(content) - len(content) % 2]
    if whole:
        return content.decode(encoding, _errors(encoding))
    return codecs.getincrementaldecoder(encoding)(_errors(encoding)).decode(content)


def encoded_length(text: str, encoding: str) -> int:
    if text.isascii() and not encoding.startswith("utf-16"):
        return len(text)
    return len(text.encode(encoding, _errors(encoding)))


def _errors(encoding: str) -> str:
    return "surrogatepass" if encoding.startswith("utf-16") else "surrogateescape"


def parse(text: str, *, delimiter: str, width: int | None, line: int, whole: bool) -> Block:
    """Read the rows of this text, which begins at a row.

    If not `whole`, the end of the last row may come later. Without a width, rows may have any
    number of cells.
    """
    block = Block()
    end = len(text) if whole else _last_end_of_line(text)
    gap = "" if text[:end].endswith(("\n", "\r")) else "\n"
    buffer = io.StringIO(f"{text[:end]}{gap}{END}\n", newline="")
    while block.used < end and not _read_on(block, buffer, text, delimiter, width, line):
        if not _refuse_a_line(block, text, end, delimiter, line, whole=whole):
            break
    block.used = min(block.used, end)
    return block


def _read_on(
    block: Block, buffer: io.StringIO, text: str, delimiter: str, width: int | None, line: int
) -> bool:
    """Take rows up to the first broken one. Returns True if the end was reached."""
    buffer.seek(block.used)
    reader = csv.reader(buffer, delimiter=delimiter, strict=True)
    lines, before = block.lines, 0
    rows, at, end = block.rows, block.used, [END]
    ragged = width is not None
    try:
        for cells in reader:
            if cells == end and not buffer.read(1):  # nothing follows it
                block.used = len(text)
                return True
            after = reader.line_num
            if after - before > 1 and ((ragged and len(cells) != width) or END in cells[-1]):
                return False
            if any(cells):
                rows.append((line + lines + before, cells))
            before, at = after, buffer.tell()
            block.used, block.lines = at, lines + before
    except csv.Error:
        pass
    return False


def _refuse_a_line(
    block: Block, text: str, end: int, delimiter: str, line: int, *, whole: bool
) -> bool:
    """Refuse the first line of a broken row. Returns False if the row's end may still come."""
    start = block.used
    if not whole and end - start < LONGEST_LINE and _is_open(text[start:end], delimiter):
        return False
    found = END_OF_LINE.search(text, start, end)
    stop = found.end() if found else end
    broken = text[start:stop]
    block.refused.append(_unclosed(line + block.lines, broken, delimiter))
    if len(broken) <= csv.field_size_limit():
        block.quote = line + block.lines
    block.used, block.lines = stop, block.lines + 1
    return True


def _is_open(text: str, delimiter: str) -> bool:
    """Whether the row that begins here may end in text that is still to come."""
    reader = csv.reader(io.StringIO(f"{text}{END}\n", newline=""), delimiter=delimiter)
    try:
        return END in next(reader)[-1]
    except csv.Error:
        return False


def _unclosed(line: int, text: str, delimiter: str) -> Refused:
    if len(text) > csv.field_size_limit():
        return too_long(line, text)
    message = gettext_noop(
        "A quote is not closed, or not at the end of the cell. Double a quote that is part "
        "of the text."
    )
    cells = next(csv.reader([text.rstrip("\r\n")], delimiter=delimiter), [])
    return Refused(line, "", reasons_to_store([(message, {})]), cells)


def too_long(line: int, text: str) -> Refused:
    message = gettext_noop("The line is longer than %(most)s characters.")
    most = f"{csv.field_size_limit():,}"
    return Refused(line, "", reasons_to_store([(message, {"most": most})]), [text[:MAX_CELL]])


def _last_end_of_line(text: str) -> int:
    """The position after the last line end. A carriage return at the very end may be half of
    one."""
    newline = text.rfind("\n") + 1
    return newline or text.rfind("\r", 0, max(len(text) - 1, 0)) + 1


def fitting(block: Block, width: int) -> Iterator[tuple[int, list[str]]]:
    """The rows that are as wide as the header; the others are refused.

    Extra cells are allowed if they are empty.
    """
    for line, cells in block.rows:
        if len(cells) == width:
            yield line, cells
        elif len(cells) > width and not any(cells[width:]):
            yield line, cells[:width]
        else:
            block.refused.append(_ragged(line, cells, width))


def _ragged(line: int, cells: list[str], width: int) -> Refused:
    message = gettext_noop("The row has %(count)s cells; the header has %(width)s.")
    values = {"count": f"{len(cells):,}", "width": width}
    return Refused(line, "", reasons_to_store([(message, values)]), cells)
