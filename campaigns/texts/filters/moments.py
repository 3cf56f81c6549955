"""Days and hours as the reader writes them, in the reader's time zone.

A day without an hour, or an hour that says no zone, is nobody else's: it stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, time, tzinfo
from functools import lru_cache
from typing import Any

from babel import Locale
from babel.dates import DateTimePattern, parse_pattern
from dateutil import parser  # type: ignore[import-untyped]
from django.utils import timezone
from liquid import RenderContext
from liquid.exceptions import FilterArgumentError
from liquid.filter import with_context

from campaigns.texts.filters.readers import KEPT, locale_of, of_a_value, zone_of

LONGEST = 60  # letters of a date; those of a number of 4,000 digits would be all read
# Each a form of its own in every language; between them what is written most.
SKELETONS = {"day": "MMMMd", "weekday": "EEEE"}
STYLES = ("short", "medium", "long", "full")
HALF_OF_THE_DAY = parse_pattern("aaaa")
# Of strftime's letters those that are words.
WORDS: dict[str, Callable[[datetime, Locale], str]] = {
    "A": lambda moment, locale: locale.days["format"]["wide"][moment.weekday()],
    "a": lambda moment, locale: locale.days["format"]["abbreviated"][moment.weekday()],
    "B": lambda moment, locale: locale.months["format"]["wide"][moment.month],
    "b": lambda moment, locale: locale.months["format"]["abbreviated"][moment.month],
    "h": lambda moment, locale: locale.months["format"]["abbreviated"][moment.month],
    "p": lambda moment, locale: HALF_OF_THE_DAY.apply(moment, locale),
}
DIRECTIVE = re.compile(r"%(.)", re.DOTALL)


@with_context
@of_a_value
def date_(value: Any, form: Any = None, *, context: RenderContext) -> str:
    """In a named form ('long', 'day', 'time' …), or letter by letter ('%d %B')."""
    if form is None:
        return str(value)
    try:
        moment = _moment(value, context)
    except (OverflowError, OSError, ValueError) as error:  # of a year that no calendar has
        raise FilterArgumentError("expected a date", token=None) from error
    if moment is None:
        return str(value)  # “soon” is a text that can be read, as in every Liquid
    locale = locale_of(context)
    if (pattern := _pattern(locale, str(form))) is not None:
        return pattern.apply(moment, locale)
    return _by_letters(moment, str(form), locale)


def _moment(value: Any, context: RenderContext) -> datetime | None:
    """In the reader's zone, where it is a moment everywhere."""
    moment = _now(context) if value in ("now", "today") else _read(value)
    zone = zone_of(context) if moment is not None and moment.tzinfo else None
    return moment.astimezone(zone) if moment is not None and zone else moment


def _now(context: RenderContext) -> datetime:
    zone: tzinfo = zone_of(context) or UTC
    return timezone.now().astimezone(zone)


def _read(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time.min)
    if isinstance(value, bool | float | dict | list):
        raise FilterArgumentError("expected a date", token=None)
    text = str(value).strip()
    if len(text) > LONGEST:
        raise FilterArgumentError("expected a date", token=None)
    if text.isdecimal():
        return datetime.fromtimestamp(int(text), UTC)
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    with suppress(parser.ParserError):
        read: datetime = parser.parse(text)
        return read
    return None


@lru_cache(maxsize=KEPT)
def _pattern(locale: Locale, form: str) -> DateTimePattern | None:
    if form in STYLES:
        return parse_pattern(locale.date_formats[form])
    if form == "time":
        return _in_whole_words(locale.time_formats["short"])
    if form in SKELETONS:
        return parse_pattern(locale.datetime_skeletons.get(SKELETONS[form], SKELETONS[form]))
    return None


def _in_whole_words(pattern: DateTimePattern) -> DateTimePattern:
    """오후 9:00, as Koreans write it, and not PM 9:00. What stands between quotes is no letter."""
    return parse_pattern(
        re.sub(
            r"'[^']*'|a+", lambda found: found[0] if "'" in found[0] else "aaaa", pattern.pattern
        )
    )


def _by_letters(moment: datetime, form: str, locale: Locale) -> str:
    def said(found: re.Match[str]) -> str:
        word = WORDS.get(found[1])
        return word(moment, locale).replace("%", "%%") if word else found[0]

    return moment.strftime(DIRECTIVE.sub(said, form))
