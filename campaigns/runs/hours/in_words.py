"""Local time in words: when a run in local time is due for its people, not when it begins."""

from __future__ import annotations

from datetime import UTC, datetime

from django.utils.translation import gettext as _

from notifications.values.moments import DAY_AND_CLOCK, local


def on_every_clock(wall: datetime) -> str:
    """The local time in a sentence: “30 Nov 2026, 09:00, by each reader's clock”."""
    return _("%(when)s, by each reader's clock") % {"when": shown(wall)}


def shown(wall: datetime) -> str:
    """The local time as a date and time: “30 Nov 2026, 09:00”."""
    return local(wall.replace(tzinfo=UTC), "UTC", DAY_AND_CLOCK)
