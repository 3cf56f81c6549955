"""Level: reads from an answer of a project's own server how busy it is, as a number from 0 to 1.

The answer is JSON as in `POST backpressure`, or Prometheus' text format. The functions are pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

BUSY = (429, 503)  # the server can take no more load
LEVEL = "level"
LABELS = re.compile(r'\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}')


class Trouble(models.TextChoices):
    """Why an answer has no level. `Call.Error` says why there was no answer at all."""

    STATUS = "status", _("It answered %(status)s.")
    NO_NUMBER = "no_number", _("Its answer holds no number “%(name)s”.")
    NO_LEVEL = "no_level", _("“%(name)s” is not a number from 0 to 1 there.")


@dataclass(frozen=True)
class Read:
    """A level, or the reason why there is none."""

    level: float | None
    trouble: str = ""


def parse(status: int, text: str, name: str) -> Read:
    """Read the level from an answer. A number above 1 counts as 1."""
    if status in BUSY:
        return Read(1.0)
    if not 200 <= status < 300:
        return Read(None, Trouble.STATUS)
    is_json = text.lstrip()[:1] == "{"
    values = _in_json(text, name or LEVEL) if is_json else list(_in_lines(text, name))
    if not values:
        return Read(None, Trouble.NO_NUMBER)
    if not all(_is_level(value) for value in values):
        return Read(None, Trouble.NO_LEVEL)
    return Read(1.0 if max(values) > 1 else float(max(values)))


def _is_level(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and value >= 0


def _in_json(text: str, name: str) -> list[Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [content[name]] if isinstance(content, dict) and name in content else []


def _in_lines(text: str, name: str) -> Iterator[float | None]:
    """Return the value of each series with this name; the highest counts. A last line without a
    line end was cut off, so it is skipped."""
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
