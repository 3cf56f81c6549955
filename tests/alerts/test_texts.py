"""What people read of each kind, in their language; a kind of the next release breaks nothing."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import translation

from campaigns.alerts import texts
from campaigns.alerts.models import Kind

NUMBERS: dict[str, dict[str, Any]] = {
    Kind.PAUSED: {"cause": "by_hand", "detail": {"code": "", "args": None, "text": ""}},
    Kind.STUCK: {"since": "2026-05-31T09:30:00.000Z"},
    Kind.SLOW: {"waiting": 1, "rate": 5.2, "needed": 61.0, "deadline": "2026-05-31T18:30:00.000Z"},
    Kind.REJECTED: {"judged": 1_000, "rejected": 120, "percent": 12.0, "usual_percent": 5.0},
    Kind.DEAD_ADDRESSES: {"count": 1_240, "usual": 80},
    Kind.QUOTA: {"used": 570_000, "quota": 600_000},
    Kind.UNOPENED: {"accepted": 5_200, "able": 1_800},
}  # fmt: skip
SAYS = {
    Kind.PAUSED: "“Sale” is paused and needs you | Paused on request.",
    Kind.STUCK: "“Sale” is stuck | It has work to do, but made no request since 31 May 2026, 18:30",
    Kind.SLOW: "“Sale” is too slow to finish in time | 1 recipient waits. 5.2 a second were sent",
    Kind.REJECTED: "“Sale” has unusually many rejected | 120 of 1,000 (12.0 %); usually it is",
    Kind.DEAD_ADDRESSES: "More dead addresses than usual | 1,240 addresses were found dead today",
    Kind.QUOTA: "FCM's quota is nearly used up | 570,000 of 600,000 requests",
    Kind.UNOPENED: "Nobody has opened “Sale” | FCM accepted 5,200; 1,800 devices would tell",
}


def data_of(kind: str, **other: Any) -> dict[str, Any]:
    known = {"campaign": {"id": 1, "name": "Sale"}, "numbers": NUMBERS.get(kind, {})}
    moments = {"raised_at": "2026-05-31T09:30:00.000Z", "ended_at": None, "acknowledged_by": None}
    return {"kind": kind, **known, **moments, "reminder": False, "url": None, **other}


@pytest.mark.parametrize("kind", Kind.values)
def test_every_kind_says_what_is_wrong_by_how_much_and_what_to_do(kind: str) -> None:
    said = texts.text_of_data(data_of(kind), "Asia/Seoul")
    assert f"{said.headline} | {said.text}".startswith(SAYS[Kind(kind)])
    assert said.next_step
    with translation.override("ko"):
        korean = texts.text_of_data(data_of(kind))
    assert korean.headline != said.headline and korean.next_step != said.next_step


@pytest.mark.parametrize("kind", Kind.values)
def test_a_reminder_and_an_end_say_that_they_are_one(kind: str) -> None:
    headline = texts.text_of_data(data_of(kind)).headline
    assert texts.raised(data_of(kind)).headline == headline
    assert texts.raised(data_of(kind, reminder=True)).headline == f"Still: {headline}"
    over = texts.text_of_ended_alert(
        data_of(kind, ended_at="2026-05-31T10:50:00.000Z", acknowledged_by="user:bob")
    )
    assert over.headline == f"Over: {headline}" and over.text == "It stood for 1 h 20 min."
    assert ("Seen by", "bob") in over.facts


def test_messages_of_which_none_leaves_are_of_no_campaign() -> None:
    said = texts.raised(data_of(Kind.PAUSED, campaign=None))
    assert (said.headline, said.label) == ("No message to single people leaves", "Open the alerts")


def test_a_kind_of_the_next_release_is_told_by_its_code() -> None:
    assert texts.raised(data_of("flooded")).headline == "flooded"
