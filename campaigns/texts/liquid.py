"""The marketer's template language: Liquid with everything that could hurt a worker taken out.

No loops, no includes, filters on an allow-list, every growth bounded; each hole closed here was
opened first (a doubling variable, a chain of replace, a huge range). Errors are said in a
marketer's words, with line and column.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from liquid import BoundTemplate, Environment, FalsyStrictUndefined
from liquid.exceptions import LiquidError

from campaigns.texts import caps
from campaigns.texts.recent import Recent
from notifications.values.text import unstorable

TAGS = frozenset(
    (
        *("if", "unless", "case", "assign", "comment", "raw", "echo", "#"),
        *("content", "illegal", "output"),  # Liquid's own, for what stands between the tags
    )
)
FILTERS = frozenset(
    (
        *("default", "date", "upcase", "downcase", "capitalize", "truncate", "strip", "escape"),
        *("plus", "minus", "times", "divided_by", "round", "append", "prepend", "replace", "size"),
    )
)
# What the same is called elsewhere.
OTHER_NAMES = {
    "upper": "upcase", "uppercase": "upcase", "lower": "downcase", "lowercase": "downcase",
    "fallback": "default", "title": "capitalize", "trim": "strip", "format": "date",
}  # fmt: skip
MAX_OUTPUT = 4_096

PLAIN_WORDS = [
    (r"expected '}}', found end of file", _("a “{{” is never closed; add “}}”")),
    # xgettext:no-python-format
    (r"expected '%}', found end of file", _("a “{%” is never closed; add “%}”")),
    # xgettext:no-python-format
    (r"expected tag end(\w+), found end", _("“{% \\1 %}” is never closed; add “{% end\\1 %}”")),
    # xgettext:no-python-format
    (r"unexpected tag '(end\w+|else|elsif|when)'", _("“{% \\1 %}” has no tag to belong to")),
    (r"unexpected tag '(\w+)'", _("the tag “\\1” is not available here")),
    (r"expected a primitive expression", _("a variable's name is missing, e.g. {{ first_name }}")),
    (r"expected end of expression, found word",
     _("unexpected word; a name has no spaces, and a filter follows a “|”")),
    (r"expected end of expression, found string",
     _("a “:” is missing before this, as in {{ first_name | default: 'there' }}")),
    (r"expected end of expression, found dpipe", _("one “|” is enough")),
    (r"expected end of expression, found '='", _("to compare, write “==”")),
    (r"expected word, found end of expression",
     _("a filter's name is missing after the last “|”")),
    (r"block nesting limit reached", _("conditions nested too deep; write one beside the other")),
    # xgettext:no-python-format
    (r"missing expression", _("a condition is missing, as in {% if first_name %}")),
    # xgettext:no-python-format
    (r"missing tag name or closing delimiter", _("a “{%” is never closed; add “%}”")),
    (r"unexpected '[“”‘’„«»]'",
     _("curly quotes are not understood; write straight ones: 'there'")),
    (r"""unexpected ('"'|"'")""", _("this quote is never closed")),
    (r"unexpected '{'", _("one “{” too many")),
    (r"unexpected '(.)'", _("“\\1” means nothing here")),
]  # fmt: skip


class _Bounded(Environment):
    context_depth_limit = 10
    loop_iteration_limit = 100
    output_stream_limit = MAX_OUTPUT
    local_namespace_limit = 10_000

    def __init__(self) -> None:
        super().__init__(undefined=FalsyStrictUndefined)
        for tag in set(self.tags) - TAGS:
            del self.tags[tag]
        for name in set(self.filters) - FILTERS:
            del self.filters[name]
        self.filters["replace"] = _bounded_replace


def _bounded_replace(value: Any, old: Any, new: Any = "") -> str:
    text, old, new = str(value), str(old), str(new)
    grown = len(text) + text.count(old) * (len(new) - len(old))
    if grown > MAX_OUTPUT:
        raise LiquidError(f"replace would make a text of {grown:,} characters", token=None)
    return text.replace(old, new)


_environment = _Bounded()
_lex = _environment.tokenizer()
LETTERS_REMEMBERED = 300_000  # of texts; Liquid's tree of one takes up to 200 bytes for each


@dataclass(frozen=True, slots=True)
class _Read:
    """A text as it was understood, or why it was not."""

    template: BoundTemplate | None
    error: LiquidError | None
    variables: frozenset[str] = frozenset()
    filters: tuple[tuple[str, int], ...] = ()  # each with where it stands first


def _read(source: str) -> _Read:
    try:
        caps.check(source, _lex)
        template = _environment.from_string(source)
        found = template.analyze()
    except LiquidError as error:
        return _Read(None, error.with_traceback(None))
    except RecursionError:
        return _Read(None, caps.TooMuch(caps.DEEP, caps.MAX_DEPTH, caps.MAX_DEPTH))
    filters = tuple((name, spans[0].index) for name, spans in found.filters.items())
    return _Read(template, None, frozenset(found.globals), filters)


# Once per text and process: parsing costs three times a rendering.
_known = Recent(_read, most=LETTERS_REMEMBERED)


def parse(source: str) -> BoundTemplate:
    read = _known(source)
    if read.template is None:
        assert read.error is not None
        # Or it would collect every place it was raised at.
        raise read.error.with_traceback(None)
    return read.template


@dataclass(frozen=True)
class Problem:
    """What is wrong with a text, and where. Whoever shows it takes nothing apart.

    Line and column count from 1; 0 where the place is the whole text.
    """

    words: str
    line: int = 0
    column: int = 0
    field: str = ""
    locale: str = ""

    @property
    def said(self) -> str:
        """With the place in the text, for who knows which text it is."""
        if not self.line:
            return self.words
        place = gettext("line %(line)s, column %(column)s")
        return f"{place % {'line': self.line, 'column': self.column}}: {self.words}"

    def __str__(self) -> str:
        return f"{self.locale}.{self.field}: {self.said}" if self.locale else self.said


def problems(source: str) -> list[Problem]:
    """What is wrong with a text, for the person who typed it. Empty when it can be sent."""
    if len(source) <= caps.MAX_SOURCE and (problem := unstorable(source)):
        return [Problem(f"{problem}.")]
    read = _known(source)
    if isinstance(read.error, caps.TooMuch):
        return [Problem(read.error.words)]
    if read.error is not None:
        return [_in_plain_words(read.error, source)]
    said = gettext("there is no filter “%(name)s”.")
    return [
        Problem(f"{said % {'name': name}} {_instead(name)}", *_place(source, index))
        for name, index in read.filters
        if name not in FILTERS
    ]


def too_much(source: str) -> str:
    """Which cap it breaks; empty: none."""
    error = _known(source).error
    return error.words if isinstance(error, caps.TooMuch) else ""


def variables(source: str) -> frozenset[str]:
    """The people's attributes a text asks for."""
    parse(source)
    return _known(source).variables


def _instead(name: str) -> str:
    known = OTHER_NAMES.get(name.lower())
    near = [known] if known else get_close_matches(name.lower(), FILTERS, n=1)
    if near:
        return gettext("Did you mean “%(nearest)s”?") % {"nearest": near[0]}
    return gettext("Use one of %(known)s.") % {"known": ", ".join(sorted(FILTERS))}


def _in_plain_words(error: LiquidError, source: str) -> Problem:
    message = str(error.args[0]) if error.args else str(error)
    for pattern, words in PLAIN_WORDS:
        if found := re.search(pattern, message):
            message = found.expand(str(words))
            break
    index = error.token.start_index if error.token is not None else -1
    # An unclosed {% if %} has no place of its own: point at the end of the text.
    return Problem(f"{message}.", *_place(source, index if index >= 0 else len(source)))


def _place(source: str, index: int) -> tuple[int, int]:
    """(line, column)"""
    before = source[:index]
    return before.count("\n") + 1, index - (before.rfind("\n") + 1) + 1
