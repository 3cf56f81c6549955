"""Days off: the dates on which what repeats is left out, as people write them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import date

from django.utils.translation import gettext as _

MOST = 366
LONGEST = 12 * MOST
DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def read(text: str) -> frozenset[date]:
    """A date a line, or with blanks or commas between. Raises ValueError; its words say which."""
    if len(text) > LONGEST:
        raise _too_many()
    found = frozenset(map(_day, filter(None, re.split(r"[\s,;]+", text))))
    count(found)
    return found


def count(days: Collection[date]) -> None:
    if len(days) > MOST:
        raise _too_many()


def _too_many() -> ValueError:
    return ValueError(_("Too many days; at most %(most)s.") % {"most": MOST})


def written(days: Iterable[date]) -> str:
    return "\n".join(day.isoformat() for day in sorted(days))


def _day(word: str) -> date:
    try:
        if DATE.fullmatch(word):
            return date.fromisoformat(word)
    except ValueError:
        pass
    said = _("“%(word)s” is no date. Write it like 2026-12-25, one a line.")
    raise ValueError(said % {"word": word[:40]})
