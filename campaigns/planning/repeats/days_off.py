"""Days off: the dates on which a series is left out, and their names, as people write them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

if TYPE_CHECKING:
    from campaigns.planning.campaign import Campaign

MOST = 366
LONGEST_NAME = 60
LONGEST = (12 + LONGEST_NAME) * MOST
DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
LIKE_A_DATE = re.compile(r"\d+[-./]\d|\d{5}")  # a mistyped date is not a name
MARKS = " ,;"
BETWEEN = re.compile(r"[\s,;]+")


def parse(text: str) -> frozenset[date]:
    return frozenset(named(text))


def named(text: str) -> dict[date, str]:
    """Parse the dates with their names; a date may have none.

    A line has one date, or several with blanks or commas between. The name of the last one may
    follow it. Raises ValueError; its message says what is wrong.
    """
    if len(text) > LONGEST:
        raise _too_many()
    days: dict[date, str] = {}
    for line in text.splitlines():
        days |= {day: name or days.get(day, "") for day, name in _parse_line(line).items()}
    count(days)
    return days


def _parse_line(line: str) -> dict[date, str]:
    days: list[date] = []
    remainder = line.strip(f"{MARKS}\t")
    while remainder and (not days or LIKE_A_DATE.match(remainder)):
        word, *after = BETWEEN.split(remainder, maxsplit=1)
        days.append(_parse_day(word))
        remainder = "".join(after)
    names = dict.fromkeys(days, "")
    if days:
        names[days[-1]] = _parse_name(remainder)
    return names


def beside(some: Mapping[date, str], others: Mapping[date, str]) -> dict[date, str]:
    """Merge both. For a day in both, the name in `some` counts, if it has one."""
    return {day: some.get(day) or others.get(day, "") for day in sorted({*some, *others})}


def count(days: Collection[date]) -> None:
    if len(days) > MOST:
        raise _too_many()


def _too_many() -> ValueError:
    return ValueError(_("Too many days; at most %(most)s.") % {"most": MOST})


def written(days: Iterable[date]) -> str:
    return "\n".join(day.isoformat() for day in sorted(days))


def in_lines(days: Mapping[date, str]) -> str:
    """Return the dates with their names, as a person types them."""
    return "\n".join(f"{day} {name}".rstrip() for day, name in sorted(days.items()))


def stored_names(days: Mapping[date, str]) -> dict[str, str]:
    """Return the names, as the database keeps them."""
    return {day.isoformat(): name for day, name in sorted(days.items()) if name}


def days_off_of(campaign: Campaign) -> dict[date, str]:
    """Return the days off in the campaign's columns: what a form put there, or what was saved."""
    names = {date.fromisoformat(day): name for day, name in campaign.holiday_names.items()}
    days = named(campaign.days_off)
    return {day: name or names.get(day, "") for day, name in days.items()}


def is_name(text: str) -> bool:
    """Whether this is a valid name, which parsing would not change."""
    return text == tidy(text) and len(text) <= LONGEST_NAME and not LIKE_A_DATE.match(text)


def tidy(text: str) -> str:
    printed = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printed.split()).strip(MARKS)


def _parse_name(text: str) -> str:
    name = tidy(text)
    if len(name) > LONGEST_NAME:
        message = _("“%(name)s” is too long for the name of a day; at most %(most)s characters.")
        raise ValueError(message % {"name": f"{name[:40]}…", "most": LONGEST_NAME})
    return name


def _parse_day(word: str) -> date:
    try:
        if DATE.fullmatch(word):
            return date.fromisoformat(word)
    except ValueError:
        pass
    text = _("“%(word)s” is no date. Write it like 2026-12-25, one a line.")
    raise ValueError(text % {"word": word[:40]})
