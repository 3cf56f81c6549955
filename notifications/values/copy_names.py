"""Names of copies: Spring, Spring (copy), Spring (copy 2). A copy of a copy is the next one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection

from django.utils.translation import pgettext

MAX_LETTERS = 100


def name_of_copy(name: str, taken: Collection[str]) -> str:
    """Return the first free name for a copy."""
    original = _original(name)
    numbered = (_copy_name(original, number) for number in itertools.count(1))
    return next(one for one in numbered if one not in taken)


def _copy_name(original: str, number: int) -> str:
    suffix = _word() if number == 1 else f"{_word()} {number}"
    ending = f" ({suffix})"
    return original[: MAX_LETTERS - len(ending)] + ending


def _original(name: str) -> str:
    """Remove what earlier copies appended to a name. Older releases appended it again and again."""
    word = re.escape(_word())
    return re.sub(rf"( \(({word}|copy)( \d+)?\))+$", "", name) or name


def _word() -> str:
    return pgettext("in the name of a copy: Spring (copy)", "copy")
