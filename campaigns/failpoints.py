"""Failpoints: places where a test may kill the process: `CARILLON_FAILPOINT=after_claim:kill:0.1`.

Outside tests, the settings refuse that variable and failpoints do nothing. Each stands where a
crash hurts most: between two commits.
"""

from __future__ import annotations

import os
import random
import signal
import time
from dataclasses import dataclass

from django.conf import settings

NAMES = (
    "before_claim",
    "after_claim",
    "window_opened",
    "mid_send",
    "before_settle",
    "after_settle",
    "advance",
    "prepare",
    "wave_done",
    "messages_taken",
    "before_decided",
    "after_decided",
    "sweep",
    "before_converted",
    "recounted",
    "alert_changed",
    "first_judged",
)
DEEDS = ("kill", "raise", "sleep")
NAP_SECONDS = 2.0


class Injected(Exception):
    """The error that a failpoint raises."""


@dataclass(frozen=True)
class Failpoint:
    name: str
    deed: str
    probability: float

    def strike(self) -> None:
        if random.random() >= self.probability:
            return
        if self.deed == "kill":
            # Written directly: a logger might not write it before the kill.
            os.write(2, f"\nfailpoint {self.name} kills at {time.time():.3f}\n".encode())
            os.kill(os.getpid(), signal.SIGKILL)
        if self.deed == "sleep":
            time.sleep(NAP_SECONDS)
        else:
            raise Injected(self.name)


def parse(text: str) -> Failpoint | None:
    """Read `name:deed:probability`; None if empty. Raises ValueError with a readable message."""
    if not text:
        return None
    name, deed, probability = (*text.split(":"), "1", "1")[:3]
    if name not in NAMES:
        raise ValueError(f"{name} is not a failpoint; there are {', '.join(NAMES)}")
    if deed not in DEEDS:
        raise ValueError(f"{deed} is nothing a failpoint does; it can {', '.join(DEEDS)}")
    try:
        share = float(probability)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise ValueError(f"{probability} is no probability above 0 and up to 1")
    return Failpoint(name, deed, share)


ARMED = parse(settings.FAILPOINT)


def hit(name: str) -> None:
    """Trigger this failpoint if a test has armed it; else do nothing."""
    if ARMED is not None and ARMED.name == name:
        ARMED.strike()
