"""When to try again, when to give up, and what the run says meanwhile. The clock is handed in."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.runs.ledger import Retry
from campaigns.runs.run import Run
from campaigns.sending import judge_answers, message_settings
from campaigns.sending.judge_answers import REFUSED, Final
from campaigns.sending.unsettled import UnsettledRecipient
from campaigns.texts.rendering import Reader
from notifications.gateway import Arrived, Outcome, Verdict
from notifications.people.project import Project

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
READER = Reader("1:1", "u1", {}, "en", "UTC", "token", "live1:x", "android")


def left(
    tries: int = 0,
    *,
    first: datetime | None = None,
    copies: int = 0,
    released: bool = False,
    in_windows: int = 0,
) -> UnsettledRecipient:
    of_run = message_settings.of_run(run())[None]
    return UnsettledRecipient(
        1, 1, 1, READER, of_run, tries, first, copies, "", released, in_windows
    )


def run(*, on_unknown: str = "resend", ttl: int = 86_400) -> Run:
    return Run(
        project=Project(),
        started_at=NOON - timedelta(minutes=5),
        ttl_seconds=ttl,
        on_unknown=on_unknown,
    )


def judge(
    person: UnsettledRecipient, outcome: Outcome, its_run: Run, now: datetime
) -> Final | Retry | None:
    return judge_answers.judge(
        replace(person, settings=message_settings.of_run(its_run)[None]), outcome, now
    )


def may_be_sent_to(person: UnsettledRecipient, its_run: Run) -> bool:
    return judge_answers.may_be_sent_to(
        replace(person, settings=message_settings.of_run(its_run)[None])
    )


MAY_HAVE_ARRIVED = ("server_error", "unavailable", "unanswered")


def answer(reason: str, retry_after: float | None = None) -> Outcome:
    verdicts = {
        "throttled": Verdict.THROTTLED,
        "device_throttled": Verdict.THROTTLED,
        "unanswered": Verdict.UNANSWERED,
    }
    return Outcome(
        reference="1:1",
        verdict=verdicts.get(reason, Verdict.TRANSIENT),
        arrived=Arrived.MAYBE if reason in MAY_HAVE_ARRIVED else Arrived.NO,
        reason=reason,
        retry_after=retry_after,
    )


def wait(outcome: Outcome, person: UnsettledRecipient | None = None) -> float:
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
        waits = [wait(answer("throttled", 1.0), left(tries)) for tries in range(5)]
        assert all(1.5 < after / before < 2.6 for before, after in pairwise(waits))
    with subtests.test("FCM's “at once” is not taken at its word for ever"):
        assert wait(answer("unavailable", 0.0), left(6)) >= 60


def test_an_answer_nobody_knows_is_asked_for_once_more_and_then_believed() -> None:
    judged = judge(left(1, first=NOON), answer("unknown_answer"), run(), NOON)
    assert isinstance(judged, Final)
    assert (judged.status, judged.reason) == ("rejected", "unknown_answer")


def test_a_device_that_is_throttled_for_an_hour_is_given_up() -> None:
    long_ago = NOON - timedelta(minutes=59)
    judged = judge(left(3, first=long_ago), answer("device_throttled"), run(), NOON)
    assert isinstance(judged, Final)
    assert (judged.status, judged.reason) == ("rejected", "device_throttled")


@pytest.mark.parametrize("reason", ["device_throttled", "unavailable", "throttled"])
def test_a_time_that_fcm_names_is_obeyed_up_to_the_deadline(reason: str) -> None:
    hours = 3 * 3600.0
    long_ago = NOON - timedelta(minutes=59)

    assert hours <= wait(answer(reason, hours), left(2, first=long_ago)) <= hours + 60

    judged = judge(left(), answer(reason, hours), run(ttl=3600), NOON)
    assert isinstance(judged, Final)
    assert judged.status == ("unknown" if reason == "unavailable" else "skipped")


@pytest.mark.parametrize("reason", ["unreachable", "throttled"])
def test_who_surely_got_nothing_is_tried_until_the_deadline(reason: str) -> None:
    for_a_day = left(200, first=NOON - timedelta(hours=23))

    assert wait(answer(reason), for_a_day) <= 660

    judged = judge(for_a_day, answer(reason), run(ttl=301), NOON)
    assert isinstance(judged, Final)
    assert (judged.status, judged.reason) == ("skipped", "expired")
    assert reason in judged.detail


@pytest.mark.parametrize("reason", ["unavailable", "server_error"])
def test_after_three_requests_that_may_have_arrived_it_is_unknown(reason: str) -> None:
    second = judge(left(1, first=NOON, copies=1), answer(reason), run(), NOON)
    assert isinstance(second, Retry)
    assert (second.copies, second.ambiguous) == (2, True)

    third = judge(left(2, first=NOON, copies=2), answer(reason), run(), NOON)

    assert isinstance(third, Final)
    assert (third.status, third.reason, third.resent) == ("unknown", reason, True)


def test_after_two_requests_whose_connections_broke_it_is_unknown() -> None:
    assert isinstance(judge(left(), answer("unanswered"), run(), NOON), Retry)

    second = judge(left(1, first=NOON, copies=1), answer("unanswered"), run(), NOON)

    assert isinstance(second, Final)
    assert (second.status, second.reason) == ("unknown", "unanswered")


def test_a_refusal_between_them_is_not_counted_among_the_three() -> None:
    judged = judge(left(5, first=NOON, copies=2), answer("throttled", 60), run(), NOON)
    assert isinstance(judged, Retry)
    assert (judged.tries, judged.copies) == (6, 2)


def test_what_a_dead_workers_window_says_is_not_counted_a_second_time() -> None:
    """It stays where it is, and is read again with the next claim."""
    refused = judge(left(copies=1, in_windows=1), answer("throttled", 60), run(), NOON)
    assert isinstance(refused, Retry)
    assert (refused.copies, refused.ambiguous) == (0, False)

    failed = judge(left(copies=1, in_windows=1), answer("unavailable"), run(), NOON)
    assert isinstance(failed, Retry)
    assert (failed.copies, failed.ambiguous) == (1, True)


@pytest.mark.parametrize("verdict", sorted(REFUSED))
def test_a_refusal_does_not_take_back_that_an_earlier_one_may_have_arrived(
    verdict: Verdict,
) -> None:
    refusal = Outcome(reference="1:1", verdict=verdict, arrived=Arrived.NO, reason="unregistered")

    judged = judge(left(1, first=NOON, copies=1), refusal, run(), NOON)

    assert isinstance(judged, Final)
    assert (judged.status, judged.reason) == ("unknown", "unanswered")
    assert "unregistered" in judged.detail


@pytest.mark.parametrize("reason", MAY_HAVE_ARRIVED)
def test_under_hold_one_request_that_may_have_arrived_is_the_last(reason: str) -> None:
    judged = judge(left(), answer(reason), run(on_unknown="hold"), NOON)
    assert isinstance(judged, Final)
    assert (judged.status, judged.reason) == ("unknown", reason)


@pytest.mark.parametrize("policy", ["hold", "resend"])
def test_a_released_person_gets_one_more_request_and_no_second(policy: str) -> None:
    """Counted as two already; one of a dead worker's windows would be the third."""
    assert may_be_sent_to(left(copies=2, released=True), run(on_unknown=policy))
    assert not may_be_sent_to(left(copies=3, released=True), run(on_unknown=policy))


def test_what_may_have_arrived_is_unknown_when_it_is_given_up() -> None:
    judged = judge(left(3, copies=1), answer("throttled", 60), run(ttl=301), NOON)
    assert isinstance(judged, Final)
    assert (judged.status, judged.reason) == ("unknown", "unanswered")
    assert "throttled" in judged.detail


def test_a_try_after_the_deadline_is_not_waited_for() -> None:
    judged = judge(left(), answer("throttled", 60), run(ttl=330), NOON)
    assert isinstance(judged, Final)
    assert (judged.status, judged.reason) == ("skipped", "expired")
    assert "throttled" in judged.detail


@given(
    answers=st.lists(
        st.builds(
            answer,
            st.sampled_from([*MAY_HAVE_ARRIVED, "throttled", "device_throttled", "unreachable"]),
            st.none() | st.floats(0, 1e6),
        ),
        min_size=1,
    ),
    ttl=st.integers(60, 2_419_200),
)
def test_whatever_fcm_answers_the_tries_end_at_the_deadline_and_three_may_arrive(
    answers: list[Outcome], ttl: int
) -> None:
    now, person, its_run, copies = NOON, left(), run(ttl=ttl), 0
    for outcome in answers:
        judged = judge(person, outcome, its_run, now)
        copies += outcome.arrived is Arrived.MAYBE
        assert copies <= 3
        if isinstance(judged, Final):
            assert (judged.status == "unknown") == (copies > 0)
            return
        assert isinstance(judged, Retry)
        assert now < judged.not_before <= its_run.deadline
        now = judged.not_before
        person = left(judged.tries, first=judged.first_tried_at, copies=judged.copies or 0)
    assert copies < 3
