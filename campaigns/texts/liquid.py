"""The template language for marketers: Liquid without everything that could hurt a worker.

It has no loops and no includes, its filters are on an allow-list, and all growth is bounded. Each
hole closed here was opened first (a doubling variable, a chain of replace, a huge range). Errors
are in a marketer's words, with line and column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import takewhile
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from liquid import BoundTemplate, Environment, FalsyStrictUndefined
from liquid.exceptions import LiquidError

from campaigns.texts import caps
from campaigns.texts.filters.allowed_filters import FILTERS, OTHER_NAMES, put_into
from campaigns.texts.recent import Recent
from notifications.values.text import unstorable

TAGS = frozenset(
    (
        *("if", "unless", "case", "assign", "comment", "raw", "echo", "#"),
        *("content", "illegal", "output"),  # Liquid's own, for the text between the tags
    )
)
# The path of a value: its attribute, then names and numbers inside it.
Path = tuple[str | int, ...]
COMPUTED = ("size", "first", "last")  # Liquid computes these from the value before them

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
    (r"unexpected '(.)'", _("“\\1” is not expected here")),
]  # fmt: skip


class _Bounded(Environment):
    context_depth_limit = 10
    loop_iteration_limit = 100
    output_stream_limit = caps.MAX_OUTPUT
    local_namespace_limit = 10_000

    def __init__(self) -> None:
        super().__init__(undefined=FalsyStrictUndefined)
        for tag in set(self.tags) - TAGS:
            del self.tags[tag]
        put_into(self.filters)


_environment = _Bounded()
_lex = _environment.tokenizer()
LETTERS_REMEMBERED = 300_000  # of cached texts; Liquid's tree takes up to 200 bytes for each


@dataclass(frozen=True, slots=True)
class _Read:
    """A parsed text, or the error why it cannot be parsed."""

    template: BoundTemplate | None
    error: LiquidError | None
    uses: tuple[tuple[Path, int], ...] = ()  # each use of a value, and its index
    filters: tuple[tuple[str, int], ...] = ()  # each with the index of its first use


def _read(source: str) -> _Read:
    try:
        caps.check(source, _lex)
        template = _environment.from_string(source)
        analysis = template.analyze()
    except LiquidError as error:
        return _Read(None, error.with_traceback(None))
    except RecursionError:
        return _Read(None, caps.TooMuch(caps.DEEP, caps.MAX_DEPTH, caps.MAX_DEPTH))
    filters = tuple((name, spans[0].index) for name, spans in analysis.filters.items())
    uses = (variable for group in analysis.globals.values() for variable in group)
    places = tuple((_path(use.segments), use.span.index) for use in uses)
    return _Read(template, None, places, filters)


def _path(segments: Sequence[Any]) -> Path:
    """The path of a variable, as far as it is the same for everybody."""
    inner = takewhile(
        lambda segment: isinstance(segment, str | int) and segment not in COMPUTED, segments[1:]
    )
    return (segments[0], *inner)


# Each process parses a text once: parsing costs three times a rendering.
_known = Recent(_read, most=LETTERS_REMEMBERED)


def parse(source: str) -> BoundTemplate:
    read = _known(source)
    if read.template is None:
        assert read.error is not None
        # Otherwise the cached error would collect every place it was raised at.
        raise read.error.with_traceback(None)
    return read.template


@dataclass(frozen=True)
class Problem:
    """What is wrong with a text, and where. Pages show it without parsing the words.

    Line and column count from 1; 0 means the whole text.
    """

    words: str
    line: int = 0
    column: int = 0
    field: str = ""
    locale: str = ""

    @property
    def with_position(self) -> str:
        """The words with line and column, for a reader who knows which text it is."""
        if not self.line:
            return self.words
        where = gettext("line %(line)s, column %(column)s")
        return f"{where % {'line': self.line, 'column': self.column}}: {self.words}"

    def __str__(self) -> str:
        return (
            f"{self.locale}.{self.field}: {self.with_position}"
            if self.locale
            else self.with_position
        )


def problems(source: str) -> list[Problem]:
    """What is wrong with a text, for its author; empty if it can be sent."""
    if len(source) <= caps.MAX_SOURCE and (problem := unstorable(source)):
        return [Problem(f"{problem}.")]
    read = _known(source)
    if isinstance(read.error, caps.TooMuch):
        return [Problem(read.error.words)]
    if read.error is not None:
        return [_in_plain_words(read.error, source)]
    text = gettext("there is no filter “%(name)s”.")
    return [
        Problem(f"{text % {'name': name}} {_instead(name)}", *place(source, index))
        for name, index in read.filters
        if name not in FILTERS
    ]


def too_much(source: str) -> str:
    """The cap that a text breaks, in words; empty if it breaks none."""
    error = _known(source).error
    return error.words if isinstance(error, caps.TooMuch) else ""


def variables(source: str) -> frozenset[str]:
    """The attributes of people that a text uses."""
    return frozenset(str(path[0]) for path in paths(source))


def paths(source: str) -> frozenset[Path]:
    """The paths of all values that a text uses."""
    return frozenset(path for path, _ in list_uses(source))


def list_uses(source: str) -> tuple[tuple[Path, int], ...]:
    """Each use of a value in a text: its path, and its index in the text."""
    parse(source)
    return _known(source).uses


def written(path: Path) -> str:
    """The path as a text writes it: addr.city, tags[0]."""
    inner = "".join(
        f"[{segment}]" if isinstance(segment, int) else f".{segment}" for segment in path[1:]
    )
    return f"{path[0]}{inner}"


# --- Why a text cannot be filled in for a person --------------------------------------------------


class HoldsSeveral(Exception):
    """Raised if a text writes a whole object, which nobody could read."""

    def __init__(self, name: str, inner: str) -> None:
        text = gettext("“%(name)s” holds several values; ask for one of them: {{ %(one)s }}")
        self.words = text % {"name": name, "one": f"{name}.{inner}"}
        super().__init__(self.words)


class _Object(dict[str, Any]):
    """A person's object: a text can write its values, but not the object itself."""

    name = ""

    def __str__(self) -> str:
        raise HoldsSeveral(self.name, next(iter(self), "…"))


def held(value: Any, name: str) -> Any:
    """The same value, with objects that raise HoldsSeveral if a text writes them as a whole."""
    if isinstance(value, dict):
        inner = _Object({key: held(item, f"{name}.{key}") for key, item in value.items()})
        inner.name = name
        return inner
    if isinstance(value, list):
        return [held(item, f"{name}[{number}]") for number, item in enumerate(value)]
    return value


def what_is_missing(error: LiquidError) -> str:
    if match := re.fullmatch(r"'?(.+?)'? is undefined", str(error.args[0])):
        return gettext("“%(name)s” is missing") % {"name": match[1]}
    return gettext("a list has fewer values than the text asks for")


def as_kept(error: LiquidError) -> str:
    """The detail to store: “'city' is undefined”, also for a value inside another.

    Empty if a list has too few values.
    """
    match = re.fullmatch(r"'?(.+?)'? is undefined", str(error.args[0]))
    return f"'{match[1]}' is undefined" if match else ""


AT_FAULT = [
    (r"can't divide by 0", _("it divides by zero")),
    (r"are not supported between|in' and 'contains'", _("it compares values of different types")),
    (r"expected an integer|expected a number|must be .*int", _("a number is needed there")),
    (r"expected a string|must be str", _("a text is needed there")),
    (r"expected a date", _("a date is needed there")),
    (r"number takes 0 to (\d+)", _("a number is written with 0 to \\1 decimals")),
    (r"needs a code such as", _("a currency is its code of three letters, such as 'EUR'")),
    (r"plural (?:has no|needs)", _("“plural” takes one:, zero:, two:, few: or many:, and other:")),
    (r"would make a text of ([\d,]+) characters", _("it would make a text of \\1 characters")),
]


def why_it_fails(error: Exception) -> str:
    """Why a text fails, in words for its author, with the piece of it that is at fault."""
    message = str(error.args[0]) if error.args else ""
    text = gettext("a value of this person does not fit")
    for pattern, words in AT_FAULT:
        if match := re.search(pattern, message):
            text = match.expand(str(words))
            break
    token = error.token if isinstance(error, LiquidError) else None
    piece = _piece(token.source, token.start_index) if token is not None else ""
    return f"{piece}: {text}" if piece else text


def _piece(source: str, index: int) -> str:
    """The “{{ … }}” or “{% … %}” at this place."""
    start = max(source.rfind(opening, 0, index + 2) for opening in ("{{", "{%"))
    ends = [source.find(closing, index) for closing in ("}}", "%}")]
    end = min((position for position in ends if position >= 0), default=-1)
    return source[start : end + 2] if 0 <= start < end else ""


def _instead(name: str) -> str:
    known = OTHER_NAMES.get(name.lower())
    near = [known] if known else get_close_matches(name.lower(), FILTERS, n=1)
    if near:
        return gettext("Did you mean “%(nearest)s”?") % {"nearest": near[0]}
    return gettext("Use one of %(known)s.") % {"known": ", ".join(sorted(FILTERS))}


def _in_plain_words(error: LiquidError, source: str) -> Problem:
    message = str(error.args[0]) if error.args else str(error)
    for pattern, words in PLAIN_WORDS:
        if match := re.search(pattern, message):
            message = match.expand(str(words))
            break
    index = error.token.start_index if error.token is not None else -1
    # An unclosed {% if %} has no place of its own: point at the end of the text.
    return Problem(f"{message}.", *place(source, index if index >= 0 else len(source)))


def place(source: str, index: int) -> tuple[int, int]:
    """The line and the column of an index, from 1."""
    before = source[:index]
    return before.count("\n") + 1, index - (before.rfind("\n") + 1) + 1
