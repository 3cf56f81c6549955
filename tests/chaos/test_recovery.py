"""What counts as one recovery: each harm has its own, and the slowest of them is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.chaos.evidence import Evidence, recovered

BEGAN = datetime(2026, 3, 1, 9, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def window(chunk: int, attempt: int, opened: float, settled: float | None, *seqs: int) -> Any:
    return SimpleNamespace(
        chunk_id=chunk,
        attempt=attempt,
        opened_at=at(opened),
        settled_at=None if settled is None else at(settled),
        seqs=list(seqs),
    )


def evidence(
    *windows: Any,
    rows: dict[int, float],
    rung: tuple[float, ...] = (),
    killed: tuple[float, ...] = (),
) -> Evidence:
    """Of a run with one chunk, rung at these times."""
    stage = SimpleNamespace(killed_at=lambda: [at(each) for each in killed])
    told = SimpleNamespace(
        scene=SimpleNamespace(stage=stage, healed_at=None, back_at=None),
        run=SimpleNamespace(started_at=BEGAN, finished_at=at(max(rows.values()))),
        rows={seq: SimpleNamespace(at=at(moment)) for seq, moment in rows.items()},
        rung={(1, at(each)) for each in rung},
        windows=list(windows),
    )
    return cast(Evidence, told)


def test_the_longest_silence_is_told() -> None:
    assert recovered(evidence(rows={1: 1.0, 2: 9.5, 3: 10.0})) == pytest.approx(8.5)


def test_a_death_while_it_recovers_has_a_recovery_of_its_own() -> None:
    told = evidence(rows={1: 1.0, 2: 22.0}, rung=(21.0,), killed=(1.5, 12.0))
    assert recovered(told) == pytest.approx(10.5)


def test_a_dead_window_lies_about_until_its_chunk_is_taken_up() -> None:
    dead, next_one = window(1, 1, 1.0, None, 1, 2), window(1, 2, 12.0, 12.4, 1, 2)
    others = {seq: float(seq) for seq in range(3, 14)}
    told = evidence(dead, next_one, rows={**others, 1: 12.4, 2: 12.4})
    assert recovered(told) == pytest.approx(11.0)


def test_a_window_waits_from_the_death_of_its_worker_not_from_its_opening() -> None:
    dead, next_one = window(1, 1, 1.0, None, 1), window(1, 2, 12.0, 12.4, 1)
    others = {seq: float(seq) for seq in range(2, 13)}
    told = evidence(dead, next_one, rows={**others, 1: 12.4}, killed=(2.5, 12.2))
    assert recovered(told) == pytest.approx(9.5)


def test_whoever_took_it_up_may_die_before_he_comes_to_its_people() -> None:
    dead, also_dead = window(1, 1, 1.0, None, 1, 2), window(1, 2, 12.0, None, 3)
    last = window(1, 3, 23.0, 23.5, 1, 2, 3)
    others = {seq: float(seq) for seq in range(4, 23)}
    told = evidence(dead, also_dead, last, rows={**others, 1: 23.5, 2: 23.5, 3: 23.5}, rung=(22.5,))
    assert recovered(told) == pytest.approx(11.0)


def test_a_chunk_rung_again_was_found_even_if_it_then_waits_in_the_queue() -> None:
    dead, also_dead = window(1, 1, 1.0, None, 1), window(1, 2, 16.0, None, 2)
    others = {seq: float(seq) for seq in range(3, 27)}
    told = evidence(dead, also_dead, rows={**others, 1: 26.0, 2: 26.0}, rung=(0, 9.0, 25.0))
    assert recovered(told) == pytest.approx(9.0)


def test_a_dead_window_nobody_took_up_waits_for_its_rows() -> None:
    dead = window(1, 1, 1.0, None, 1)
    others = {seq: float(seq) for seq in range(2, 31)}
    told = evidence(dead, rows={**others, 1: 30.0})
    assert recovered(told) == pytest.approx(29.0)
