"""The date filter: days and times as the reader writes them, in the reader's time zone.

A day without a time, or a time without a zone, is not converted.
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

LONGEST = 60  # letters of a date; a number of 4,000 digits would be read to its end
# Each language has its own form for each of these; together they cover most uses.
SKELETONS = {"day": "MMMMd", "weekday": "EEEE"}
STYLES = ("short", "medium", "long", "full")
HALF_OF_THE_DAY = parse_pattern("aaaa")
# The strftime letters that stand for words.
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
    """Write a date in a named form ('long', 'day', 'time' …), or in strftime letters ('%d %B')."""
    if form is None:
        return str(value)
    try:
        moment = _moment(value, context)
    except (OverflowError, OSError, ValueError) as error:  # a year that no calendar has
        raise FilterArgumentError("expected a date", token=None) from error
    if moment is None:
        return str(value)  # a text such as “soon” stays, as in every Liquid
    locale = locale_of(context)
    if (pattern := _pattern(locale, str(form))) is not None:
        return pattern.apply(moment, locale)
    return _by_letters(moment, str(form), locale)


def _moment(value: Any, context: RenderContext) -> datetime | None:
    """Read a date; if it has a time zone, convert it to the reader's."""
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
        moment: datetime = parser.parse(text)
        return moment
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
    """Write out AM and PM: 오후 9:00, as Koreans write it, not PM 9:00. Quoted text stays."""
    return parse_pattern(
        re.sub(
            r"'[^']*'|a+", lambda match: match[0] if "'" in match[0] else "aaaa", pattern.pattern
        )
    )


def _by_letters(moment: datetime, form: str, locale: Locale) -> str:
    def said(found: re.Match[str]) -> str:
        word = WORDS.get(found[1])
        return word(moment, locale).replace("%", "%%") if word else found[0]

    return moment.strftime(DIRECTIVE.sub(said, form))
