"""Filters that write numbers as the reader does: 1,234.5 or 1.234,5; €9.90 or 9,90 €; 2 days."""

from __future__ import annotations

from copy import copy
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from babel import Locale
from babel.numbers import NumberPattern, is_currency
from liquid import RenderContext
from liquid.exceptions import FilterArgumentError
from liquid.filter import with_context

from campaigns.texts.filters.readers import KEPT, locale_of, of_a_value

# Without these limits, a number of any length would be written at any length.
MOST = Decimal(10) ** 18
LONGEST = 40
MAX_DECIMALS = 6
PLURALS = ("zero", "one", "two", "few", "many", "other")


@with_context
@of_a_value
def number(value: Any, decimals: Any = None, *, context: RenderContext) -> str:
    """Write a number: 1234.5 → 1,234.5; with two decimals: 1,234.50."""
    if decimals is not None and (type(decimals) is not int or not 0 <= decimals <= MAX_DECIMALS):
        raise FilterArgumentError(f"number takes 0 to {MAX_DECIMALS} decimals", token=None)
    locale = locale_of(context)
    return str(_pattern(locale, decimals).apply(_read(value), locale))


@with_context
@of_a_value
def currency(value: Any, code: Any = "", *, context: RenderContext) -> str:
    """Write an amount: 9.9 with 'EUR' → €9.90."""
    if not isinstance(code, str) or not is_currency(code.upper()):
        raise FilterArgumentError("currency needs a code such as 'EUR'", token=None)
    locale = locale_of(context)
    pattern: NumberPattern = locale.currency_formats["standard"]
    return str(pattern.apply(_read(value), locale, currency=code.upper()))


@with_context
@of_a_value
def plural(value: Any, *, context: RenderContext, **words: Any) -> Any:
    """Choose the word for a number: {{ n | plural: one: 'day', other: 'days' }}."""
    if unknown := sorted(set(words) - set(PLURALS)):
        raise FilterArgumentError(f"plural has no “{unknown[0]}:”", token=None)
    if "other" not in words:
        raise FilterArgumentError("plural needs “other:”", token=None)
    return words.get(locale_of(context).plural_form(_read(value)), words["other"])


@lru_cache(maxsize=KEPT)
def _pattern(locale: Locale, decimals: int | None) -> NumberPattern:
    pattern: NumberPattern = copy(locale.decimal_formats[None])
    if decimals is not None:
        pattern.frac_prec = (decimals, decimals)
    return pattern


def _read(value: Any) -> Decimal:
    text = str(value).strip()
    try:
        decimal = Decimal(text) if len(text) <= LONGEST else Decimal("nan")
    except InvalidOperation:
        decimal = Decimal("nan")
    if not decimal.is_finite() or abs(decimal) >= MOST:
        raise FilterArgumentError("expected a number", token=None)
    return decimal
