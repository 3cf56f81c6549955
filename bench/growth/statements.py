"""What PostgreSQL does for one message: its own statistics of statements, over one run."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import psycopg

from bench import launch, people
from bench.stack import Stack

MESSAGES = 50_000
STATEMENTS_SHOWN = 14
SLOWEST_FIRST = """
SELECT query, calls, total_exec_time * 1000 AS us
FROM pg_stat_statements JOIN pg_database ON oid = dbid
WHERE datname = current_database() ORDER BY total_exec_time DESC
"""


def measure(folder: Path, messages: int) -> dict[str, Any]:
    with Stack(folder) as stack:
        people.fill(stack, messages)
        _count_statements(stack)
        story = launch.measure(stack)
        with psycopg.connect(stack.superusers_url()) as connection:
            rows = connection.execute(SLOWEST_FIRST).fetchall()
    accepted = story["accepted"]
    found = [
        {"statement": _short(query), "calls": calls, "us": us / accepted}
        for query, calls, us in rows
    ]
    told = {"statements": found, "cpu_us": story["postgresql_us"], "messages": accepted}
    return {**told, "text": text(told)}


def _count_statements(stack: Stack) -> None:
    """They have to be loaded at its start: PostgreSQL is ended, and the launcher notices."""
    with psycopg.connect(stack.superusers_url(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
    pid = next(stack.state.rglob("postmaster.pid")).read_text().split()[0]
    os.kill(int(pid), signal.SIGINT)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            with psycopg.connect(stack.superusers_url(), autocommit=True) as connection:
                connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
                connection.execute("SELECT pg_stat_statements_reset()")
            time.sleep(5)  # the workers find it again
            return
        except psycopg.Error:
            time.sleep(0.5)
    raise SystemExit("PostgreSQL did not come back with its statistics.")


def _short(query: str) -> str:
    """Enough of a statement to find it in the code."""
    words = re.sub(r"\s+", " ", query.replace('"', "")).strip()
    return words if len(words) <= 90 else f"{words[:60]} … {words[-27:]}"


def text(found: dict[str, Any]) -> str:
    lines = [
        f"{each['us']:>7.2f} µs {each['calls']:>8,} ×  {each['statement']}"
        for each in found["statements"][:STATEMENTS_SHOWN]
    ]
    rest = found["statements"][STATEMENTS_SHOWN:]
    lines.append(f"{sum(each['us'] for each in rest):>7.2f} µs {len(rest):>8,} others")
    total = sum(each["us"] for each in found["statements"])
    lines.append(
        f"{total:>7.2f} µs for each of {found['messages']:,.0f} messages inside statements, waits "
        f"for disk and locks included; PostgreSQL's CPU: {found['cpu_us']:.1f} µs"
    )
    return "\n".join(lines)
