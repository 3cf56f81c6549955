"""What FCM's Data API tells of Android: by day, project and label, what was accepted and became.

Google's own comes days later, rounded, and leaves out what is small; here it is at once and whole.
Of which app an address is, nobody here knows: each app of a project gets the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date, datetime
from functools import lru_cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from emulator.google.messages import Message

GOOGLES_DAY = ZoneInfo("America/Los_Angeles")
DELIVERED, COLLAPSED, EXPIRED = "delivered", "collapsed", "droppedTtlExpired"
TOO_MANY = "droppedTooManyPendingMessages"


class Group(NamedTuple):
    """What is counted together."""

    day: str
    project: str
    label: str


def group_of(message: Message, *, project: str, at: float) -> Group | None:
    """None: it is for no Android phone."""
    blocks = (message.document.get(name) for name in ("android", "androidV2"))
    android = next((block for block in blocks if block is not None), None)
    if android is None or not message.is_for_a_device:
        return None
    of_all = message.document.get("fcmOptions", {}).get("analyticsLabel", "")
    label = android.get("fcmOptions", {}).get("analyticsLabel", of_all)
    return Group(_day(int(at // 3_600)), project, label)


class Figures:
    def __init__(self) -> None:
        self._accepted: Counter[Group] = Counter()
        self._became: defaultdict[Group, Counter[str]] = defaultdict(Counter)

    def accept(self, group: Group) -> None:
        self._accepted[group] += 1

    def became(self, group: Group | None, what: str) -> None:
        if group is not None:
            self._became[group][what] += 1

    def forget(self) -> None:
        self._accepted.clear()
        self._became.clear()

    def page(self, project: str, app: str, *, after: int, size: int) -> dict[str, Any]:
        """As Google lists them."""
        groups = sorted(group for group in self._accepted if group.project == project)
        said: dict[str, Any] = {}
        if entries := [self._entry(group, app) for group in groups[after : after + size]]:
            said["androidDeliveryData"] = entries
        if after + size < len(groups):
            said["nextPageToken"] = str(after + size)
        return said

    def _entry(self, group: Group, app: str) -> dict[str, Any]:
        day, accepted = date.fromisoformat(group.day), self._accepted[group]
        became = self._became[group]
        percents = {what: _percent(count, accepted) for what, count in became.items()}
        if waiting := accepted - became.total():
            percents["pending"] = _percent(waiting, accepted)
        return {
            "appId": app,
            "date": {"year": day.year, "month": day.month, "day": day.day},
            **({"analyticsLabel": group.label} if group.label else {}),
            "data": {"countMessagesAccepted": str(accepted), "messageOutcomePercents": percents},
        }


def _percent(count: int, of: int) -> float:
    return round(100 * count / of, 2)


@lru_cache(maxsize=64)
def _day(hour: int) -> str:
    return datetime.fromtimestamp(hour * 3_600, GOOGLES_DAY).date().isoformat()
