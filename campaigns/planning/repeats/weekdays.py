"""Weekdays: days of the week, as pages, programs and the database write them."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext as _

NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
CHOICES = [(name, WEEKDAYS[number]) for number, name in enumerate(NAMES)]
LONGEST = len(",".join(NAMES))


def parse(text: str) -> tuple[int, ...]:
    """Parse “mon,wed” to numbers; Monday is 0. Raises ValueError."""
    names = [name for name in text.split(",") if name]
    for name in names:
        if name not in NAMES:
            message = _(
                "“%(name)s” is no day of the week; use mon, tue, wed, thu, fri, sat or sun."
            )
            raise ValueError(message % {"name": name})
    return tuple(sorted({NAMES.index(name) for name in names}))


def written(days: Iterable[int]) -> str:
    return ",".join(NAMES[day] for day in days)


def in_words(text: str) -> str:
    """Return “Monday, Wednesday” for “mon,wed”."""
    return ", ".join(str(WEEKDAYS[day]) for day in parse(text))
