"""Every answer FCM is known to give, over real TLS, means to a sender what it should."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.google.catalogue import CATALOGUE
from notifications.gateway import Outcome, Verdict
from tests.fcm.message import message
from tests.fcm.ways import Gateways
from tests.servers.fcm import Fcm

A_KEY, A_TOKEN = ("platform_key", Verdict.PLATFORM_KEY), ("unauthorised", Verdict.UNAUTHORISED)
DEAD = ("unregistered", Verdict.DEAD_ADDRESS)
OUR_TEXT = ("refused_message", Verdict.BAD_MESSAGE)
FORBIDDEN = ("forbidden", Verdict.UNAUTHORISED)
WRONG_PROJECT = ("wrong_project", Verdict.UNAUTHORISED)
THROTTLED = ("throttled", Verdict.THROTTLED)
OVERLOADED = ("server_error", Verdict.TRANSIENT)
NO_INFORMATION = ("unknown_answer", Verdict.TRANSIENT)

MEANS = {
    "dead": DEAD,
    "deadios": DEAD,
    "disabledios": DEAD,
    "badios": DEAD,
    "malformed": ("malformed_address", Verdict.BAD_ADDRESS),
    "foreign": ("other_project", Verdict.FOREIGN_ADDRESS),
    "thirdparty": A_KEY,
    "wrongenv": A_KEY,
    "webkey": A_KEY,
    "oldapnskey": A_KEY,
    "badmessage": OUR_TEXT,
    "vague": OUR_TEXT,
    "bare": OUR_TEXT,
    "toobig": OUR_TEXT,
    "unreadable": ("unreadable_message", Verdict.BAD_MESSAGE),
    "expired": A_TOKEN,
    "signin": A_TOKEN,
    "norole": FORBIDDEN,
    "apioff": FORBIDDEN,
    "noquotaproject": FORBIDDEN,
    "noproject": WRONG_PROJECT,
    "nopage": WRONG_PROJECT,
    "quota": THROTTLED,
    "quotaexceeded": THROTTLED,
    "overload": THROTTLED,
    "topicrate": THROTTLED,
    "devicerate": ("device_throttled", Verdict.THROTTLED),
    "unavailable": ("unavailable", Verdict.TRANSIENT),
    "internal": OVERLOADED,
    "badgateway": OVERLOADED,
    "gatewaytimeout": OVERLOADED,
    "requesttimeout": OVERLOADED,
    "unspecified": OVERLOADED,
    "unheardof": NO_INFORMATION,
}


def outcome_for(gateways: Gateways, address: str) -> Outcome:
    (outcome,) = gateways.send([message(1, address=address)])
    return outcome


def test_every_refusal_of_the_catalogue_is_spoken_for() -> None:
    assert MEANS.keys() == CATALOGUE.keys()


@pytest.mark.parametrize("word", MEANS)
def test_a_refusal_means_what_the_table_says(fcm: Fcm, word: str, gateways: Gateways) -> None:
    outcome = outcome_for(gateways, f"{word}-1:APA91b")

    assert (outcome.reason, outcome.verdict) == MEANS[word]
    assert fcm.witness() == []


@pytest.mark.parametrize(
    ("fault", "verdict", "accepted"),
    [
        ({"kind": "drop"}, Verdict.UNANSWERED, 0),
        ({"kind": "drop", "accepted": True}, Verdict.UNANSWERED, 1),
        ({"kind": "reset"}, Verdict.UNANSWERED, 0),
        ({"kind": "cut"}, Verdict.UNANSWERED, 1),
        ({"kind": "outage"}, Verdict.UNANSWERED, 0),
        # A 200 was said: sending again would repeat it, whatever became of its body.
        ({"kind": "cut_body"}, Verdict.ACCEPTED, 1),
        ({"kind": "truncated"}, Verdict.ACCEPTED, 1),
        ({"kind": "empty"}, Verdict.ACCEPTED, 1),
        ({"kind": "trickle", "seconds": 0.2}, Verdict.ACCEPTED, 1),
        ({"kind": "slow", "seconds": 0.2}, Verdict.ACCEPTED, 1),
        ({"kind": "close"}, Verdict.ACCEPTED, 1),
    ],
    ids=str,
)
def test_a_broken_answer_is_never_called_worse_or_better_than_it_is(
    fcm: Fcm, fault: dict[str, Any], verdict: Verdict, accepted: int, gateways: Gateways
) -> None:
    fcm.script(**fault, prefix="live1:")

    assert outcome_for(gateways, "live1:APA91b").verdict is verdict
    assert len(fcm.witness()) == accepted


@pytest.mark.parametrize(("header", "seconds"), [(7, 7.0), ("0", 0.0), (None, 60.0)])
def test_a_429_says_how_long_to_wait_or_means_a_minute(
    fcm: Fcm, header: object, seconds: float, gateways: Gateways
) -> None:
    fcm.script("answer", answer="quota", retry_after=header)

    assert outcome_for(gateways, "live1:APA91b").retry_after == seconds


def test_after_the_projects_429_nothing_more_of_a_batch_leaves(
    fcm: Fcm, gateways: Gateways
) -> None:
    fcm.script("answer", answer="quota", retry_after=60)

    outcomes = gateways.send([message(number) for number in range(300)])

    verdicts = {outcome.verdict for outcome in outcomes}
    assert verdicts == {Verdict.THROTTLED, Verdict.UNSENT}
    assert fcm.counts()["requests"] <= 10, "as many as were on their way"


def test_a_devices_own_429_holds_up_nobody_else(gateways: Gateways) -> None:
    outcomes = gateways.send(
        [message(0, address="devicerate-1:x"), *(message(number) for number in range(1, 60))]
    )

    assert sum(outcome.verdict is Verdict.ACCEPTED for outcome in outcomes) == 59
