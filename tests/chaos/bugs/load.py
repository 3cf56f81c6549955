"""What F102 and F103 must notice."""

from __future__ import annotations

from typing import Any

from tests.chaos.bug import bug, patch


@bug("the last safe rate lives in Redis", fault="F102")
def _safe_rate_in_redis() -> None:
    """It is written there once, and gone after a flush."""
    from notifications.pacing import gate

    question, told = gate.Gate._question, set[str]()

    def from_redis(self: gate.Gate, wanted: int, idle: bool) -> dict[str, Any]:
        kept = gate._script(1.0).registered_client
        if self.safe and self.reference not in told:
            told.add(self.reference)
            kept.set(f"bug:{self.reference}", self.safe)
        self.safe = float(kept.get(f"bug:{self.reference}") or 0) or None
        return question(self, wanted, idle)

    patch(gate.Gate, "_question", from_redis)


@bug("alone, a worker forgets what the servers can bear", fault="F102")
def _alone_without_load() -> None:
    from notifications.pacing.gate import Gate, Grant

    alone = Gate._alone

    def forgetful(self: Gate, *asked: Any) -> Grant:
        self.safe = None
        return alone(self, *asked)

    patch(Gate, "_alone", forgetful)


@bug("servers that say nothing are idle", fault="F103")
def _silence_is_idle() -> None:
    from notifications.pacing import load_level

    parse = load_level.parse

    def hopeful(status: int, text: str, name: str) -> load_level.Read:
        said = parse(status, text, name)
        return load_level.Read(0.0) if said.level is None else said

    patch(load_level, "parse", hopeful)


@bug("who died is waited for when the project's servers are to be asked", fault="F103")
def _dead_asker() -> None:
    from datetime import timedelta

    from notifications.pacing import health

    patch(health, "LOST", timedelta(hours=1))
