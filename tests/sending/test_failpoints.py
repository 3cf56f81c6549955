"""Failpoints: exact, announced, and out of the question where people are served."""

from __future__ import annotations

import pytest

from campaigns import failpoints
from campaigns.failpoints import Failpoint, Injected
from tests.config.manage_check import check


def test_a_failpoint_says_where_what_and_how_often() -> None:
    assert failpoints.parse("after_claim:kill:0.1") == Failpoint("after_claim", "kill", 0.1)
    assert failpoints.parse("sweep:raise") == Failpoint("sweep", "raise", 1.0)
    assert failpoints.parse("") is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("lunch:kill:1", "lunch is not a failpoint; there are before_claim"),
        ("sweep:explode:1", "explode is nothing a failpoint does; it can kill, raise, sleep"),
        ("sweep:kill:2", "2 is no probability"),
        ("sweep:kill:often", "often is no probability"),
    ],
)
def test_a_failpoint_nobody_knows_is_refused_in_words(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        failpoints.parse(text)


def test_only_the_armed_point_strikes(monkeypatch: pytest.MonkeyPatch) -> None:
    failpoints.hit("sweep")
    monkeypatch.setattr(failpoints, "ARMED", failpoints.parse("sweep:raise:1"))

    failpoints.hit("advance")
    with pytest.raises(Injected):
        failpoints.hit("sweep")


@pytest.mark.parametrize("environment", ["production", "staging", "demo", "development"])
def test_outside_test_an_armed_failpoint_stops_the_start(environment: str) -> None:
    done = check(CARILLON_ENV=environment, CARILLON_FAILPOINT="sweep:kill:1")
    assert done.returncode != 0
    assert "CARILLON_FAILPOINT makes processes die on purpose" in done.said
