"""The benchmark's own small server gets slower the more readers come at once, and says so."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from bench.live.backend import SERVES_SECONDS, Backend, Readers
from bench.live.load import text

RUN = 7


def read(witness: Path, messages: int) -> tuple[list[float], float]:
    """How long each reader waited, and the highest level meanwhile."""
    lines = [json.dumps({"id": f"{RUN}:{seq}"}) for seq in range(messages)]
    witness.write_text("\n".join([*lines, json.dumps({"id": "8:1"})]) + "\n")
    return asyncio.run(_read(witness))


async def _read(witness: Path) -> tuple[list[float], float]:
    async with Backend() as backend:
        readers, ended = Readers(backend.port, witness, RUN), asyncio.Event()
        reading = asyncio.create_task(readers.read(ended))
        ended.set()
        highest = 0.0
        while not reading.done():
            highest = max(highest, backend.level)
            await asyncio.sleep(0.02)
        await reading
    return readers.seconds, highest


def test_many_at_once_wait_for_each_other_and_it_says_that_it_is_busy(tmp_path: Path) -> None:
    few, idle = read(tmp_path / "few", 20)
    many, busy = read(tmp_path / "many", 1_500)
    assert 0 < len(few) < 20 and 200 < len(many) < 400, "a fifth of the messages, of this run"
    assert min(few) >= SERVES_SECONDS
    assert max(many) > max(few) and busy > idle


def test_the_table_says_how_long_they_waited() -> None:
    one = {"accepted": 6_000, "opens": 1_261, "seconds": 50.0, "per_second": 120.0,
           "p50_ms": 41.0, "p95_ms": 153.0, "most_ms": 240.0}  # fmt: skip
    said = text({"silent": {**one, "p95_ms": 8_652.0}, "reporting": one})
    assert "p95 (wanted: 250 ms or less)" in said
    assert "8,652 ms" in said and "153 ms" in said
