"""Times, durations and counts as people read them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

UNITS = (("day", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
SPELLINGS = {
    "s": 1, "sec": 1, "second": 1, "min": 60, "m": 60, "minute": 60, "h": 3_600, "hour": 3_600,
    "d": 86_400, "day": 86_400, "w": 604_800, "week": 604_800,
}  # fmt: skip


def in_zone(moment: datetime | None, zone: str, *, seconds: bool = False) -> str:
    """“21 Nov 2026, 20:13 Asia/Seoul”: a time without its zone is half a time."""
    if moment is None:
        return "–"
    local = moment.astimezone(ZoneInfo(zone))
    return f"{local.day} {local:%b %Y, %H:%M:%S} {zone}" if seconds else short(moment, zone)


def short(moment: datetime, zone: str) -> str:
    local = moment.astimezone(ZoneInfo(zone))
    return f"{local.day} {local:%b %Y, %H:%M} {zone}"


def in_words(duration: timedelta | float | None) -> str:
    """The two largest units: “1 h 20 min”, “45 s”."""
    if duration is None:
        return "–"
    left = round(duration.total_seconds() if isinstance(duration, timedelta) else duration)
    parts = []
    for unit, size in UNITS:
        count, left = divmod(max(left, 0), size)
        if count:
            plural = "s" if unit == "day" and count > 1 else ""
            parts.append(f"{count:,} {unit}{plural}")
        if len(parts) == 2 or (parts and not count):
            break
    return " ".join(parts) or "0 s"


def seconds_of(text: str) -> int | None:
    """“15 min”, “1 h 30 min”, “2 days” or plain seconds; None when it says no duration."""
    if text.strip().isdecimal():
        return int(text)
    parts = re.findall(r"(\d{1,9})\s*([a-z]+)", text.lower())
    rest = re.sub(r"(\d{1,9})\s*([a-z]+)", "", text.lower())
    sizes = [SPELLINGS.get(unit) or SPELLINGS.get(unit.rstrip("s")) for _, unit in parts]
    if not parts or rest.strip(" ,and") or None in sizes:
        return None
    return sum(int(count) * (size or 0) for (count, _), size in zip(parts, sizes, strict=True))


class NoSuchTime(ValueError):
    """A wall clock never showed this time: it was turned forward over it."""


def on_the_clock(wall: datetime, zone: str) -> datetime:
    """The instant a wall clock in `zone` shows `wall`.

    Raises NoSuchTime for the hour that is skipped in spring. Of the hour that comes twice in
    autumn it is the first: early by the clock is better than an hour late.
    """
    moment = wall.replace(tzinfo=ZoneInfo(zone), fold=0)
    back = moment.astimezone(ZoneInfo("UTC")).astimezone(ZoneInfo(zone))
    if back.replace(tzinfo=None) != wall:
        raise NoSuchTime(
            f"{wall:%H:%M} does not exist on {wall.day} {wall:%B %Y} in {zone}: the clocks are "
            f"turned forward that night. Choose {back:%H:%M}, or another time."
        )
    return moment


def comes_twice(wall: datetime, zone: str) -> bool:
    """Whether clocks turned back make this time come twice."""
    first = wall.replace(tzinfo=ZoneInfo(zone), fold=0)
    return first.utcoffset() != first.replace(fold=1).utcoffset()
