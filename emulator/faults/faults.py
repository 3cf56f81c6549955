"""The faults that are scripted, and whom they meet. The first that fits a request decides it."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass
from typing import Any

from emulator.faults.addresses import Behaviour
from emulator.faults.fault import FIGURES, SEND, TOKEN, WEATHER, Fault
from emulator.shared import Cells, Table

__all__ = ["FIGURES", "SEND", "TOKEN", "Faults", "Weather"]

MAX_FAULTS = 64
REMEMBERED = 1 << 18


@dataclass(slots=True)
class Weather:
    """What the faults do to connections just now."""

    idle_seconds: float | None = None
    stalled: bool = False
    outage: bool = False


@dataclass(slots=True)
class Rule:
    fault: Fault
    behaviour: Behaviour
    dice: random.Random


class Faults:
    def __init__(self, *, processes: int) -> None:
        self.scripted = False
        self.weather = Weather()
        self.hits = Cells(MAX_FAULTS, processes=processes)
        self.process = 0
        self._rules: list[Rule] = []
        self._met = Table(REMEMBERED, "")

    def put(self, faults: list[Fault]) -> None:
        """These and no others; those that were there before keep their memory."""
        known = {rule.fault.id: rule for rule in self._rules}
        self._rules = [known.get(fault.id) or self._new(fault) for fault in faults]
        self.scripted = bool(faults)

    def meet(
        self, door: str, address: str, message_id: str | None, *, now: float
    ) -> Behaviour | None:
        """What the first fault that fits does to this request; None if there is none."""
        for rule in self._rules:
            fault = rule.fault
            if fault.is_at(door) and fault.is_on(now) and self._hits(rule, address, message_id):
                self.hits.add(fault.id % MAX_FAULTS)
                return rule.behaviour
        return None

    def look_out(self, now: float) -> Weather:
        """The weather at this moment; the same object, so that whoever holds it sees it change."""
        on = {rule.fault.kind: rule.fault for rule in self._rules if rule.fault.is_on(now)}
        self.weather.idle_seconds = on["idle"].seconds if "idle" in on else None
        self.weather.stalled = "stall" in on
        self.weather.outage = "outage" in on
        return self.weather

    def show(self, now: float) -> list[dict[str, Any]]:
        return [
            rule.fault.script
            | {"hits": self.hits.total(rule.fault.id % MAX_FAULTS), "state": _state(rule, now)}
            for rule in self._rules
        ]

    def _new(self, fault: Fault) -> Rule:
        self.hits.put(fault.id % MAX_FAULTS, 0)
        dice = random.Random(fault.seed * 1_000 + self.process)
        return Rule(fault, fault.behaviour(), dice)

    def _hits(self, rule: Rule, address: str, message_id: str | None) -> bool:
        fault = rule.fault
        if fault.kind in WEATHER or not address.startswith(fault.prefix):
            return False
        if fault.address is not None and address != fault.address:
            return False
        if fault.times is not None and self.hits.total(fault.id % MAX_FAULTS) >= fault.times:
            return False
        if fault.first_only and self._has_met(fault.id, address, message_id):
            return False
        return fault.share == 100 or _roll(rule, address) < fault.share

    def _has_met(self, fault: int, address: str, message_id: str | None) -> bool:
        return self._met.find((fault, address, message_id))[1] is not None


def _roll(rule: Rule, address: str) -> float:
    """From 0 to 100: by the dice, or always the same for one address."""
    if rule.fault.each == "address":
        return zlib.crc32(f"{rule.fault.seed}:{address}".encode()) % 10_000 / 100
    return rule.dice.random() * 100


def _state(rule: Rule, now: float) -> str:
    if now < rule.fault.begins_at:
        return "waiting"
    return "on" if rule.fault.is_on(now) else "over"
