"""`make bench BENCH="--only ceiling"`: an answerer of fixed bytes that counts, and what is told."""

from __future__ import annotations

import json
import ssl
import statistics
import urllib.request
from pathlib import Path
from typing import Any

from bench.growth.answerer import Answerer
from bench.growth.ceiling import answerer, text
from bench.processes import cpu_seconds
from bench.senders import senders
from bench.senders.measured import WARM_UP
from bench.servers import Environment

ROUND = {
    "planned": 20_000.0, "per_second": 9_100.0, "overall_per_second": 8_000.0,
    "workers_us": 120.0, "postgresql_us": 31.0, "valkey_us": 2.0, "other_us": 9.0,
    "product_cpu_us": 162.0, "emulator_us": 40.0, "peak_mb": 130.0, "accepted": 20_000.0,
    "received": 20_000.0, "witness_agrees": 1.0,
}  # fmt: skip


def asked(env: Environment, path: str) -> Any:
    tls = ssl.create_default_context(cafile=env["FCM_CA_FILE"])
    with urllib.request.urlopen(env["FCM_ENDPOINT"] + path, context=tls) as reply:
        return json.load(reply)


def test_the_answerer_accepts_every_message_and_keeps_when_each_came(tmp_path: Path) -> None:
    with answerer(tmp_path / "answerer", latency_ms=1) as (pid, env):
        found = senders.measure(
            "bench.senders.raw",
            "600",
            env=env,
            emulator_cpu=lambda: cpu_seconds(pid)["emulator"],
            at_once=2,
        )
        came = asked(env, "/admin/arrivals")
        asked(env, "/admin/reset")
        after = asked(env, "/admin/arrivals")
    assert (found["accepted"], found["refused"]) == (1200, 0)
    assert found["emulator_cpu_us"] > 0
    assert len(came) == 2 * WARM_UP + 1200
    assert came == sorted(came)
    assert after == []


def test_the_answerer_is_as_late_as_the_emulator() -> None:
    late = Answerer(60, 200)
    waits = sorted(late.delay() * 1000 for _ in range(9_000))
    assert 57 < statistics.median(waits) < 63
    assert 185 < waits[8_910] < 215
    assert Answerer(0, 0).delay() == 0


def test_the_ceiling_is_told_as_the_median_of_its_rounds() -> None:
    slow = ROUND | {"per_second": 7_000.0, "product_cpu_us": 200.0}
    told = text([slow, ROUND, ROUND | {"per_second": 9_300.0}]).splitlines()[-1]
    assert told == (
        "9,100 messages/s steady, 9,000 wanted; 162 µs of CPU a message without the answerer; "
        "rows and requests agree: yes"
    )


def test_a_round_whose_rows_and_requests_differ_is_not_outvoted() -> None:
    lost = ROUND | {"received": 20_001.0, "witness_agrees": 0.0}
    told = text([ROUND, lost, ROUND]).splitlines()
    assert told[-1].endswith("rows and requests agree: NO")
    (second,) = (line for line in told if line.startswith("| round 2"))
    assert [cell.strip() for cell in second.strip("| ").split("|")][-3:] == [
        *("20,000", "20,001", "NO")
    ]
