"""What can be turned while the emulator runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Settings:
    latency_ms: float = 60.0
    token_seconds: float = 3600

    def change(self, wanted: Any) -> None:
        """Take every wanted value or, with a ValueError, none of them."""
        if not isinstance(wanted, dict) or not wanted:
            raise ValueError('send a JSON object such as {"latency_ms": 60}')
        unknown = sorted(set(wanted) - {"latency_ms", "token_seconds"})
        if unknown:
            raise ValueError(f"unknown setting: {', '.join(unknown)}")
        latency_ms = _number(wanted, "latency_ms", self.latency_ms, lowest=0, highest=60_000)
        token_seconds = _number(
            wanted, "token_seconds", self.token_seconds, lowest=0.1, highest=3600
        )
        self.latency_ms, self.token_seconds = latency_ms, token_seconds


def _number(
    wanted: dict[str, Any], name: str, otherwise: float, *, lowest: float, highest: float
) -> float:
    value = wanted.get(name, otherwise)
    if type(value) not in (int, float) or not lowest <= value <= highest:
        raise ValueError(f"{name} must be a number from {lowest} to {highest}")
    return float(value)
