"""Validation of snippets, and of texts that mention them, in words for their author."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from campaigns.texts import caps, liquid
from campaigns.texts.liquid import Problem
from campaigns.texts.snippets.mentions import HEAD, mentions
from notifications.values.languages import validate_locale
from notifications.values.text import visible

MAX_LETTERS = 1_000
MOST_VALUES = 20  # {{ … }} of one snippet
VALUE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
MAX_NAMED = 10


# --- A text that mentions snippets ----------------------------------------------------------------


def of_mentions(source: str, known: Collection[str]) -> list[Problem]:
    """The problems of mentions in a valid text: unknown snippets, and those that are not alone.

    A snippet is not a value: inside a condition, a filter or quotes, it would be replaced before
    Liquid reads those.
    """
    if HEAD not in source:
        return []
    mentioned = list(mentions(source))
    spans = [(mention.start(), mention.end()) for mention in mentioned]
    positions = [at for path, at in liquid.list_uses(source) if path[0] == HEAD]
    alone = {span for span in spans if any(span[0] < at < span[1] for at in positions)}
    stray = [at for at in positions if not any(start < at < end for start, end in spans)]
    stray += [span[0] for span in spans if span not in alone]
    problems = [_at(source, at, _not_alone()) for at in sorted(stray)]
    for mention in mentioned:
        if mention[1] not in known and mention.span() in alone:
            problems.append(_at(source, mention.start(1), unknown(mention[1], known)))
    return problems


def unknown(name: str, known: Collection[str]) -> str:
    text = gettext("there is no snippet “%(name)s” in this project.") % {"name": name}
    return f"{text} {_instead(name, known)}"


def _instead(name: str, known: Collection[str]) -> str:
    if near := get_close_matches(name.lower(), known, n=1):
        return gettext("Did you mean “%(nearest)s”?") % {"nearest": near[0]}
    if not known:
        return gettext("There are none yet; write it under Snippets first.")
    names = ", ".join(sorted(known)[:MAX_NAMED])
    return gettext("Use one of %(known)s.") % {"known": names}


def out_of_place(source: str) -> list[Problem]:
    """The problems of mentions in a text that holds no snippets: an address, an option."""
    if HEAD not in source:
        return []
    text = gettext("a snippet can stand in the title, the body and the data, and nowhere else.")
    return [_at(source, at, text) for path, at in liquid.list_uses(source) if path[0] == HEAD]


def _not_alone() -> str:
    text = gettext("a snippet stands by itself: %(example)s, without filters and conditions.")
    return text % {"example": "{{ snippet.footer }}"}


# --- A snippet ------------------------------------------------------------------------------------


def of_snippet(text: Any) -> list[Problem]:
    """The problems of a snippet's text in one language."""
    if not isinstance(text, str):
        return [Problem(gettext("must be a text."))]
    if len(text) > MAX_LETTERS:
        message = gettext("longer than %(most)s characters.")
        return [Problem(message % {"most": f"{MAX_LETTERS:,}"})]
    if problems := liquid.problems(text):
        return problems
    positions = [at for path, at in liquid.list_uses(text) if path[0] == HEAD]
    if positions or HEAD in {match[1] for match in re.finditer(r"\{\{\s*(\w+)", text)}:
        message = gettext("a snippet holds no other snippet; write its words here.")
        return [_at(text, positions[0] if positions else 0, message)]
    if caps.tags(text) > MOST_VALUES:
        message = gettext("at most %(most)s values in a snippet; there are %(count)s.")
        return [Problem(message % {"most": MOST_VALUES, "count": caps.tags(text)})]
    return _only_values(text)


def _only_values(text: str) -> list[Problem]:
    """Refuse tags, and braces that are not around a value.

    Beside the words of a template, either could become something that nobody wrote.
    """
    bare = VALUE.sub(lambda value: " " * len(value[0]), text)
    if (at := bare.find("{%")) >= 0:
        message = gettext("a snippet holds words and values, and no conditions.")
        return [_at(text, at, message)]
    if brace := re.search(r"[{}]", bare):
        message = gettext("a single “%(brace)s” can stand in no snippet; braces are for values.")
        return [_at(text, brace.start(), message % {"brace": brace[0]})]
    return []


def of_locales(locales: Any) -> list[Problem | str]:
    if not isinstance(locales, dict):
        text = gettext("must be an object, e.g. %(example)s.")
        return [text % {"example": '{"ko": {"text": "…"}}'}]
    if len(locales) > caps.MAX_LANGUAGES:
        counts = {"most": caps.MAX_LANGUAGES, "count": len(locales)}
        return [str(caps.LANGUAGES) % counts]
    return [problem for tag, texts in locales.items() for problem in _of_language(tag, texts)]


def _of_language(tag: str, texts: Any) -> list[Problem | str]:
    try:
        validate_locale(tag)
    except ValidationError as error:
        return [f"{visible(tag)}: {error.messages[0]}"]
    if not isinstance(texts, dict) or set(texts) - {"text"}:
        text = gettext("must be an object, e.g. %(example)s.") % {"example": '{"text": "…"}'}
        return [f"{tag}: {text}"]
    problems = of_snippet(texts.get("text", ""))
    return [
        Problem(problem.words, problem.line, problem.column, "text", tag) for problem in problems
    ]


def _at(source: str, index: int, words: str) -> Problem:
    return Problem(words, *liquid.place(source, index))
