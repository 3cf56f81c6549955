"""How many would it be? Counted exactly when that is quick, else on a part of the people.

The web server has few threads: rules over millions of people must not hold one for long.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from campaigns.audiences import audience, sampling
from notifications.postgres.budget import TooSlow, within


@dataclass(frozen=True)
class Estimate:
    contacts: int
    devices: int
    exact: bool
    took_ms: int


def estimate(project_id: int, rules: dict[str, Any]) -> Estimate:
    """Raises TooSlow when not even a part can be counted."""
    began = time.monotonic()
    exact = True
    try:
        with within(seconds=sampling.BUDGET_SECONDS):
            people, devices = audience.count(project_id, rules)
    except TooSlow:
        exact = False
        part = sampling.part()
        with within(seconds=sampling.PART_SECONDS):
            found = audience.count(project_id, rules, source=part.source)
        people, devices = (part.all(count) for count in found)
    return Estimate(people, devices, exact, round((time.monotonic() - began) * 1000))
