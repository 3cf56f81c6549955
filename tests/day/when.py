"""Where people live, and what happens when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

# With every kind of offset, on both sides of the date line; the last is nobody's.
ZONES = [
    "Pacific/Kiritimati", "Pacific/Auckland", "Australia/Sydney", "Australia/Adelaide",
    "Asia/Tokyo", "Asia/Seoul", "Asia/Shanghai", "Asia/Bangkok", "Asia/Dhaka", "Asia/Kathmandu",
    "Asia/Kolkata", "Asia/Karachi", "Asia/Dubai", "Europe/Moscow", "Africa/Nairobi",
    "Africa/Johannesburg", "Europe/Berlin", "Africa/Lagos", "Europe/London", "Atlantic/Azores",
    "America/Sao_Paulo", "America/Santiago", "America/New_York", "America/Chicago",
    "America/Denver", "America/Los_Angeles", "America/Anchorage", "Pacific/Honolulu",
    "Pacific/Pago_Pago", "",
]  # fmt: skip
HOME = "Asia/Seoul"  # the project's
SATURDAY = datetime(2026, 10, 24, tzinfo=UTC)
BEGINS = SATURDAY + timedelta(hours=11, minutes=30)
EARLY = SATURDAY + timedelta(hours=11, minutes=40)
NEWS = SATURDAY + timedelta(days=1, hours=6, minutes=20)
# Europe's clocks go back at 01:00 by UTC, in the middle of it.
PAUSED = SATURDAY + timedelta(days=1, minutes=30)
RESUMED = SATURDAY + timedelta(days=1, hours=2, minutes=15)
LATENESS = timedelta(hours=1)
TTL = timedelta(hours=30)
RATE = 1_000
A_DAY_TWICE = 2
