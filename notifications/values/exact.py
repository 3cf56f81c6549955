"""Exact JSON: numbers stay as they were written, even if 64 bits cannot hold them.

orjson is fast, but turns such numbers into floats. So we search its result for floats. If there is
one, the standard library reads the text again: a whole number as an int, a long fraction as an
Exact.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson

from notifications.values.nesting import too_deep

READABLE_DIGITS = 4_300  # the longest whole number that Python reads
# orjson refuses some of these numbers. Digits inside a text may match, too.
LONG_NUMBER = re.compile(rb"(^|[\[:,\s])-?(?:[0-9.]{16,}|[0-9.]+[eE][0-9+-]+)[0-9.eE+-]*")


class Exact(float):
    """A number as it was written. In calculations it is the nearest float."""

    def __new__(cls, written: str) -> Exact:
        number = super().__new__(cls, written)
        number.written = str(written)
        return number

    written: str

    def __str__(self) -> str:
        return self.written

    def digits(self) -> float:
        """Return how many digits the number has when it is written out."""
        try:
            number = Decimal(self.written)
        except InvalidOperation:  # its exponent has too many digits
            return float("inf")
        _, digits, exponent = number.as_tuple()
        fraction = max(0, -int(exponent))
        return max(len(digits) + int(exponent), 0) + fraction


def whole(written: str) -> float:
    return int(written) if len(written) <= READABLE_DIGITS else Exact(written)


def fraction(written: str) -> float:
    near = float(written)
    try:
        same = Decimal(written) == Decimal(repr(near))
    except InvalidOperation:
        same = False
    return near if same else Exact(written)


_patient = json.JSONDecoder(parse_int=whole, parse_float=fraction)


def loads(text: str | bytes) -> Any:
    """Read JSON. Raises the errors of orjson, which alone decides whether this is JSON."""
    content = text.encode() if isinstance(text, str) else text
    try:
        value = orjson.loads(content)
        if not _holds_float(value) or not LONG_NUMBER.search(content):
            return value
    except orjson.JSONDecodeError:
        value = orjson.loads(LONG_NUMBER.sub(rb"\g<1>0", content))
    if too_deep(value):
        return value  # the caller refuses it; reading it again would fail
    return _patient.decode(content.decode())


def _holds_float(value: Any) -> bool:
    level = [value]
    while level:
        inner: list[Any] = []
        for item in level:
            if type(item) is float:
                return True
            if type(item) is dict:
                inner += item.values()
            elif type(item) is list:
                inner += item
        level = inner
    return False


class Decoder(json.JSONDecoder):
    """`loads` as a class, which a JSONField needs."""

    def decode(self, s: str, _w: Any = None) -> Any:
        return loads(s)


class Encoder(json.JSONEncoder):
    """`dumps` as a class, which a JSONField needs."""

    def encode(self, o: Any) -> str:
        return dumps(o, orjson.OPT_SORT_KEYS if self.sort_keys else 0).decode()


def dumps(value: Any, option: int = 0) -> bytes:
    try:
        return orjson.dumps(value, default=_as_written, option=option)
    except TypeError:  # an int of more than 64 bits, for which orjson does not call `default`
        return orjson.dumps(_with_large_numbers(value), default=_as_written, option=option)


def _as_written(value: Any) -> orjson.Fragment:
    if isinstance(value, Exact):
        return orjson.Fragment(value.written)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _with_large_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_large_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_with_large_numbers(inner) for inner in value]
    large = isinstance(value, int) and not -(2**63) <= value < 2**64
    return orjson.Fragment(str(value)) if large else value
