"""Days off and their names, as people type them and as they stand in a campaign."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.planning.repeats import days_off

CHRISTMAS, BOXING_DAY = date(2031, 12, 25), date(2031, 12, 26)
DATES = st.dates(date(2000, 1, 1), date(2099, 12, 31))
NAMES = st.text(max_size=days_off.LONGEST_NAME).map(days_off.tidy).filter(days_off.is_name)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("2031-12-25", {CHRISTMAS: ""}),
        ("2031-12-25 2031-12-26", {CHRISTMAS: "", BOXING_DAY: ""}),
        (" 2031-12-25,\t2031-12-26;\r\n\r\n", {CHRISTMAS: "", BOXING_DAY: ""}),
        ("2031-12-25 Christmas Day", {CHRISTMAS: "Christmas Day"}),
        ("2031-12-25, 2031-12-26 Boxing Day, too", {CHRISTMAS: "", BOXING_DAY: "Boxing Day, too"}),
        ("2031-12-26 2. Tag\n2031-12-25", {CHRISTMAS: "", BOXING_DAY: "2. Tag"}),
        ("2031-12-25 Christmas\n2031-12-25", {CHRISTMAS: "Christmas"}),
        ("2031-12-25 聖誕節\u0007", {CHRISTMAS: "聖誕節"}),
    ],
)  # fmt: skip
def test_a_name_may_stand_behind_a_date(typed: str, found: dict[date, str]) -> None:
    assert days_off.named(typed) == found
    assert days_off.parse(typed) == found.keys()


def test_they_are_kept_in_order_and_each_once() -> None:
    found = days_off.parse(" 2031-12-26,2031-12-25\n2031-12-25 ")
    assert days_off.written(found) == "2031-12-25\n2031-12-26"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("Christmas Day", "“Christmas” is no date"),
        ("Christmas Day 2031-12-25", "“Christmas” is no date"),
        ("2031-12-25\n25.12.2031", "“25.12.2031” is no date"),
        ("2031-12-25 2031-2-30", "“2031-2-30” is no date"),
        ("2031-12-25 ２０３１-12-25", "“２０３１-12-25” is no date"),
        ("2031-12-25 2031-12-2x", "“2031-12-2x” is no date"),
        ("2031-12-25 26.12.2031", "“26.12.2031” is no date"),
        ("2031-12-25 20311226", "“20311226” is no date"),
        ("2031-12-25 2031-02-30", "“2031-02-30” is no date"),
        ("2031-12-25 " + "x" * 61, "is too long for the name of a day; at most 60 characters"),
        ("\n".join(str(date.fromordinal(day)) for day in range(740_000, 740_367)), "at most 366"),
    ],
)
def test_a_slip_of_the_pen_is_told_and_taken_for_no_name(typed: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        days_off.named(typed)


@given(st.dictionaries(DATES, NAMES, max_size=20))
def test_what_is_written_is_read_again_as_it_was(days: dict[date, str]) -> None:
    assert days_off.named(days_off.in_lines(days)) == days
    assert days_off.parse(days_off.written(days)) == days.keys()


@given(st.text())
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        found = days_off.named(text)
    except ValueError as error:
        assert str(error)
    else:
        assert all(not name or days_off.is_name(name) for name in found.values())
