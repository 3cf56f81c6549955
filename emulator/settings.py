"""What can be turned while the emulator runs: every setting, its default and what it may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any
from urllib.parse import urlsplit

Check = Callable[[str, Any], Any]


def number(lowest: float, highest: float) -> Check:
    def check(name: str, value: Any) -> float:
        if type(value) not in (int, float) or not lowest <= value <= highest:
            raise ValueError(f"{name} must be a number from {lowest} to {highest}")
        return float(value)

    return check


def whole(lowest: int, highest: int) -> Check:
    def check(name: str, value: Any) -> int:
        if type(value) is not int or not lowest <= value <= highest:
            raise ValueError(f"{name} must be a whole number from {lowest} to {highest}")
        return value

    return check


def choice(*words: str) -> Check:
    def check(name: str, value: Any) -> str:
        if value not in words:
            raise ValueError(f"{name} must be one of {', '.join(words)}")
        return str(value)

    return check


def yes_or_no(name: str, value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError(f"{name} must be true or false")
    return value


def url(name: str, value: Any) -> str:
    if not isinstance(value, str) or urlsplit(value).scheme not in ("http", "https"):
        raise ValueError(f"{name} must be a URL that starts with http:// or https://")
    return value


def or_none(check: Check) -> Check:
    return lambda name, value: None if value is None else check(name, value)


PERCENT = number(0, 100)
CHECKS: dict[str, Check] = {
    "latency_ms": number(0, 60_000),
    "latency_p99_ms": or_none(number(0, 60_000)),
    "token_seconds": number(0.1, 3600),
    "quota_per_minute": or_none(whole(1, 100_000_000)),
    "quota_retry_after": choice("mixed", "seconds", "date", "none"),
    "device_quotas": yes_or_no,
    "phones": yes_or_no,
    "beacon_url": or_none(url),
    "receive_ms": number(0, 600_000),
    "displayed_percent": PERCENT,
    "opened_percent": PERCENT,
    "open_ms": number(0, 3_600_000),
    "offline_percent": PERCENT,
    "offline_seconds": number(0, 86_400),
}


@dataclass(slots=True)
class Settings:
    latency_ms: float = 60.0  # of every answer; the median, when there is a 99th percentile
    latency_p99_ms: float | None = None
    token_seconds: float = 3600
    quota_per_minute: int | None = None  # of each project
    quota_retry_after: str = "mixed"
    device_quotas: bool = False  # 240 a minute, 5,000 an hour, collapsible 20 and one per 3 min
    phones: bool = False
    beacon_url: str | None = None
    receive_ms: float = 1_000.0  # medians of what a phone and its owner take
    displayed_percent: float = 90.0
    opened_percent: float = 10.0
    open_ms: float = 20_000.0
    offline_percent: float = 5.0
    offline_seconds: float = 60.0

    def change(self, wanted: Any) -> None:
        """Take every wanted value or, with a ValueError, none of them."""
        if not isinstance(wanted, dict) or not wanted:
            raise ValueError('send a JSON object such as {"latency_ms": 60}')
        unknown = sorted(wanted.keys() - CHECKS.keys())
        if unknown:
            raise ValueError(f"unknown setting: {', '.join(unknown)}; known: {', '.join(CHECKS)}")
        checked = {name: CHECKS[name](name, value) for name, value in wanted.items()}
        changed = replace(self, **checked)
        if changed.latency_p99_ms is not None and changed.latency_p99_ms < changed.latency_ms:
            raise ValueError("latency_p99_ms must not be below latency_ms")
        for name, value in checked.items():
            setattr(self, name, value)

    def values(self) -> dict[str, Any]:
        return asdict(self)


assert {field.name for field in fields(Settings)} == CHECKS.keys()
