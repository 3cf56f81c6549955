"""What became of the messages of a part: calls, rows and witness, side by side."""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

import psycopg

from bench.messages.callers import Heard
from bench.stack import Stack

PATIENCE = 120.0
NEWEST = "SELECT COALESCE(max(number), 0) FROM campaigns_message"
# One phone each, so that a message is one recipient.
FATE = """
SELECT m.run_id, m.number, m.first_seq, m.state, d.status
FROM campaigns_message m
LEFT JOIN campaigns_delivery d ON d.run_id = m.run_id AND d.seq = m.first_seq
WHERE m.number > %s
"""


class Part:
    """Begins now; `end` waits until every message of it has its row."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._before: int = self._rows(NEWEST)[0][0]

    def end(self, ids: Iterable[str], *, leaving: dict[str, float] | None = None) -> dict[str, Any]:
        """`leaving`: when the answer with an id came, of those whose lag is asked for."""
        deadline = time.monotonic() + PATIENCE
        while self._waiting() and time.monotonic() < deadline:  # what is missing then is shown
            time.sleep(0.5)
        rows = self._rows(FATE, self._before)
        time.sleep(1)  # the witness writes each 100 ms
        seen = self._witnessed()
        by_id = {f"{run}-{number}": f"{run}:{seq}" for run, number, seq, *_ in rows}
        statuses = Counter(row[4] or "nothing" for row in rows)
        of_ours = {name: seen[name] for name in by_id.values() if name in seen}
        wanted = set(ids)
        accepted = {f"{run}:{seq}" for run, _, seq, _, status in rows if status == "accepted"}
        lags = [
            min(seen[by_id[one]]) - answered
            for one, answered in (leaving or {}).items()
            if by_id.get(one) in seen
        ]
        return {
            "stored": len(rows), "rows": sum(statuses.values()) - statuses["nothing"],
            "pushed": len(of_ours), "became": dict(statuses),
            "lost": len(wanted - by_id.keys()) + statuses["nothing"],
            "twice": sum(len(times) > 1 for times in of_ours.values()),
            "agrees": accepted == of_ours.keys() and wanted == by_id.keys(), "lags": lags,
            "last_at": max((max(times) for times in of_ours.values()), default=0.0),
        }  # fmt: skip

    def _waiting(self) -> bool:
        return any(status is None for *_, status in self._rows(FATE, self._before))

    def _witnessed(self) -> dict[str, list[float]]:
        seen: dict[str, list[float]] = {}
        with self._stack.witness().open() as lines:
            for line in lines:
                record = json.loads(line)
                seen.setdefault(str(record["id"]), []).append(record["at"])
        return seen

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self._stack.superusers_url()) as connection:
            return connection.execute(sql, values).fetchall()


def ids_of(heard: Iterable[Heard]) -> dict[str, float]:
    """Of the messages that were accepted, and when the callers knew."""
    return {each.said["id"]: each.answered for each in heard if each.status == 202}


def answers(heard: list[Heard]) -> dict[str, Any]:
    """How long they took, and what was not an answer of the kind that is hoped for."""
    good = [each for each in heard if each.status in (200, 202)]
    bad = [each for each in heard if each.status not in (200, 202)]
    return {
        "calls": len(heard), "accepted": len(good),
        "statuses": dict(Counter(str(each.status) for each in heard)),
        **milliseconds([each.seconds for each in good]),
        "first_error": str(bad[0].said)[:300] if bad else "",
    }  # fmt: skip


def milliseconds(seconds: list[float]) -> dict[str, float]:
    names = {50: "p50_ms", 90: "p90_ms", 95: "p95_ms", 99: "p99_ms"}
    if len(seconds) < 2:
        return dict.fromkeys(names.values(), 0.0)
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return {name: cuts[percent - 1] * 1000 for percent, name in names.items()}
