"""What rows and received requests say of one launch."""

from __future__ import annotations

from bench.launch import story

RUN = {
    "state": "finished",
    "finished_at": "2026-11-25T12:00:04Z",
    "totals": {"planned": 1_000, "accepted": 1_000, "waiting": 0},
}
CLICKED = 1_795_608_000.0  # 2026-11-25 12:00:00


def received(count: int) -> list[float]:
    """A thousand a second, from a second after the click."""
    return [CLICKED + 1 + number / 1_000 for number in range(count)]


def test_rows_and_requests_agree_when_there_are_as_many() -> None:
    told = story(RUN, CLICKED, received(1_000))
    assert (told["accepted"], told["received"], told["witness_agrees"]) == (1_000, 1_000, 1.0)
    assert (told["seconds"], told["first_request_seconds"]) == (4.0, 1.0)
    assert (round(told["per_second"]), told["overall_per_second"]) == (1_000, 250.0)


def test_a_request_without_a_row_or_a_row_without_a_request_is_no_agreement() -> None:
    assert story(RUN, CLICKED, received(1_001))["witness_agrees"] == 0.0
    assert story(RUN, CLICKED, received(999))["witness_agrees"] == 0.0
