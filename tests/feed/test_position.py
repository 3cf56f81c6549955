"""A position says what was sent, in a text that an app sends back."""

from __future__ import annotations

import pytest

from notifications.inbox.stream_position import MAX_KEPT, MAX_NAMED, SETTLED_AFTER, Position


def test_a_number_that_comes_late_is_new_though_a_higher_one_was_sent() -> None:
    position = Position(100, now=0)
    position.see([103], now=0)
    assert position.unseen([102, 103, 104]) == [102, 104]
    assert Position.read(str(position), now=0).unseen([102, 103, 104]) == [102, 104]


def test_the_floor_rises_once_nothing_can_come_below_it() -> None:
    position = Position(100, now=0)
    position.see([103], now=0)
    position.settle(now=SETTLED_AFTER - 1)
    assert position.unseen([102]) == [102]
    position.settle(now=SETTLED_AFTER)
    assert (position.unseen([102]), str(position)) == ([], "103")


def test_after_a_burst_the_text_leads_back_before_it_and_a_gap_is_owed_once() -> None:
    position = Position(0, now=0)
    position.see(range(1, 2 * MAX_KEPT), now=1)
    position.settle(now=1)
    assert len(position.seen) == MAX_KEPT
    assert position.floor == MAX_KEPT - 1
    assert Position.read(str(position), now=1).unseen([5]) == [5]
    assert not position.take_missed_check(now=2)
    assert position.take_missed_check(now=1 + SETTLED_AFTER)
    assert not position.take_missed_check(now=1 + SETTLED_AFTER)
    position.settle(now=1 + SETTLED_AFTER)
    assert str(position) == str(2 * MAX_KEPT - 1)


def test_the_text_has_a_bounded_length_and_loses_nothing_for_it() -> None:
    position = Position(10**17, now=0)
    sent = [10**17 + step for step in range(1, 3 * MAX_NAMED)]
    position.see(sent, now=0)
    read = Position.read(str(position), now=0)
    assert len(str(position)) < 20 + 4 * MAX_NAMED
    assert read.unseen(sent) == sent[:-MAX_NAMED]


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "1.", "1..2", "٣", "1" * 19, "1" + ".2" * 41, "1\n"]
)
def test_a_text_we_never_said_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a position"):
        Position.read(text, now=0)
