"""How many messages arrive while a server says that it is busy."""

from __future__ import annotations

import time

from tests.servers.fcm import Fcm

AT_THE_FLOOR = 10 * 1.5  # messages a second, and what a bucket holds


def a_second(fcm: Fcm) -> float:
    """Messages that arrive, for three seconds from now."""
    before = int(fcm.counts()["accepted"])
    time.sleep(3)
    return (int(fcm.counts()["accepted"]) - before) / 3
