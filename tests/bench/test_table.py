"""The table of `make bench` says what the rounds found."""

from __future__ import annotations

from bench.rounds import summary
from bench.table import table

LAUNCHED = {
    "seconds": 12.0,
    "planned": 20_000.0,
    "first_request_seconds": 0.5,
    "product_cpu_us": 300.0,
    "largest_worker_mb": 140.0,
    "witness_agrees": 1.0,
}


def row(text: str, beginning: str) -> list[str]:
    (found,) = (line for line in text.splitlines() if line.startswith(beginning))
    return found.removeprefix(beginning).split()


def sender(**numbers: float) -> dict[str, float]:
    alike = {"per_second": 5000.0, "cpu_us": 100.0, "emulator_cpu_us": 70.0, "ratio": 1.0}
    return {**alike, "refused": 0.0, **numbers}


def shown(**changed: dict[str, float]) -> str:
    sdks = ("sdk_threads", "sdk_async_http1", "sdk_async_http2")
    senders = {name: sender() for name in ("bare", *sdks, "emulator_1", "emulator_2")}
    senders |= {"carillon": sender() | LAUNCHED, **changed}
    return table({"senders": senders, "pages": {"people": 0.05}})


def test_a_sender_s_row_has_its_rate_its_cost_its_ratio_and_the_emulator_s_cost() -> None:
    text = shown(sdk_threads=sender(per_second=612, cpu_us=1210, ratio=12.1, emulator_cpu_us=333))
    assert row(text, "firebase-admin send_each ") == ["612", "1210", "12.1", "333"]


def test_an_emulator_s_row_is_about_serving_and_not_about_those_who_load_it() -> None:
    text = shown(emulator_1=sender(cpu_us=222, emulator_cpu_us=64, ratio=0.64))
    assert row(text, "Emulator, one process, two bare loops") == ["5,000", "64", "0.6"]


def test_messages_that_a_sender_lost_are_told() -> None:
    assert "not accepted" not in shown()
    assert "send_each: 7 messages were not accepted" in shown(sdk_threads=sender(refused=7))


def test_one_round_that_disagrees_with_the_witness_is_not_outvoted() -> None:
    rounds = [{"cpu_us": cost, "witness_agrees": float(cost != 5)} for cost in (90.0, 5.0, 110.0)]
    assert summary(rounds) == {"cpu_us": 90.0, "witness_agrees": 0.0}
    assert row(shown(carillon=sender() | LAUNCHED | {"witness_agrees": 0.0}), "Witness")[-2] == "NO"
