"""`make bench` measures senders that really send."""

from __future__ import annotations

import json
from pathlib import Path

from bench import senders
from bench.processes import cpu_seconds
from bench.servers import emulator


def test_the_cost_of_a_message_is_counted_over_what_the_emulator_accepted(tmp_path: Path) -> None:
    with emulator(tmp_path, processes=2) as (pid, env):
        found = senders.measure(
            "bench.peer",
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
    warm_up = 2 * 1000
    assert len(accepted) == warm_up + 1200
