"""How much FCM lets through: of a project in a minute, to one device in a minute and an hour."""

from __future__ import annotations

import math
import random
from email.utils import formatdate
from typing import Any

from emulator.google.catalogue import device_rate, project_quota
from emulator.google.envelopes import Answer, Refused
from emulator.settings import Settings
from emulator.shared import Cells, Table

MINUTE, HOUR = 60, 3600
DEVICE_PER_MINUTE = 240
DEVICE_PER_HOUR = 5_000
COLLAPSIBLE_BURST = 20
COLLAPSIBLE_SECONDS = 180
MOST_DEVICES = 1 << 17


class ProjectQuota:
    """A bucket per project that refills whole each minute; no clock's minute, but its own."""

    def __init__(
        self, projects: tuple[str, ...], settings: Settings, *, processes: int, seed: int
    ) -> None:
        self._rows = {project: 2 * index for index, project in enumerate(projects)}
        self._settings = settings
        self._dice = random.Random(seed)
        self._phase = self._dice.uniform(3, 57)
        self.cells = Cells(2 * len(projects), processes=processes)

    def take(self, project: str, *, now: float) -> None:
        """Count one request of this project, or Refused if its minute is used up."""
        quota = self._settings.quota_per_minute
        assert quota is not None
        row, minute = self._rows[project], self._minute(now)
        if self._used(row, minute) >= quota:
            raise Refused(self._refusal(project, quota, now=now))
        if self.cells.get(row) != minute:
            self.cells.put(row, minute)
            self.cells.put(row + 1, 0)
        self.cells.add(row + 1)

    def give_back(self, project: str) -> None:
        """A 429 is not counted."""
        self.cells.add(self._rows[project] + 1, -1)

    def used(self, project: str, *, now: float) -> int:
        return self._used(self._rows[project], self._minute(now))

    def forget(self) -> None:
        for row in self._rows.values():
            self.cells.put(row, 0)

    def _minute(self, now: float) -> int:
        return int((now - self._phase) // MINUTE)

    def _used(self, row: int, minute: int) -> int:
        minutes, used = self.cells.all(row), self.cells.all(row + 1)
        return sum(count for of, count in zip(minutes, used, strict=True) if of == minute)

    def _refusal(self, project: str, quota: int, *, now: float) -> Answer:
        seconds = MINUTE - (now - self._phase) % MINUTE
        shape = self._settings.quota_retry_after
        if shape == "mixed":
            shape = self._dice.choice(("seconds", "seconds", "date", "none"))
        value = {
            "seconds": str(math.ceil(seconds)),
            "date": formatdate(math.ceil(now + seconds), usegmt=True),
        }.get(shape, "")
        return project_quota(project, quota).retry_after(value)


class DeviceQuotas:
    """Of each device: two buckets that refill whole, and one that drips for what collapses."""

    def __init__(self) -> None:
        # The minute and its count, the hour and its count, collapsible messages left, and since.
        self._devices = Table(MOST_DEVICES, "dididd")

    def take(self, address: str, message: dict[str, Any], *, now: float) -> None:
        """Count one message to this device, or Refused if it has had too many."""
        place, known = self._devices.find(address)
        minute, in_minute, hour, in_hour, left, since = known or (now, 0, now, 0, 0.0, 0.0)
        if now - minute >= MINUTE:
            minute, in_minute = now, 0
        if now - hour >= HOUR:
            hour, in_hour = now, 0
        left = (
            COLLAPSIBLE_BURST
            if not known
            else min(COLLAPSIBLE_BURST, left + (now - since) / COLLAPSIBLE_SECONDS)
        )
        collapses = is_collapsible(message)
        if in_minute >= DEVICE_PER_MINUTE or in_hour >= DEVICE_PER_HOUR or (collapses and left < 1):
            raise Refused(device_rate(address))
        self._devices.write(place, minute, in_minute + 1, hour, in_hour + 1, left - collapses, now)

    def forget(self) -> None:
        self._devices.forget()


def is_collapsible(message: dict[str, Any]) -> bool:
    """Notification messages always are, data messages with a key; a ttl of 0 never is."""
    android = message.get("android", {})
    if android.get("ttl") == 0:
        return False
    return bool(
        "notification" in message or "notification" in android or android.get("collapseKey")
    )
