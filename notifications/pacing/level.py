"""Level: which number from 0 to 1 does an answer of a project's own server say? Pure.

JSON as in `POST backpressure`, or the text in which Prometheus reads numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

BUSY = (429, 503)  # no more is borne
LEVEL = "level"
LABELS = re.compile(r'\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}')


class Trouble(models.TextChoices):
    """Why an answer says no level. Why there was none at all: `Call.Error`."""

    STATUS = "status", _("It answered %(status)s.")
    NO_NUMBER = "no_number", _("Its answer holds no number “%(name)s”.")
    NO_LEVEL = "no_level", _("“%(name)s” is not a number from 0 to 1 there.")


@dataclass(frozen=True)
class Read:
    """A level, or why there is none."""

    level: float | None
    trouble: str = ""


def parse(status: int, text: str, name: str) -> Read:
    """More than 1 is as busy as 1."""
    if status in BUSY:
        return Read(1.0)
    if not 200 <= status < 300:
        return Read(None, Trouble.STATUS)
    is_json = text.lstrip()[:1] == "{"
    found = _in_json(text, name or LEVEL) if is_json else list(_in_lines(text, name))
    if not found:
        return Read(None, Trouble.NO_NUMBER)
    if not all(_is_level(one) for one in found):
        return Read(None, Trouble.NO_LEVEL)
    return Read(1.0 if max(found) > 1 else float(max(found)))


def _is_level(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and value >= 0


def _in_json(text: str, name: str) -> list[Any]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [said[name]] if isinstance(said, dict) and name in said else []


def _in_lines(text: str, name: str) -> Iterator[float | None]:
    """Of each series of that name: the busiest counts. A line without an end was cut off."""
    for line in text.split("\n")[:-1] if name else ():
        if not line.startswith(name):
            continue
        rest = line[len(name) :]
        if labels := LABELS.match(rest):
            rest = rest[labels.end() :]
        if rest[:1].isspace():
            yield _number(rest.split())


def _number(words: list[str]) -> float | None:
    try:
        return float(words[0])
    except (ValueError, IndexError):
        return None
