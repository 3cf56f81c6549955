"""ISO 8601 durations of a fixed length: weeks, days, hours, minutes, seconds.

Months and years are refused on purpose: they have no length, and “within the last P1M” would mean
something else each month.
"""

from __future__ import annotations

import re
from datetime import timedelta

DURATION = re.compile(
    r"P(?=.)(?:(?P<weeks>\d{1,5})W)?(?:(?P<days>\d{1,5})D)?"
    r"(?:T(?=.)(?:(?P<hours>\d{1,6})H)?(?:(?P<minutes>\d{1,8})M)?(?:(?P<seconds>\d{1,9})S)?)?"
)


def parse_duration(text: str) -> timedelta | None:
    found = DURATION.fullmatch(text)
    if not found:
        return None
    return timedelta(**{unit: int(n) for unit, n in found.groupdict().items() if n})
