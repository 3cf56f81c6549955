"""The language and time zone in which filters write values: those of the person who reads them.

A text that is in one language for all people says so in its first line:
{% assign locale = 'en' %}. This replaces the person's own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from math import isfinite
from typing import Any
from zoneinfo import ZoneInfo

from babel import Locale, UnknownLocaleError
from liquid import RenderContext
from liquid.exceptions import FilterArgumentError
from liquid.undefined import is_undefined

from notifications.values.zones import known_zones

WITHOUT = "en"  # for people without a language, or with one that has no rules
KEPT = 500


def of_a_value(made: Callable[..., Any]) -> Callable[..., Any]:
    """Make a filter keep a missing value missing, for a “default” after it, or to skip the person.

    Liquid's own filters count it as nothing, and “You have 1 points” is worse than no push.
    """

    @wraps(made)
    def of_what_is_there(*given: Any, **named: Any) -> Any:
        missing = next((one for one in given if is_undefined(one)), None)
        return made(*given, **named) if missing is None else missing

    return of_what_is_there


def calculated(made: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a filter that calculates. It also refuses “inf”, which nobody could read."""

    @wraps(made)
    def that_can_be_written(*given: Any, **named: Any) -> Any:
        result = made(*given, **named)
        if isinstance(result, float) and not isfinite(result):
            raise FilterArgumentError("expected a number", token=None)
        return result

    return of_a_value(that_can_be_written)


def locale_of(context: RenderContext) -> Locale:
    tag = context.resolve("locale", default=WITHOUT)
    return _locale(tag) if isinstance(tag, str) else _locale(WITHOUT)


def zone_of(context: RenderContext) -> ZoneInfo | None:
    """The person's time zone; None if it is not known: then nothing is converted."""
    name = context.resolve("timezone", default="")
    return ZoneInfo(name) if isinstance(name, str) and name in known_zones() else None


@lru_cache(maxsize=KEPT)
def _locale(tag: str) -> Locale:
    identifier = tag.replace("-", "_")
    for name in (identifier, identifier.partition("_")[0]):
        try:
            return Locale.parse(name)
        except (ValueError, TypeError, UnknownLocaleError):
            continue
    return Locale.parse(WITHOUT)
