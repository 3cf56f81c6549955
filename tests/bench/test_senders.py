"""`make bench` measures senders that really send."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.processes import cpu_seconds
from bench.senders import senders
from bench.senders.peer import WARM_UP
from bench.servers import emulator


@pytest.mark.parametrize(
    "module", ["bench.senders.peer", "bench.senders.raw", "bench.senders.gathered"]
)
def test_the_cost_of_a_message_is_counted_over_what_the_emulator_accepted(
    module: str, tmp_path: Path
) -> None:
    with emulator(tmp_path, processes=2, latency_ms=1) as (pid, env):
        found = senders.measure(
            module,
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
