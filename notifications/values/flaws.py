"""Flaws: invalid values in a JSON body, with their place and what to send instead.

JSON has no NaN, half a character is no text, and a name that is given twice is ambiguous. The fast
parser stops at the first flaw or does not notice it. So a body that may have one is read again by a
slow parser.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from notifications.values.exact import Exact, fraction, whole
from notifications.values.nesting import too_deep

# Matches the end of a member's name, or a text that begins with a colon.
NAME = re.compile(rb'(?<!\\)"\s*:')
HALF = re.compile("[\ud800-\udfff]")
NO_NUMBER = "{} is no number that JSON has. Give another value, or leave it out."
TOO_LARGE = "This number is too large. Give a smaller one, or a text."
HALF_A_CHARACTER = "Holds half of a character (a lone surrogate); send it whole, or leave it out."
TWICE = "Is given twice; give it once."
LARGEST = int(sys.float_info.max)


@dataclass(frozen=True)
class Flaw:
    """One invalid value. `where` has the names and list indexes, from the outside in."""

    where: tuple[str | int, ...]
    message: str

    def within(self, depth: int) -> str:
        """Return the field, without the first `depth` steps: `devices[0].token`."""
        path = ""
        for step in self.where[depth:]:
            path += f"[{step}]" if isinstance(step, int) else f".{_readable(step)}"
        return path.lstrip(".")


class Flawed(dict[str, str]):
    """Takes the place of a row that has flaws: the field and the message of each."""


class _Twice(dict[str, Any]):
    names: list[str]


def names_in(value: Any) -> int:
    """Count the members of all objects in a value."""
    count, level = 0, [value]
    while level:
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                count += len(item)
                inner += item.values()
            elif isinstance(item, list):
                inner += item
        level = inner
    return count


def may_name_twice(body: bytes, value: Any) -> bool:
    """Whether the text may have more names than the parsed value, so that one is given twice."""
    return len(NAME.findall(body)) != names_in(value)


def find(body: bytes, *, exactly: bool) -> tuple[Any, Iterator[Flaw]]:
    """Parse a body and find its flaws. Raises ValueError or RecursionError if it is no JSON even
    for the slow parser. `exactly`: numbers may have any size."""
    value = _decoder.decode(body.decode())
    wrong = partial(_wrong, exactly=exactly)
    return value, iter(()) if too_deep(value) else within(value, wrong)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    twice = _Twice(members)
    twice.names = [name for name, times in Counter(name for name, _ in pairs).items() if times > 1]
    return twice


_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_int=whole, parse_float=fraction)


def within(
    value: Any, wrong: Callable[[Any], str], where: tuple[str | int, ...] = ()
) -> Iterator[Flaw]:
    """Find the flaws in a value. `wrong` says what is wrong with a text or number, if anything."""
    if isinstance(value, dict):
        if isinstance(value, _Twice):
            yield from (Flaw((*where, name), TWICE) for name in dict.fromkeys(value.names))
        for name, inner in value.items():
            if HALF.search(name):
                yield Flaw((*where, name), HALF_A_CHARACTER)
            yield from within(inner, wrong, (*where, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from within(inner, wrong, (*where, index))
    elif message := wrong(value):
        yield Flaw(where, message)


def too_large(value: Any) -> str:
    """Return a message if a double cannot hold this number."""
    return _wrong(value, exactly=False)


def _wrong(value: Any, *, exactly: bool) -> str:
    if isinstance(value, str):
        return HALF_A_CHARACTER if HALF.search(value) else ""
    if isinstance(value, int):  # it may have more digits than the fast parser reads
        return TOO_LARGE if not exactly and abs(value) > LARGEST else ""
    if isinstance(value, float) and not math.isfinite(value):
        if not isinstance(value, Exact):
            return NO_NUMBER.format(json.dumps(value))
        return "" if exactly else TOO_LARGE
    return ""


def _readable(name: str) -> str:
    return HALF.sub("\ufffd", name)[:80]
