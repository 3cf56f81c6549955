"""`make bench` measures senders that really send."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.processes import cpu_seconds
from bench.senders import senders
from bench.senders.measured import WARM_UP
from bench.servers import emulator

# By row: what it imports that only `make bench` installs.
SENDERS = {
    ("bench.senders.peer",): "",
    ("bench.senders.raw",): "",
    ("bench.senders.gathered",): "",
    ("bench.senders.over_h2",): "httpx",
    ("bench.senders.over_rust", "http1"): "pyreqwest",
    ("bench.senders.over_rust", "http2"): "pyreqwest",
}
OVER_HTTP2 = [("bench.senders.over_h2",), ("bench.senders.over_rust", "http2")]


@pytest.mark.parametrize("row", SENDERS, ids=" ".join)
def test_the_cost_of_a_message_is_counted_over_what_the_emulator_accepted(
    row: tuple[str, ...], tmp_path: Path
) -> None:
    if library := SENDERS[row]:
        pytest.importorskip(library, reason="make peers installs it")
    with emulator(tmp_path, processes=2, latency_ms=1) as (pid, env):
        found = senders.measure(
            *row,
            "600",
            env=env,
            emulator_cpu=lambda: cpu_seconds(pid)["emulator"],
            at_once=2,
        )
    accepted = [json.loads(line) for line in (tmp_path / "witness.jsonl").read_text().splitlines()]
    assert found["accepted"] == 1200
    assert found["refused"] == 0
    assert found["cpu_us"] > 0
    assert found["emulator_cpu_us"] > 0
    assert found["peak_mb"] > 0
    assert len(accepted) == 2 * WARM_UP + 1200
    # Connections are kept: three of each process carry all, or many carry some each.
    connections = {each["connection"] for each in accepted}
    assert len(connections) <= (2 * 3 if row in OVER_HTTP2 else len(accepted) // 2)


def test_a_sender_s_memory_is_its_own_and_not_that_of_whoever_started_it(tmp_path: Path) -> None:
    ours = b"x" * 300_000_000
    with emulator(tmp_path, processes=1, latency_ms=1) as (_, env):
        found = senders.measure("bench.senders.raw", "500", env=env, emulator_cpu=lambda: 0.0)
    assert found["peak_mb"] < 200 < len(ours) / 2**20
