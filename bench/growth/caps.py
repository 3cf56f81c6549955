"""What caps cost a message: the same run with and without them, in turns.

The caps are so wide that nobody is skipped. What each person was sent before is remembered, so that
their count is as long as after a busy week; each run begins with the same.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from bench import launch, people
from bench.stack import Stack

MESSAGES = 50_000
ROUNDS = 5
REMEMBERED = 5  # messages that everybody has got within the week already
WIDE = "UPDATE notifications_project SET cap_per_day = {cap}, cap_per_week = {cap}"
REMEMBER = (
    "TRUNCATE campaigns_counted",
    f"""
    INSERT INTO campaigns_counted (contact_id, run_id, seq, message, at)
    SELECT id, -n, id % 1000000, 0, now() - make_interval(days => n)
    FROM generate_series(1, {REMEMBERED}) n, notifications_contact ORDER BY n
    """,
    "VACUUM ANALYZE campaigns_counted",
    "CHECKPOINT",
)
COLUMNS = ("workers_us", "postgresql_us", "product_cpu_us", "per_second")


def measure(folder: Path, messages: int, *, rounds: int = ROUNDS) -> dict[str, Any]:
    with Stack(folder) as stack:
        people.fill(stack, messages)
        launch.measure(stack)  # the first is slower than any other
        found: dict[str, Any] = {"without": [], "with": []}
        for _ in range(rounds):
            for name, cap in (("without", "NULL"), ("with", "100")):
                _tell(stack, WIDE.format(cap=cap))
                for statement in REMEMBER:
                    _tell(stack, statement)
                found[name].append(launch.measure(stack))
    return {**found, "text": text(found)}


def _tell(stack: Stack, statement: str) -> None:
    with psycopg.connect(stack.superusers_url(), autocommit=True) as connection:
        connection.execute(statement)


def text(found: dict[str, Any]) -> str:
    lines = [f"{'':<10}{'workers':>12}{'PostgreSQL':>12}{'CPU':>12}{'messages/s':>12}"]
    for name in ("without", "with"):
        middle = [median(story[column] for story in found[name]) for column in COLUMNS]
        lines.append(f"{name + ' caps':<10}" + "".join(f"{value:>12,.1f}" for value in middle))
    more = median(
        with_caps["product_cpu_us"] - without["product_cpu_us"]
        for without, with_caps in zip(found["without"], found["with"], strict=True)
    )
    lines.append(f"Caps cost {more:.1f} µs of CPU a message, of which 12 were to be had")
    return "\n".join(lines)
