"""One cell: which values its text can be read as. Each reader raises ValidationError with what is
wrong."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import orjson
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from notifications.values import exact

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
YES = frozenset({"true", "yes", "y", "t", "1", "on", "예", "네"})
NO = frozenset({"false", "no", "n", "f", "0", "off", "아니요", "아니오"})
SHORTEST_TIME = len("2026-01-31")
SEPARATOR = "|"


def is_number(cell: str) -> bool:
    return NUMBER.fullmatch(cell.strip()) is not None


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
    if not NUMBER.fullmatch(text):
        said = gettext("“%(cell)s” is not a number; write it like 1200 or 12.5.")
        raise ValidationError(said, params={"cell": shown(cell)})
    return exact.fraction(text) if set(text) & {".", "e", "E"} else exact.whole(text)


@lru_cache(1_000)
def boolean(cell: str) -> bool:
    word = cell.strip().lower()
    if word in YES or word in NO:
        return word in YES
    said = gettext("“%(cell)s” is neither yes nor no; write true or false.")
    raise ValidationError(said, params={"cell": shown(cell)})


def time(cell: str) -> str:
    """In the form that rules compare: ISO 8601, with the file's offset or in UTC; a date without a
    time stays a date."""
    text = cell.strip()
    moment = _moment(text)
    if len(text) == SHORTEST_TIME:
        return text
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()


def instant(cell: str) -> datetime:
    """Without a zone it is UTC."""
    moment = _moment(cell.strip())
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as error:
        raise _no_time(cell) from error


def _moment(text: str) -> datetime:
    try:
        if len(text) < SHORTEST_TIME or text[4:5] != "-":
            raise ValueError
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise _no_time(text) from error


def _no_time(cell: str) -> ValidationError:
    said = gettext(
        "“%(cell)s” is not a time; write it like 2026-01-31 or 2026-01-31T09:00:00+09:00."
    )
    return ValidationError(said, params={"cell": shown(cell)})


def items(cell: str) -> list[Any]:
    """A JSON array, or texts with | between them."""
    text = cell.strip()
    if not text.startswith("["):
        return [part.strip() for part in text.split(SEPARATOR) if part.strip()]
    try:
        found = exact.loads(text)
    except orjson.JSONDecodeError as error:
        said = gettext(
            '“%(cell)s” starts like a JSON list but is not one; write ["a", "b"] or a|b.'
        )
        raise ValidationError(said, params={"cell": shown(cell)}) from error
    return list(found)


def shown(cell: str) -> str:
    return cell if len(cell) <= 40 else f"{cell[:40]}…"
