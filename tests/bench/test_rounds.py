"""Every sender has its turn in every round of `make bench`."""

from __future__ import annotations

from collections.abc import Callable

from bench.rounds import in_turn, products

Numbers = dict[str, float]


def test_each_round_takes_the_senders_in_the_other_order() -> None:
    turns: list[str] = []

    def sender(name: str) -> Callable[[], Numbers]:
        def run() -> Numbers:
            turns.append(name)
            return {"cpu_us": 100.0, "per_second": 5_000.0}

        return run

    in_turn({name: sender(name) for name in ("bare", "raw", "carillon")}, 3)
    assert turns == [
        *("bare", "raw", "carillon"),
        *("carillon", "raw", "bare"),
        *("bare", "raw", "carillon"),
    ]


def test_a_sender_is_compared_with_the_bare_loop_of_its_own_round() -> None:
    bare = iter(
        [{"cpu_us": 100.0, "per_second": 5_000.0}, {"cpu_us": 200.0, "per_second": 2_500.0}]
    )
    found = in_turn(
        {"bare": lambda: next(bare), "raw": lambda: {"cpu_us": 50.0, "per_second": 10_000.0}}, 2
    )
    assert [each["ratio"] for each in found["raw"]] == [0.5, 0.25]
    assert [each["share"] for each in found["raw"]] == [2.0, 4.0]


def test_a_single_round_leaves_the_second_transport_out() -> None:
    assert products(1) == ["carillon"]
    assert products(3) == ["carillon", "carillon_aiohttp"]
