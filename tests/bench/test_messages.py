"""What callers heard becomes figures."""

from __future__ import annotations

from bench.messages.callers import Heard
from bench.messages.outcome import answers, ids_of, milliseconds


def test_a_call_without_an_answer_counts_as_not_accepted() -> None:
    heard = [
        Heard(202, 0.0, 0.1, {"id": "1-1"}),
        Heard(200, 0.0, 0.3, {"id": "1-1"}),
        Heard(429, 0.0, 9.0, {"detail": "Slower."}),
        Heard(0, 0.0, 9.0, "ConnectionResetError()"),
    ]
    told = answers(heard)
    assert (told["calls"], told["accepted"], told["first_error"]) == (4, 2, "{'detail': 'Slower.'}")
    assert told["statuses"] == {"202": 1, "200": 1, "429": 1, "0": 1}
    assert told["p99_ms"] < 1_000
    assert ids_of(heard) == {"1-1": 0.1}


def test_percentiles_are_of_all_that_was_measured() -> None:
    found = milliseconds([number / 1000 for number in range(101)])
    assert (round(found["p50_ms"]), round(found["p99_ms"])) == (50, 99)
