"""Sniffing: detects a file's encoding, delimiter, header and first rows from its beginning."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from itertools import accumulate
from typing import IO, Any

from django.utils.translation import gettext

from notifications.people.importing.cells import is_number
from notifications.people.importing.columns import KNOWN
from notifications.people.importing.model import Import
from notifications.people.importing.reading import ENCODINGS, decoded, encoded_length, parse
from notifications.people.importing.refused import came_back
from notifications.people.importing.source import File, Unusable, files_of, opened
from notifications.values.spreadsheet import NAMES_DELIMITER, read_back

SAMPLE = 256 * 1024  # bytes for delimiter, head and first rows
LOOKED_AT = 16 * 1024**2  # bytes for the encoding, of all files together
ENOUGH = 100  # characters that are not ASCII
MAX_COLUMNS = 250
FIRST_ROWS = 10
LONGEST_SHOWN = 200
DELIMITERS = ",;\t|"
MARKS = {"utf-8": b"\xef\xbb\xbf", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}
UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
OLDER = ("cp1252", "cp949", "cp932", "gb18030", "cp950", "cp1251")  # older than Unicode
MAX_JUDGED = 64 * 1024  # bytes of cells in one of them
# No word is both Latin and Cyrillic: “Zoë” is not “Zoл”.
TWO_SCRIPTS = re.compile(rb"[A-Za-z][\x80-\xff]|[\x80-\xff][A-Za-z]")
BETWEEN_CELLS = re.compile(rb"[\t\r\n,;]+")  # not “|”, which may be half of a letter
WORDS_OF_PROSE = 6
SURROGATES = re.compile("[\ud800-\udfff]")


def sniff(one: Import, encoding: str = "") -> dict[str, Any]:
    """Detect how the file is written. Raises Unusable.

    Returns, as JSON, {"head", "rows", "encoding", "files": [{"name", "size", "encoding",
    "detected", "delimiter", "start"}]}. `encoding`: used whatever is detected.
    """
    files = files_of(one)
    looks = [_look(one, file, LOOKED_AT // len(files), encoding) for file in files]
    heads = [look.pop("head") for look in looks]
    firsts = [look.pop("rows") for look in looks]
    for file, head in zip(files, heads, strict=True):
        if head != heads[0]:
            text = gettext(
                "“%(name)s” has a different header than “%(first)s”. Import them one by one."
            )
            raise Unusable(text % {"name": file.name[:80], "first": files[0].name[:80]})
    rows = [row for first in firsts for row in first][:FIRST_ROWS]
    if not rows and all(look["size"] <= SAMPLE for look in looks):
        raise Unusable(gettext("The file has a header but no rows: there is nobody to import."))
    return {"head": heads[0], "rows": rows, "encoding": encoding, "files": looks}


def _look(import_: Import, file: File, most: int, encoding: str) -> dict[str, Any]:
    with opened(import_, file) as stream:
        content = stream.read(SAMPLE)
        detected = _encoding(content, stream, most)
        encoding = encoding or detected
        whole = len(content) >= file.size
        if not whole and content.count(b"\n") == 1 and not encoding.startswith("utf-16"):
            content = _past_a_long_row(content, stream, most)
    mark = MARKS.get(encoding, b"")
    start = len(mark) if content.startswith(mark) else 0
    text = decoded(content[start:], encoding, whole=whole)
    delimiter_line = NAMES_DELIMITER.match(text)
    if delimiter_line:
        start += encoded_length(delimiter_line[0], encoding)
        text = text[delimiter_line.end() :]
    if not text.strip():
        raise Unusable(gettext("The file is empty."))
    _refuse_noise(text, encoding if encoding != detected else "")
    delimiter = (
        delimiter_line["delimiter"]
        if delimiter_line
        else _delimiter(text, file.name or import_.name)
    )
    records = _records(text, delimiter, whole=whole)
    head, rows = _head_and_rows(records)
    return {
        "name": file.name,
        "size": file.size,
        "start": start,
        "encoding": encoding,
        "detected": detected,
        "delimiter": delimiter,
        "line": 2 if delimiter_line else 1,
        "head": head,
        "rows": rows,
    }


def _past_a_long_row(content: bytes, stream: IO[bytes], most: int) -> bytes:
    """The header, and the rows after a first row that is longer than the sample."""
    stream.seek(len(content))
    for _ in range(most // SAMPLE):
        _row, end, rest = stream.read(SAMPLE).partition(b"\n")
        if end:
            return content[: content.index(b"\n") + 1] + rest + stream.read(SAMPLE)
    return content


def _refuse_noise(text: str, chosen: str) -> None:
    """Raises Unusable if more than one character in twenty is a control character.

    Then it is not a text file, or not one in the chosen encoding. A stray NUL only makes one row
    invalid.
    """
    if len(UNREADABLE.findall(text)) * 20 <= len(text):
        return
    if chosen:
        message = gettext("The file is not in the encoding %(encoding)s. Choose another one.")
        raise Unusable(message % {"encoding": ENCODINGS[chosen]})
    message = gettext(
        "This is not a table of people: it holds characters that no text has. Save it as CSV."
    )
    raise Unusable(message)


def _refuse_prose(records: list[list[str]]) -> None:
    """Raises Unusable for prose instead of a table.

    In prose, most lines have many words. The delimiter, if there is one, gives a different number
    of cells in each.
    """
    wordy = sum(len(" ".join(row).split()) >= WORDS_OF_PROSE for row in records)
    alike = sum(len(row) == len(records[0]) for row in records)
    in_cells = len(records[0]) > 1 and alike * 2 > len(records)
    if in_cells or wordy * 2 <= len(records):
        return
    text = gettext(
        "This is not a table of people: its lines read as sentences. It needs a first line that "
        "names the columns, such as: external_id,first_name,city"
    )
    raise Unusable(text)


def _encoding(content: bytes, stream: Any, most: int) -> str:
    if content.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        raise Unusable(gettext("The file is UTF-32. Save it as UTF-8."))
    for encoding, mark in MARKS.items():
        if content.startswith(mark):
            return encoding
    return _utf_16(content) or _utf_8_or_older(content, stream, most)


def _utf_16(content: bytes) -> str:
    """Detect UTF-16 without a byte order mark: every other byte of European text is 0."""
    start = content[:10_000]
    even, odd = start[::2].count(0), start[1::2].count(0)
    if max(even, odd) * 4 < len(start) or min(even, odd) * 10 > max(even, odd):
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"


def _utf_8_or_older(content: bytes, stream: Any, most: int) -> str:
    """UTF-8, unless more of the non-ASCII bytes are wrong in it than right.

    One wrong byte does not mean another encoding.
    """
    good = bad = looked = 0
    odd: list[bytes] = []
    while content and looked < most and good + bad < ENOUGH:
        text = decoded(content, "utf-8", whole=False)
        wrong = len(SURROGATES.findall(text))
        bad += wrong
        good += 0 if text.isascii() else sum(not letter.isascii() for letter in text) - wrong
        looked += len(content)
        if wrong:
            odd += (cell for cell in BETWEEN_CELLS.split(content) if not cell.isascii())
        content = stream.read(SAMPLE)
    return _likely(odd) if bad > good else "utf-8"


def _likely(cells: Iterable[bytes]) -> str:
    """The older encoding in which these cells are likely written: neither ASCII nor UTF-8.

    One wrong byte, or half of a letter at the end of a piece, rules an encoding out for
    charset-normalizer. So it gets the cells that are valid in each encoding that fits most.
    """
    from charset_normalizer import from_bytes  # here, because few processes ever need it

    different = [*dict.fromkeys(cells)]
    sizes = accumulate(map(len, different))
    few = [cell for cell, size in zip(different, sizes, strict=True) if size <= MAX_JUDGED]
    valid = {name: {cell for cell in few if _is_valid(cell, name)} for name in OLDER}
    most = max(map(len, valid.values()))
    names = [name for name in OLDER if len(valid[name]) * 5 >= most * 4]
    judged = sorted(set.intersection(*(valid[name] for name in names)))
    best = from_bytes(b"\n".join(judged), cp_isolation=names).best()
    if best is not None and best.encoding in names:
        return best.encoding
    return max(names, key=lambda name: len(valid[name]))


def _is_valid(cell: bytes, encoding: str) -> bool:
    if encoding == "cp1251" and TWO_SCRIPTS.search(cell):
        return False
    try:
        cell.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _delimiter(text: str, name: str) -> str:
    """The delimiter that splits the first rows into the most cells, each into as many as the
    header."""

    def score(delimiter: str) -> tuple[float, int, bool]:
        widths = [len(row) for row in _first(text, delimiter)]
        if not widths or widths[0] < 2:
            return 0.0, 0, False
        fits = sum(width == widths[0] for width in widths) / len(widths)
        return round(fits, 1), widths[0], delimiter == "\t" and name.lower().endswith(".tsv")

    return max(DELIMITERS, key=score)


def _first(text: str, delimiter: str) -> list[list[str]]:
    rows = []
    try:
        for cells in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if any(cells):
                rows.append(cells)
            if len(rows) == 20:
                break
    except csv.Error:
        return []
    return rows[:-1] or rows  # the last may be cut


def _records(text: str, delimiter: str, *, whole: bool) -> list[list[str]]:
    block = parse(text, delimiter=delimiter, width=None, line=1, whole=whole)
    if not block.rows or any(each.line <= block.rows[0][0] for each in block.refused):
        message = gettext(
            "The first line is too long, or a quote in it is not closed: the header cannot be read."
        )
        raise Unusable(message)
    return [cells for _, cells in block.rows[: FIRST_ROWS + 1]]


def _head_and_rows(records: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    head = [storable(cell).strip() for cell in records[0]]
    if came_back(head):
        records = [list(map(read_back, row)) for row in records]
        head = [storable(cell).strip() for cell in records[0]]
    if len(head) > MAX_COLUMNS:
        text = gettext("The file has %(count)s columns; at most %(most)s. Leave some out.")
        raise Unusable(text % {"count": f"{len(head):,}", "most": MAX_COLUMNS})
    has_names = any(re.sub(r"[\s.-]+", "_", cell.lower()) in KNOWN for cell in head)
    if not has_names:
        _refuse_prose(records)
    if not has_names and (data := next(filter(is_number, head), None)) is not None:
        text = gettext(
            "The first line contains data (“%(cell)s”), not column names. Add a header "
            "above it, such as: external_id,first_name,city"
        )
        raise Unusable(text % {"cell": data[:40]})
    return head, [[storable(cell) for cell in row[: len(head)]] for row in records[1:]]


def storable(cell: str) -> str:
    """The cell, short enough to show and without characters that PostgreSQL cannot store."""
    return SURROGATES.sub("�", cell[:LONGEST_SHOWN].replace("\x00", "�"))
