"""A fault that this machine cannot play is skipped: it counts neither for us nor against us."""

from __future__ import annotations

from typing import cast

import pytest

from tests.chaos import play
from tests.chaos.fault import CannotBePlayed, Fault
from tests.chaos.judge import Verdict
from tests.chaos.stage import Stage
from tests.chaos.table import line, summary

HELD = Verdict("F1", "killed", messages=3_000, bound=600, recovered=2.5, played=True)
BROKE = Verdict("F2", "frozen", lost=1, played=True, troubles=["1 is lost"])
SKIPPED = Verdict("F17", "clock 5 min ahead", skipped="a compiler is not\ninstalled")


def test_the_reason_stands_in_the_line() -> None:
    assert line(SKIPPED).split("  ")[-1].strip() == "skipped: a compiler is not installed"
    assert line(HELD).endswith("ok")
    assert line(BROKE).splitlines()[1].strip() == "1 is lost"


@pytest.mark.parametrize(
    ("verdicts", "begins", "ends"),
    [
        ([HELD, HELD], "2 faults, 6,000 messages, 0 lost, 0 twice", " Every invariant held."),
        ([HELD, BROKE], "2 faults, 3,000 messages, 1 lost, 0 twice", " Failed: F2."),
        (
            [HELD, SKIPPED],
            "1 of 2 faults played (skipped: F17), 3,000 messages, 0 lost,",
            " Every invariant held in these.",
        ),
        ([BROKE, SKIPPED], "1 of 2 faults played (skipped: F17), 0 messages,", " Failed: F2."),
    ],
    ids=["all played", "one broke", "one skipped", "one broke, one skipped"],
)
def test_the_last_line_claims_only_what_was_played(
    verdicts: list[Verdict], begins: str, ends: str
) -> None:
    assert summary(verdicts).startswith(begins)
    assert summary(verdicts).endswith(ends)


def test_what_the_machine_lacks_is_not_a_fault_that_held(monkeypatch: pytest.MonkeyPatch) -> None:
    def act(_: object) -> None:
        raise CannotBePlayed("a compiler is not installed")

    monkeypatch.setattr(play, "Scene", lambda stage, fault: object())
    verdict = play.play(cast(Stage, None), Fault("F17", "clock 5 min ahead", act))

    assert (verdict.skipped, verdict.played) == ("a compiler is not installed", False)
    assert verdict.what == "clock 5 min ahead"
