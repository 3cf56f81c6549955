"""The table of `make bench` says what the rounds found."""

from __future__ import annotations

from bench.rounds import ROWS, TRANSPORTS, summary
from bench.table import SENDERS, table

LAUNCHED = {
    "seconds": 12.0,
    "planned": 20_000.0,
    "overall_per_second": 1_666.0,
    "first_request_seconds": 0.5,
    "product_cpu_us": 300.0,
    "postgresql_us": 31.0,
    "valkey_us": 2.0,
    "other_us": 9.0,
    "witness_agrees": 1.0,
}


def row(text: str, beginning: str) -> list[str]:
    (found,) = (line for line in text.splitlines() if line.startswith(f"| {beginning}"))
    return [cell.strip() for cell in found.strip("| ").split("|")][1:]


def sender(**numbers: float) -> dict[str, float]:
    alike = {"per_second": 5000.0, "cpu_us": 100.0, "emulator_cpu_us": 70.0, "ratio": 1.0}
    return {**alike, "share": 1.0, "peak_mb": 60.0, "refused": 0.0, **numbers}


def shown(**changed: dict[str, float]) -> str:
    senders = {name: sender() for name in ROWS}
    senders |= {name: sender() | LAUNCHED for name in TRANSPORTS} | changed
    return table({"senders": senders})


def test_every_sender_that_is_measured_has_its_row() -> None:
    assert set(SENDERS) == {*ROWS, *TRANSPORTS}


def test_a_sender_s_row_has_its_rate_its_share_its_cost_and_the_emulator_s() -> None:
    text = shown(sdk_threads=sender(per_second=612, share=0.11, cpu_us=1210, emulator_cpu_us=333))
    assert row(text, "(c) firebase-admin send_each ") == [
        *("612", "0.11", "1210", "", "", "", "1210", "333", "60"),
    ]


def test_the_product_s_row_is_split_by_who_used_the_cpu() -> None:
    cells = row(shown(), "(f) Carillon on wire, Launch to finished")
    assert cells == ["5,000", "1.00", "100", "31", "2", "9", "300", "70", "60"]


def test_the_product_is_measured_by_the_best_of_each_library() -> None:
    text = shown(sdk_threads=sender(per_second=500), sdk_async_http2=sender(per_second=625))
    assert row(text, "Times the best firebase-admin")[0] == "1.0"  # the third one sends 5,000
    text = shown(
        sdk_threads=sender(per_second=500),
        sdk_async_http2=sender(per_second=625),
        sdk_async_http1=sender(per_second=100),
    )
    assert row(text, "Times the best firebase-admin")[0] == "8.0"


def test_the_product_over_aiohttp_stands_beside_it_and_is_not_what_the_product_is_judged_by() -> (
    None
):
    over_aiohttp = {"per_second": 2_500.0, "share": 0.5, "product_cpu_us": 420.0}
    text = shown(carillon_aiohttp=sender() | LAUNCHED | over_aiohttp)
    assert row(text, "(f) Carillon on aiohttp")[:2] == ["2,500", "0.50"]
    assert row(text, "  of (a), steady")[0] == "1.00"
    assert row(text, "CPU of a message without")[0] == "300 µs"


def test_a_table_of_one_round_has_no_row_for_the_second_transport() -> None:
    senders = {name: sender() for name in ROWS} | {"carillon": sender() | LAUNCHED}
    assert "on aiohttp" not in table({"senders": senders})


def test_messages_that_a_sender_lost_are_told() -> None:
    assert "not accepted" not in shown()
    assert "send_each: 7 messages were not accepted" in shown(sdk_threads=sender(refused=7))


def test_one_round_that_disagrees_with_the_witness_is_not_outvoted() -> None:
    rounds = [{"cpu_us": cost, "witness_agrees": float(cost != 5)} for cost in (90.0, 5.0, 110.0)]
    assert summary(rounds) == {"cpu_us": 90.0, "witness_agrees": 0.0}
    for name in TRANSPORTS:
        text = shown(**{name: sender() | LAUNCHED | {"witness_agrees": 0.0}})
        assert row(text, "Witness")[0] == "NO"
