"""Frequent series: one that sends many times a day is a single line of the calendar's day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from django.utils.translation import ngettext

from campaigns.planning.calendar import Entry

MAX_SINGLE_LINES = 4  # occurrences of a series on one day that are shown each on its own
AN_HOUR, HOURLY_TOLERANCE = timedelta(hours=1), timedelta(minutes=5)


@dataclass(frozen=True)
class Line:
    """One entry of a day, or several that differ only in their times."""

    first: Entry
    others: Sequence[Entry] = ()

    @property
    def times(self) -> str:
        """“every hour, 24 times”; empty for a single entry."""
        if not self.others:
            return ""
        count = 1 + len(self.others)
        if self._is_hourly:
            text = ngettext("every hour, %(count)s time", "every hour, %(count)s times", count)
        else:
            text = ngettext("%(count)s time", "%(count)s times", count)
        return text % {"count": count}

    @property
    def _is_hourly(self) -> bool:
        gaps = [later.at - earlier.at for earlier, later in pairwise([self.first, *self.others])]
        return all(abs(gap - AN_HOUR) <= HOURLY_TOLERANCE for gap in gaps)


def lines(entries: Sequence[Entry]) -> Iterator[Line]:
    """The lines of a day, in the order of its entries."""
    alike = [(entry.campaign.pk, entry.state) for entry in entries]
    frequent_keys = {key for key, count in Counter(alike).items() if count > MAX_SINGLE_LINES}
    yielded = set()
    for key, entry in zip(alike, entries, strict=True):
        if key not in frequent_keys:
            yield Line(entry)
        elif key not in yielded:
            yielded.add(key)
            same = [
                other for other_key, other in zip(alike, entries, strict=True) if other_key == key
            ]
            yield Line(entry, same[1:])
