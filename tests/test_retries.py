"""When to try again, when to give up, and what the run says meanwhile. The clock is handed in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.judging import Final, judge
from campaigns.ledger import Retry
from campaigns.left import Left
from campaigns.rendering import Reader
from campaigns.run import Run
from notifications.gateway import Outcome, Verdict

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
READER = Reader("1:1", "u1", {}, "en", "UTC", "token", "live1:x", "android")


def left(tries: int = 0, *, first: datetime | None = None, ambiguous: bool = False) -> Left:
    return Left(1, 1, READER, tries, first, ambiguous, gone=False)


def run(*, on_unknown: str = "resend", ttl: int = 86_400) -> Run:
    return Run(started_at=NOON - timedelta(minutes=5), ttl_seconds=ttl, on_unknown=on_unknown)


def answer(reason: str, retry_after: float | None = None) -> Outcome:
    verdicts = {
        "throttled": Verdict.THROTTLED,
        "device_throttled": Verdict.THROTTLED,
        "unanswered": Verdict.UNANSWERED,
    }
    verdict = verdicts.get(reason, Verdict.TRANSIENT)
    return Outcome(reference="1:1", verdict=verdict, reason=reason, retry_after=retry_after)


def wait(outcome: Outcome, person: Left | None = None) -> float:
    judged = judge(person or left(), outcome, run(), NOON)
    assert isinstance(judged, Retry)
    return (judged.not_before - NOON).total_seconds()


@pytest.mark.parametrize(
    ("reason", "retry_after", "at_least"),
    [
        ("server_error", None, 10),
        ("unanswered", None, 10),
        ("unreachable", None, 10),
        ("unavailable", None, 10),
        ("unavailable", 2.0, 2),
        ("throttled", 60.0, 60),
        ("throttled", 7.0, 7),
        ("device_throttled", 60.0, 60),
        ("unknown_answer", None, 60),
    ],
)
def test_the_first_retry_comes_no_earlier_than_google_asks(
    reason: str, retry_after: float | None, at_least: float
) -> None:
    assert at_least <= wait(answer(reason, retry_after)) <= at_least * 1.25


def test_retries_are_spread_and_grow(subtests: pytest.Subtests) -> None:
    with subtests.test("two that failed together do not come back together"):
        assert len({wait(answer("server_error")) for _ in range(20)}) > 10
    with subtests.test("each waits about twice as long as the one before"):
        waits = [wait(answer("server_error"), left(tries)) for tries in range(5)]
        assert all(1.5 < after / before < 2.6 for before, after in pairwise(waits))
    with subtests.test("FCM's “at once” is not taken at its word for ever"):
        assert wait(answer("unavailable", 0.0), left(6)) >= 60


def test_an_answer_nobody_knows_is_asked_for_once_more_and_then_believed() -> None:
    judged = judge(left(1, first=NOON), answer("unknown_answer"), run(), NOON)
    assert isinstance(judged, Final)
    assert (judged.status, judged.reason) == ("rejected", "unknown_answer")


def test_after_an_hour_it_is_given_up_with_its_last_reason() -> None:
    long_ago = NOON - timedelta(minutes=59)
    judged = judge(left(3, first=long_ago), answer("server_error"), run(), NOON)
    assert isinstance(judged, Final)
    assert (judged.status, judged.reason) == ("rejected", "server_error")


def test_what_may_have_arrived_is_unknown_when_it_is_given_up() -> None:
    long_ago = NOON - timedelta(minutes=59)
    judged = judge(left(3, first=long_ago, ambiguous=True), answer("throttled", 60), run(), NOON)
    assert isinstance(judged, Final)
    assert judged.status == "unknown"


def test_a_try_after_the_deadline_is_not_waited_for() -> None:
    judged = judge(left(), answer("throttled", 60), run(ttl=330), NOON)
    assert isinstance(judged, Final)
    assert (judged.status, judged.reason) == ("skipped", "expired")
    assert "throttled" in judged.detail


@given(
    reason=st.sampled_from(
        ["server_error", "unavailable", "throttled", "device_throttled", "unanswered"]
    ),
    retry_after=st.none() | st.floats(0, 1e6),
    ttl=st.integers(60, 2_419_200),
)
def test_whatever_fcm_answers_the_tries_end_within_the_hour_and_the_deadline(
    reason: str, retry_after: float | None, ttl: int
) -> None:
    now, person, its_run = NOON, left(), run(ttl=ttl)
    for _ in range(50):
        judged = judge(person, answer(reason, retry_after), its_run, now)
        if isinstance(judged, Final):
            break
        assert isinstance(judged, Retry)
        assert now < judged.not_before <= min(its_run.deadline, NOON + timedelta(hours=1))
        now = judged.not_before
        person = left(judged.tries, first=judged.first_tried_at, ambiguous=judged.ambiguous)
    else:
        pytest.fail("it was tried without end")
