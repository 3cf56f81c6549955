"""Caps: limits that no text for a phone needs to exceed, checked before Liquid parses it.

Each one stops an attack that worked before. In python-liquid, some things cost the square of their
length or more (“{{” that are never closed, brackets in brackets, “and” after “and”). Some go deeper
than Python's stack, and a range is walked number by number, however many it has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from liquid import Token
from liquid.exceptions import LiquidError, LiquidSyntaxError
from liquid.token import TOKEN_EXPRESSION, TOKEN_ILLEGAL

MAX_SOURCE = 4_000  # characters of one text
MAX_OUTPUT = 4_096  # bytes of the rendered text
SHORT = 200
MAX_TAGS = 100  # {{ … }} and {% … %} of one text
MAX_TAG = 1_000  # characters of one of them
MAX_STEPS = 100  # comparisons, words such as “and”, filters and brackets of one of them
MAX_FILTERS = 20
MAX_DEPTH = 5  # of brackets in brackets
MAX_KEYS = 100  # of data
MAX_LANGUAGES = 100
MAX_TAGS_IN_ALL = 1_000
MAX_IN_ALL = 64_000  # characters of a whole template; each value and each key costs one more

QUOTED = re.compile(r"""(["']).*?\1""", re.DOTALL)
STEP = re.compile(r"[\[(|]|[!=<>]{1,2}|\b(?:and|or|not|contains)\b")


class TooMuch(LiquidError):
    """Raised for a text that breaks a cap. Its words are translated when they are shown."""

    def __init__(self, said: Promise, most: int, count: int) -> None:
        super().__init__("more than a text for a phone needs", token=None)
        self._said, self._most, self._count = said, most, count

    @property
    def words(self) -> str:
        counts = {"most": f"{self._most:,}", "count": f"{self._count:,}"}
        return str(self._said) % counts


LONG = _("longer than %(most)s characters.")
LONG_TAG = _("at most %(most)s characters in one “{{ … }}”; there are %(count)s.")
TAGS = _("at most %(most)s tags such as “{{ … }}”; there are %(count)s.")
FILTERS = _("at most %(most)s filters in one “{{ … }}”; there are %(count)s.")
STEPS = _("at most %(most)s comparisons and brackets in one tag; there are %(count)s.")
DEEP = _("brackets nested deeper than %(most)s levels.")
RANGE = _("ranges such as (1..5) are not available here.")


def check(source: str, lex: Callable[[str], Iterator[Token]]) -> None:
    """Raise TooMuch if a text breaks a cap, or the errors of Liquid's lexer.

    The lexer only gets texts whose length and tags were counted before.
    """
    _refuse_above(len(source), MAX_SOURCE, LONG)
    _refuse_above(tags(source), MAX_TAGS, TAGS)
    _refuse_unclosed(source)
    for token in lex(source):
        if token.kind == TOKEN_EXPRESSION:
            _check_tag(token.value)


def _refuse_unclosed(source: str) -> None:
    """Refuse a “{{” or “{%” that is never closed.

    Liquid's pattern would scan the rest again for each blank or letter behind it. Short texts with
    “raw” or “comment” are left to Liquid, because the braces may be meant literally.
    """
    if len(source) <= SHORT and ("raw" in source or "comment" in source):
        return
    for opening, closing in (("{{", "}}"), ("{%", "%}")):
        index = source.find(opening, source.rfind(closing) + 1)
        if index >= 0:
            token = Token(TOKEN_ILLEGAL, opening, index, source)
            raise LiquidSyntaxError(f"expected '{closing}', found end of file", token=token)


def _check_tag(markup: str) -> None:
    _refuse_above(len(markup), MAX_TAG, LONG_TAG)
    bare = QUOTED.sub("''", markup)
    _refuse_above(bare.count(".."), 0, RANGE)
    _refuse_above(bare.count("|"), MAX_FILTERS, FILTERS)
    _refuse_above(len(STEP.findall(bare)), MAX_STEPS, STEPS)
    _refuse_above(_depth(bare), MAX_DEPTH, DEEP)


def _refuse_above(count: int, most: int, message: Promise) -> None:
    if count > most:
        raise TooMuch(message, most, count)


def _depth(bare: str) -> int:
    depth = deepest = 0
    for letter in re.findall(r"[\[\]()]", bare):
        depth = depth + 1 if letter in "[(" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def tags(source: str) -> int:
    return source.count("{{") + source.count("{%")


# --- A whole template -----------------------------------------------------------------------------


LANGUAGES = _("At most %(most)s languages; there are %(count)s. Remove some.")
KEYS = _("At most %(most)s keys of data; there are %(count)s. Remove some.")
IN_ALL = _("At most %(most)s characters in the whole template; there are %(count)s. Shorten it.")
TAGS_IN_ALL = _("At most %(most)s tags in the whole template; there are %(count)s. Remove some.")


def problems(content: Mapping[str, Any]) -> dict[str, list[str]]:
    """The problem of a template that is too large, by the field that has most of it.

    It runs before anything in the template is parsed.
    """
    return (
        _too_many("locales", content["locales"], MAX_LANGUAGES, LANGUAGES)
        or _too_many_keys(content)
        or _in_all(content, MAX_IN_ALL, _length, IN_ALL)
        or _in_all(content, MAX_TAGS_IN_ALL, tags, TAGS_IN_ALL)
    )


def _too_many_keys(content: Mapping[str, Any]) -> dict[str, list[str]]:
    errors = _too_many("data", content["data"], MAX_KEYS, KEYS)
    languages = content["locales"].values() if isinstance(content["locales"], dict) else ()
    for texts in languages:
        data = texts.get("data") if isinstance(texts, dict) else None
        errors = errors or _too_many("locales", data, MAX_KEYS, KEYS)
    return errors


def _too_many(field: str, value: Any, most: int, message: Promise) -> dict[str, list[str]]:
    many = isinstance(value, dict) and len(value) > most
    return {field: [TooMuch(message, most, len(value)).words]} if many else {}


def _in_all(
    content: Mapping[str, Any], most: int, measure: Callable[[str], int], message: Promise
) -> dict[str, list[str]]:
    sizes = {name: sum(map(measure, texts_in(value))) for name, value in content.items()}
    largest, count = max(sizes, key=lambda name: sizes[name]), sum(sizes.values())
    return {largest: [TooMuch(message, most, count).words]} if count > most else {}


def _length(text: str) -> int:
    return len(text) + 1


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text and key inside, and "" for other values. It does not recurse."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        yield inner if isinstance(inner, str) else ""
        if isinstance(inner, dict):
            waiting += [*inner, *inner.values()]
        elif isinstance(inner, list):
            waiting += inner
