"""Judging: checks rows column by column. A row becomes a line for COPY, or is refused.

The API's validators decide what is valid. Most cells repeat or are plain: each distinct cell is
checked once, and a column without odd characters is checked as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop, override

from notifications.people.contact import MAX_TEXT, validate_external_id, validate_value
from notifications.people.device import MAX_ADDRESS, Device, validate_address, validate_version
from notifications.people.importing import cells as read
from notifications.people.importing.columns import Column, Meaning, Type
from notifications.people.importing.model import Import
from notifications.people.importing.reading import Refused
from notifications.people.importing.reasons import Reason, reasons_of, reasons_to_store
from notifications.values import exact
from notifications.values.languages import validate_locale
from notifications.values.text import unstorable
from notifications.values.zones import validate_zone

AHEAD = timedelta(days=1)  # more than a missing offset can explain
NULL = "\\N"
# The columns of the staging table, in order.
STAGED = (
    "row", "external_id", "attributes", "locale", "timezone", "subscribed", "choices", "said_at",
    "address", "platform", "app_version", "seen_at",
)  # fmt: skip
PLAIN_ID = re.compile(r"[A-Za-z0-9_@+:|-][A-Za-z0-9_@+:|.-]{0,199}")
PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,9})?")
PLATFORMS = frozenset(Device.Platform.values)
ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
Reader = Callable[[str], str]
Problems = dict[int, list[tuple[str, Reason]]]  # by row: head and reason


@dataclass
class ValidatedRows:
    """The result of checking rows. `lines`: valid rows for COPY, without their row number.
    `numbers`: the line of each in the file."""

    lines: list[str]
    refused: list[Refused]
    numbers: list[int]


class RowValidator:
    """Checks the rows of one import."""

    def __init__(self, one: Import, columns: Sequence[Column]) -> None:
        removes = one.mode == Import.Mode.REMOVE  # only the external id counts
        self._columns = [
            (index, column)
            for index, column in enumerate(columns)
            if column.meaning == Meaning.EXTERNAL_ID
            or (not removes and column.meaning != Meaning.IGNORE)
        ]
        self._head = [column.head for column in columns]
        self._device = {Meaning.TOKEN, Meaning.FID} & {
            column.meaning for _, column in self._columns
        }

    def judge(self, rows: Sequence[tuple[int, list[str]]], *, odd: bool) -> ValidatedRows:
        """`odd`: some of these rows contain a NUL or half of a character."""
        if not rows:
            return ValidatedRows([], [], [])
        wrong: Problems = {}
        cells = list(zip(*[cells for _, cells in rows], strict=True))
        by_meaning: dict[str, list[str]] = {}
        attributes: list[list[str]] = []
        choices: list[list[str]] = []
        for index, column in self._columns:
            values = _column(column, cells[index], wrong, odd=odd)
            if column.meaning == Meaning.ATTRIBUTE:
                attributes.append(values)
            elif column.meaning == Meaning.CATEGORY:
                choices.append(values)
            else:
                by_meaning[column.meaning] = values
        if self._device:
            self._check_devices(by_meaning, wrong)
        lines = _lines(by_meaning, attributes, choices, len(rows))
        refused = [_refused_row(rows[at], problems) for at, problems in wrong.items()]
        numbers = [line for line, _ in rows]
        if wrong:
            lines = [line for at, line in enumerate(lines) if at not in wrong]
            numbers = [number for at, number in enumerate(numbers) if at not in wrong]
        return ValidatedRows(lines, refused, numbers)

    def _check_devices(self, by_meaning: dict[str, list[str]], wrong: Problems) -> None:
        (kind,) = self._device
        for at, (address, platform) in enumerate(
            zip(by_meaning[kind], by_meaning[Meaning.PLATFORM], strict=True)
        ):
            if address != NULL and platform == NULL:
                head = next(c.head for _, c in self._columns if c.meaning == Meaning.PLATFORM)
                message = gettext_noop("The address needs its platform: android, ios or web.")
                wrong.setdefault(at, []).append((head, (message, {})))


def _column(column: Column, cells: Sequence[str], wrong: Problems, *, odd: bool) -> list[str]:
    """The column's cells in COPY's format. Invalid cells are added to `wrong`."""
    reader, plain = _reader(column)
    if plain is not None and not odd and plain(cells):
        return list(cells)
    table: dict[str, str] = {}
    problems: dict[str, list[Reason]] = {}
    with override(None):  # reasons are stored untranslated, and translated when they are read
        for cell in set(cells):
            try:
                if odd:
                    _refuse_unreadable(cell)
                table[cell] = reader(cell)
            except ValidationError as error:
                table[cell], problems[cell] = NULL, reasons_of(error)
    if problems:
        for at, cell in enumerate(cells):
            if cell in problems:
                found = wrong.setdefault(at, [])
                found += [(column.head, reason) for reason in problems[cell]]
    return [table[cell] for cell in cells]


def _refuse_unreadable(cell: str) -> None:
    if any("\udc80" <= letter <= "\udcff" for letter in cell):
        text = gettext(
            "It contains bytes that are not valid in the file's encoding. Choose another encoding, "
            "or save the file as UTF-8."
        )
        raise ValidationError(text)
    if problem := unstorable(cell):
        raise ValidationError(gettext("It %(problem)s."), params={"problem": problem})


def _reader(column: Column) -> tuple[Reader, Callable[[Sequence[str]], bool] | None]:
    if column.meaning == Meaning.ATTRIBUTE:
        return _attribute(column), None
    if column.meaning == Meaning.CATEGORY:
        return _choice(column), None
    return READERS[column.meaning], PLAIN.get(column.meaning)


def _attribute(column: Column) -> Reader:
    """A reader that makes a cell one member of a JSON object, such as `"city":"Seoul"`.

    An empty cell gives an empty text.
    """
    key = f"{orjson.dumps(column.name).decode()}:"
    kind = column.type

    def read_text(cell: str) -> str:
        if len(cell) > MAX_TEXT:
            validate_value(cell)
        return key + _escape(orjson.dumps(cell).decode()) if cell else ""

    def read_number(cell: str) -> str:
        if PLAIN_NUMBER.fullmatch(cell):
            return key + cell
        return _checked(read.number(cell)) if cell.strip() else ""

    def read_other(cell: str) -> str:
        return _checked(VALUES[kind](cell)) if cell.strip() else ""

    def _checked(value: Any) -> str:
        validate_value(value)
        return key + _escape(exact.dumps(value).decode())

    return {Type.TEXT: read_text, Type.NUMBER: read_number}.get(Type(kind), read_other)


VALUES: dict[str, Callable[[str], Any]] = {
    Type.BOOLEAN: read.boolean,
    Type.TIME: read.time,
    Type.LIST: read.items,
}


def _choice(column: Column) -> Reader:
    key = f"{orjson.dumps(column.name).decode()}:"

    def read_choice(cell: str) -> str:
        return f"{key}{str(read.boolean(cell)).lower()}" if cell.strip() else ""

    return read_choice


def _external_id(cell: str) -> str:
    cell = cell.strip()  # spreadsheets leave invisible spaces
    if not PLAIN_ID.fullmatch(cell) or cell == "bulk":
        validate_external_id(cell)
    return _escape(cell)


def _address(cell: str) -> str:
    address = cell.strip()
    if not address:
        return NULL
    validate_address(address)
    return _escape(address)


def _addresses_are_plain(cells: Sequence[str]) -> bool:
    joined = "".join(cells)
    odd = not joined.isascii() or not joined.isprintable() or " " in joined or "\\" in joined
    return not odd and all(cells) and max(map(len, cells)) <= MAX_ADDRESS


def _ids_are_plain(cells: Sequence[str]) -> bool:
    return all(map(PLAIN_ID.fullmatch, cells)) and "bulk" not in cells


def _platform(cell: str) -> str:
    word = cell.strip().lower()
    if word and word not in PLATFORMS:
        text = gettext("“%(cell)s” is not a platform; use one of android, ios, web.")
        raise ValidationError(text, params={"cell": read.shorten(cell)})
    return word or NULL


def _version(cell: str) -> str:
    validate_version(cell.strip())
    return _escape(cell.strip()) or NULL


def _locale(cell: str) -> str:
    word = cell.strip()
    if len(word) > 35:
        raise ValidationError(
            gettext("A language tag has at most 35 characters, such as en or pt-BR.")
        )
    if word:
        validate_locale(word)
    return word or NULL


def _timezone(cell: str) -> str:
    word = cell.strip()
    if word:
        validate_zone(word)
    return word or NULL


def _yes_or_no(cell: str) -> str:
    return ("t" if read.boolean(cell) else "f") if cell.strip() else NULL


def _instant(cell: str) -> str:
    if not cell.strip():
        return NULL
    at = read.instant(cell)
    if at > timezone.now() + AHEAD:
        text = gettext("“%(cell)s” is more than a day ahead; give the time when they said it.")
        raise ValidationError(text, params={"cell": read.shorten(cell)})
    return at.isoformat()


def _parse_seen_at(cell: str) -> str:
    if not cell.strip():
        return NULL
    at, now = read.instant(cell), timezone.now()
    if at > now + AHEAD:
        text = gettext("“%(cell)s” is more than a day ahead; give the time when it was last seen.")
        raise ValidationError(text, params={"cell": read.shorten(cell)})
    return min(at, now).isoformat()


READERS: dict[str, Reader] = {
    Meaning.EXTERNAL_ID: _external_id,
    Meaning.TOKEN: _address,
    Meaning.FID: _address,
    Meaning.PLATFORM: _platform,
    Meaning.APP_VERSION: _version,
    Meaning.LOCALE: _locale,
    Meaning.TIMEZONE: _timezone,
    Meaning.SUBSCRIBED: _yes_or_no,
    Meaning.SUBSCRIBED_AT: _instant,
    Meaning.SEEN_AT: _parse_seen_at,
}
PLAIN: dict[str, Callable[[Sequence[str]], bool]] = {
    Meaning.EXTERNAL_ID: _ids_are_plain,
    Meaning.TOKEN: _addresses_are_plain,
    Meaning.FID: _addresses_are_plain,
}
# Between the id and the address, in the order of STAGED.
FIELDS = (Meaning.LOCALE, Meaning.TIMEZONE, Meaning.SUBSCRIBED)


def _lines(
    by_meaning: dict[str, list[str]],
    attributes: list[list[str]],
    choices: list[list[str]],
    count: int,
) -> list[str]:
    nothing = [NULL] * count
    address = by_meaning.get(Meaning.TOKEN) or by_meaning.get(Meaning.FID) or nothing
    columns = (
        by_meaning[Meaning.EXTERNAL_ID],
        _objects(attributes, count),
        *(by_meaning.get(meaning, nothing) for meaning in FIELDS),
        _objects(choices, count),
        by_meaning.get(Meaning.SUBSCRIBED_AT, nothing),
        address,
        by_meaning.get(Meaning.PLATFORM, nothing),
        by_meaning.get(Meaning.APP_VERSION, nothing),
        by_meaning.get(Meaning.SEEN_AT, nothing),
    )
    return list(map("\t".join, zip(*columns, strict=True)))


def _objects(columns: list[list[str]], count: int) -> list[str]:
    """One JSON object for each row, made of these members; NULL for a row without any."""
    if not columns:
        return [NULL] * count
    joined = (",".join(filter(None, members)) for members in zip(*columns, strict=True))
    return [f"{{{members}}}" if members else NULL for members in joined]


def _escape(text: str) -> str:
    return text.translate(ESCAPES) if "\\" in text or not text.isprintable() else text


def _refused_row(row: tuple[int, list[str]], problems: list[tuple[str, Reason]]) -> Refused:
    line, cells = row
    heads = ", ".join(dict.fromkeys(head for head, _ in problems))[:200]
    return Refused(line, heads, reasons_to_store(reason for _, reason in problems), cells)
