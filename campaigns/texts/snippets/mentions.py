"""Mentions of snippets in a text: {{ snippet.footer }}. This module reads no rows.

A snippet's text replaces its mention before Liquid sees the text. So a message with snippets costs
what the same text costs without. To make this safe, a snippet holds no snippet, no tag and no brace
of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

HEAD = "snippet"
NAME = r"[a-z][a-z0-9_]{0,39}"
MENTION = re.compile(r"\{\{\s*" + HEAD + r"\.([A-Za-z0-9_]+)\s*\}\}")
HOLDERS = ("title", "body")  # and the values of data


def mentions(source: str) -> Iterator[re.Match[str]]:
    # Nearly every text has none, and this runs for every message of an automation.
    return MENTION.finditer(source) if HEAD in source else iter(())


def names_in(content: Mapping[str, Any]) -> set[str]:
    """The names of all snippets that a content mentions, in any language."""
    return {mention[1] for source in _sources(content) for mention in mentions(source)}


def _sources(content: Mapping[str, Any]) -> Iterator[str]:
    locales = content.get("locales")
    for texts in (content, *(locales.values() if isinstance(locales, dict) else ())):
        fields = texts if isinstance(texts, dict) else {}
        data = fields.get("data")
        values = data.values() if isinstance(data, dict) else ()
        for source in (*(fields.get(name) for name in HOLDERS), *values):
            if isinstance(source, str):
                yield source


def put_in(written: Mapping[str, Any], said: Callable[[str], str | None]) -> dict[str, Any]:
    """Replace the mentions in the texts of one language; a mention of a missing snippet stays."""

    def filled(source: str) -> str:
        if HEAD not in source:
            return source
        return MENTION.sub(lambda mention: said(mention[1]) or mention[0], source)

    texts = {name: filled(written[name]) for name in HOLDERS}
    data = {key: filled(source) for key, source in written["data"].items()}
    return {**written, **texts, "data": data}
