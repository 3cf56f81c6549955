"""Cells: read the text of one cell as a value. A reader raises ValidationError with the reason."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from functools import lru_cache
from typing import Any

import orjson
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from notifications.values import exact

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
# 160,000 as spreadsheets write it. Not 1,5 nor 0,123: there the comma may stand before a fraction.
GROUPED = re.compile(r"-?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
# 2026.11.01, 2026/11/1 or “2026. 11. 1. 오후 3:05” as spreadsheets write them: the year first, so
# that day and month cannot be confused.
SPREADSHEET_TIME = re.compile(
    r"(?P<year>[0-9]{4})(?P<sign>[-./]) ?(?P<month>[0-9]{1,2})(?P=sign) ?(?P<day>[0-9]{1,2})\.?"
    r"(?: (?:(?P<half>오전|오후|AM|PM) )?(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2}))?)?"
)
HALVES = {"오전": 0, "AM": 0, "오후": 12, "PM": 12}
ISO_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ].+)?")
YES = frozenset({"true", "yes", "y", "t", "1", "on", "예", "네"})
NO = frozenset({"false", "no", "n", "f", "0", "off", "아니요", "아니오"})
SEPARATOR = "|"


def is_number(cell: str) -> bool:
    return NUMBER.fullmatch(cell.strip()) is not None or is_grouped(cell)


def is_grouped(cell: str) -> bool:
    return GROUPED.fullmatch(cell.strip()) is not None


def is_boolean(cell: str) -> bool:
    return cell.strip().lower() in YES | NO


def is_time(cell: str) -> bool:
    try:
        time(cell)
    except ValidationError:
        return False
    return True


def is_list(cell: str) -> bool:
    return SEPARATOR in cell or (cell.strip()[:1] == "[" and cell.strip()[-1:] == "]")


def number(cell: str) -> Any:
    text = cell.strip()
    if is_grouped(text):
        text = text.replace(",", "")
    if not NUMBER.fullmatch(text):
        message = gettext("“%(cell)s” is not a number; write it like 1200 or 12.5.")
        raise ValidationError(message, params={"cell": shorten(cell)})
    return exact.fraction(text) if set(text) & {".", "e", "E"} else exact.whole(text)


@lru_cache(1_000)
def boolean(cell: str) -> bool:
    word = cell.strip().lower()
    if word in YES or word in NO:
        return word in YES
    text = gettext("“%(cell)s” is neither yes nor no; write true or false.")
    raise ValidationError(text, params={"cell": shorten(cell)})


def time(cell: str) -> str:
    """The cell's time in the form that rules compare: ISO 8601.

    It has the file's offset, or is in UTC. A date without a time stays a date.
    """
    moment = _moment(cell.strip())
    if not isinstance(moment, datetime):
        return moment.isoformat()
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()


def instant(cell: str) -> datetime:
    """The cell's time in UTC. Without a zone, it is read as UTC."""
    moment = _moment(cell.strip())
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time_of_day())
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as error:
        raise _no_time(cell) from error


def _moment(text: str) -> date:
    """A datetime, or only a date if no time is written."""
    try:
        if found := SPREADSHEET_TIME.fullmatch(text):
            return _from_spreadsheet(found)
        if not ISO_TIME.fullmatch(text):
            raise ValueError
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise _no_time(text) from error


def _from_spreadsheet(match: re.Match[str]) -> date:
    """The time as a spreadsheet writes it. Raises ValueError."""
    day = date(int(match["year"]), int(match["month"]), int(match["day"]))
    if match["hour"] is None:
        return day
    hour = int(match["hour"])
    if match["half"]:
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + HALVES[match["half"]]
    at = time_of_day(hour, int(match["minute"]), int(match["second"] or 0))
    return datetime.combine(day, at)


def _no_time(cell: str) -> ValidationError:
    text = gettext(
        "“%(cell)s” is not a time; write it like 2026-01-31 or 2026-01-31T09:00:00+09:00."
    )
    return ValidationError(text, params={"cell": shorten(cell)})


def items(cell: str) -> list[Any]:
    """A JSON array, or texts with | between them."""
    text = cell.strip()
    if not text.startswith("["):
        return [part.strip() for part in text.split(SEPARATOR) if part.strip()]
    try:
        values = exact.loads(text)
    except orjson.JSONDecodeError as error:
        message = gettext(
            '“%(cell)s” starts like a JSON list but is not one; write ["a", "b"] or a|b.'
        )
        raise ValidationError(message, params={"cell": shorten(cell)}) from error
    return list(values)


def shorten(cell: str) -> str:
    return cell if len(cell) <= 40 else f"{cell[:40]}…"
