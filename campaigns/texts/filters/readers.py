"""In whose language and time zone a value is written: those of the person the text is for.

A text that is read in one language whoever reads it says so in its first line:
{% assign locale = 'en' %}. It then stands in place of the person's own.
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

WITHOUT = "en"  # for who has no language, or one that nobody has rules for
KEPT = 500


def of_a_value(made: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that leaves what is missing missing: for a “default” behind it, or to skip. Liquid's
    own ones count it as nothing, and “You have 1 points” is worse than no push.
    """

    @wraps(made)
    def of_what_is_there(*given: Any, **named: Any) -> Any:
        missing = next((one for one in given if is_undefined(one)), None)
        return made(*given, **named) if missing is None else missing

    return of_what_is_there


def calculated(made: Callable[..., Any]) -> Callable[..., Any]:
    """The same of a filter that calculates; “inf” is no number that anybody reads."""

    @wraps(made)
    def that_can_be_written(*given: Any, **named: Any) -> Any:
        result = made(*given, **named)
        if isinstance(result, float) and not isfinite(result):
            raise FilterArgumentError("expected a number", token=None)
        return result

    return of_a_value(that_can_be_written)


def locale_of(context: RenderContext) -> Locale:
    said = context.resolve("locale", default=WITHOUT)
    return _locale(said) if isinstance(said, str) else _locale(WITHOUT)


def zone_of(context: RenderContext) -> ZoneInfo | None:
    """None where it is not known: nothing is moved then."""
    said = context.resolve("timezone", default="")
    return ZoneInfo(said) if isinstance(said, str) and said in known_zones() else None


@lru_cache(maxsize=KEPT)
def _locale(tag: str) -> Locale:
    written = tag.replace("-", "_")
    for one in (written, written.partition("_")[0]):
        try:
            return Locale.parse(one)
        except (ValueError, TypeError, UnknownLocaleError):
            continue
    return Locale.parse(WITHOUT)
