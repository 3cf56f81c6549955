"""How many would it be? Counted exactly when that is quick, else on a part of the people.

The web server has few threads: rules over millions of people must not hold one for long.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from campaigns import audience
from campaigns.budget import TooSlow, within
from campaigns.selection import PEOPLE_AND_DEVICES

BUDGET = timedelta(seconds=2)
SAMPLE_PERCENT = 5


@dataclass(frozen=True)
class Estimate:
    contacts: int
    devices: int
    exact: bool
    took_ms: int


def estimate(project_id: int, rules: dict[str, Any], *, budget: timedelta = BUDGET) -> Estimate:
    began = time.monotonic()
    exact = True
    try:
        with within(seconds=budget.total_seconds()):
            people, devices = audience.count(project_id, rules)
    except TooSlow:
        exact = False
        people, devices = count_sample(project_id, rules, percent=SAMPLE_PERCENT)
    return Estimate(people, devices, exact, round((time.monotonic() - began) * 1000))


def count_sample(project_id: int, rules: dict[str, Any], *, percent: int) -> tuple[int, int]:
    """(people, devices), extrapolated from some of the table's pages, chosen at random."""
    sampled = PEOPLE_AND_DEVICES.replace(
        "notifications_contact c", f"notifications_contact c TABLESAMPLE SYSTEM ({percent:d})"
    )
    people, devices = audience.count(project_id, rules, source=sampled)
    return people * 100 // percent, devices * 100 // percent
