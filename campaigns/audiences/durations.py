"""ISO 8601 durations of a fixed length: weeks, days, hours, minutes, seconds.

Months and years are refused on purpose: their length varies, so “within the last P1M” would mean
something else each month.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from django.utils.translation import gettext

DURATION = re.compile(
    r"P(?=.)(?:(?P<weeks>[0-9]{1,5})W)?(?:(?P<days>[0-9]{1,5})D)?"
    r"(?:T(?=.)(?:(?P<hours>[0-9]{1,6})H)?(?:(?P<minutes>[0-9]{1,8})M)?(?:(?P<seconds>[0-9]{1,9})S)?)?"
)


LIKE_ONE = re.compile(
    r"P(?=.)(?:[0-9]+W)?(?:[0-9]+D)?(?:T(?=.)(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+S)?)?"
)
LONGEST = 100  # characters; a longer text is refused without matching it


def parse_duration(text: str) -> timedelta | None:
    match = DURATION.fullmatch(text)
    if not match:
        return None
    return timedelta(**{unit: int(n) for unit, n in match.groupdict().items() if n})


def written(seconds: int) -> str:
    """Write seconds as an ISO 8601 duration, e.g. “P1DT2H”; 0 is “PT0S”."""
    days, seconds_left = divmod(seconds, 86_400)
    hours, seconds_left = divmod(seconds_left, 3_600)
    minutes, seconds_left = divmod(seconds_left, 60)
    clock = "".join(
        f"{n}{unit}" for n, unit in ((hours, "H"), (minutes, "M"), (seconds_left, "S")) if n
    )
    text = (f"{days}D" if days else "") + (f"T{clock}" if clock else "")
    return f"P{text}" if text else "PT0S"


def duration_problem(value: Any) -> str:
    """What is wrong with a duration, as the end of a sentence; empty if it is valid."""
    if not isinstance(value, str):
        return gettext("must be an ISO 8601 duration, e.g. P30D or PT12H.")
    if parse_duration(value) is not None:
        return ""
    if len(value) > LONGEST or LIKE_ONE.fullmatch(value):
        return gettext("too long; at most P99999D, or 5 digits of weeks and 6 of hours.")
    return gettext("must be an ISO 8601 duration, e.g. P30D or PT12H.")
