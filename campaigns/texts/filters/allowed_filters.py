"""The filters that texts can use: those of Liquid that cannot hurt, and ours."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

from campaigns.texts.filters import amounts, moments, words
from campaigns.texts.filters.readers import calculated

OF_LIQUID = frozenset(
    (
        *("default", "upcase", "downcase", "capitalize", "truncate", "strip", "escape", "size"),
        *("append", "prepend"),
    )
)
CALCULATING = frozenset(("plus", "minus", "times", "divided_by", "round"))
OURS: dict[str, Callable[..., Any]] = {
    "currency": amounts.currency,
    "date": moments.date_,
    "join": words.join,
    "number": amounts.number,
    "plural": amounts.plural,
    "replace": words.replace,
    "url_encode": words.url_encode,
}
FILTERS = OF_LIQUID | CALCULATING | OURS.keys()
# The names of these filters in other template languages.
OTHER_NAMES = {
    "upper": "upcase", "uppercase": "upcase", "lower": "downcase", "lowercase": "downcase",
    "fallback": "default", "title": "capitalize", "trim": "strip", "format": "date",
    "money": "currency", "format_number": "number", "delimit": "number", "pluralize": "plural",
    "urlencode": "url_encode", "uri_encode": "url_encode", "url_escape": "url_encode",
}  # fmt: skip


def put_into(filters: MutableMapping[str, Callable[..., Any]]) -> None:
    """Replace Liquid's filters by the allowed ones."""
    for name in set(filters) - FILTERS:
        del filters[name]
    filters.update({name: calculated(filters[name]) for name in CALCULATING})
    filters.update(OURS)
