"""A calendar file's whole days become days off; what is no such file is told what it is."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from icalendar.timezone import tzp

from campaigns.planning.repeats import holidays

TODAY = date(2031, 5, 7)


def event(*lines: str) -> str:
    return "\r\n".join(["BEGIN:VEVENT", "SUMMARY:Children's Day", *lines, "END:VEVENT"])


def calendar(*events: str) -> str:
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *events, "END:VCALENDAR", ""])


def taken(*lines: str) -> list[str]:
    return [str(day) for day in sorted(holidays.parse_calendar(calendar(event(*lines)), TODAY))]


def test_a_whole_day_is_taken_and_the_day_of_its_end_is_not() -> None:
    assert taken("DTSTART;VALUE=DATE:20311225") == ["2031-12-25"]
    assert taken("DTSTART;VALUE=DATE:20311225", "DTEND;VALUE=DATE:20311226") == ["2031-12-25"]
    assert taken("DTSTART;VALUE=DATE:20311225", "DTEND;VALUE=DATE:20311225") == ["2031-12-25"]


@pytest.mark.parametrize("lasts", ["DTEND;VALUE=DATE:20311227", "DURATION:P2D"])
def test_each_day_of_several_is_taken(lasts: str) -> None:
    assert taken("DTSTART;VALUE=DATE:20311225", lasts) == ["2031-12-25", "2031-12-26"]


def test_days_that_have_passed_and_those_far_ahead_are_left_out() -> None:
    assert taken("DTSTART;VALUE=DATE:20310501", "DTEND;VALUE=DATE:20310508") == [
        "2031-05-06", "2031-05-07",
    ]  # fmt: skip
    years = taken("DTSTART;VALUE=DATE:19001225", "RRULE:FREQ=YEARLY")
    assert years == [f"{year}-12-25" for year in range(2031, 2036)]


@pytest.mark.parametrize(
    ("rule", "years"),
    [
        ("FREQ=YEARLY;INTERVAL=2", ["2032", "2034"]),
        ("FREQ=YEARLY;COUNT=4", ["2031", "2032", "2033"]),
        ("FREQ=YEARLY;UNTIL=20321225", ["2031", "2032"]),
        ("FREQ=YEARLY;UNTIL=20321225T000000Z;BYMONTH=12;BYMONTHDAY=25", ["2031", "2032"]),
    ],
)
def test_a_day_comes_every_year_as_its_rule_says(rule: str, years: list[str]) -> None:
    found = taken("DTSTART;VALUE=DATE:20301225", f"RRULE:{rule}")
    assert [day[:4] for day in found] == years


def test_a_leap_day_comes_in_leap_years_alone_and_a_year_may_be_taken_out() -> None:
    assert taken("DTSTART;VALUE=DATE:20280229", "RRULE:FREQ=YEARLY") == ["2032-02-29", "2036-02-29"]
    without = ("RRULE:FREQ=YEARLY;UNTIL=20331225", "EXDATE;VALUE=DATE:20321225,20300101")
    assert taken("DTSTART;VALUE=DATE:20311225", *without) == ["2031-12-25", "2033-12-25"]


def test_several_days_over_new_year_are_taken_on_both_sides_of_it() -> None:
    lasting = ("DTEND;VALUE=DATE:20300102", "RRULE:FREQ=YEARLY;UNTIL=20311231")
    assert taken("DTSTART;VALUE=DATE:20291231", *lasting) == [
        "2031-12-31", "2032-01-01",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "rule",
    [
        "RRULE:FREQ=MONTHLY", "RRULE:FREQ=YEARLY;BYDAY=4TH", "RRULE:FREQ=YEARLY;BYMONTH=11",
        "RRULE:FREQ=YEARLY;COUNT=0", "RRULE:INTERVAL=1", "RDATE;VALUE=DATE:20311226",
        "RECURRENCE-ID;VALUE=DATE:20311225", "RRULE:FREQ=YEARLY\r\nRRULE:FREQ=YEARLY",
        "RRULE:FREQ=SECONDLY", "RRULE:FREQ=YEARLY;COUNT=1,2", "RRULE:FREQ=YEARLY;BYMONTH=12L",
        "RRULE:FREQ=YEARLY;COUNT=2;COUNT=3", "RRULE:FREQ=YEARLY;EVER", "RRULE:FREQ=NEVER",
        "RRULE:FREQ=YEARLY;BYDAY=" + "MO," * 100_000 + "MO",
    ],
)  # fmt: skip
def test_what_repeats_in_another_way_is_refused_by_its_name(rule: str) -> None:
    with pytest.raises(ValueError, match="“Children's Day” repeats in another way"):
        taken("DTSTART;VALUE=DATE:20311225", rule)


KOREA = "TZID=Korea Standard Time"


@pytest.mark.parametrize(
    ("lines", "days"),
    [
        ((f"DTSTART;{KOREA}:20311225T000000", f"DTEND;{KOREA}:20311226T000000"), ["2031-12-25"]),
        (('DTSTART;TZID="Korea Standard Time":20311225T000000', "DURATION:P2D"),
         ["2031-12-25", "2031-12-26"]),
        (("DTSTART:20311225T000000", "DTEND:20311227T000000"), ["2031-12-25", "2031-12-26"]),
        ((f"DTSTART;{KOREA}:20301225T000000", f"DTEND;{KOREA}:20301226T000000",
          "RRULE:FREQ=YEARLY;UNTIL=20331225T000000", f"EXDATE;{KOREA}:20321225T000000"),
         ["2031-12-25", "2033-12-25"]),
    ],
)  # fmt: skip
def test_a_day_from_midnight_to_midnight_is_whole_as_outlook_writes_it(
    lines: tuple[str, ...], days: list[str]
) -> None:
    assert taken(*lines) == days


@pytest.mark.parametrize(
    "lines",
    [
        ("DTSTART:20311225T000000Z", "DTEND:20311226T000000Z"),  # midnight of another place
        (f"DTSTART;{KOREA}:20311225T000000", f"DTEND;{KOREA}:20311225T010000"),
        (f"DTSTART;{KOREA}:20311225T000000",),
        (f"DTSTART;{KOREA}:20311225T000000", "DURATION:PT24H30M"),
        (f"DTSTART;{KOREA}:20311225T000000", "DTEND:nonsense"),
    ],
)
def test_what_begins_at_midnight_and_ends_at_an_hour_is_no_whole_day(
    lines: tuple[str, ...],
) -> None:
    with pytest.raises(ValueError, match="no event of a whole day"):
        taken(*lines)


def test_an_entry_whose_repeats_cannot_be_read_is_left_out_and_named() -> None:
    odd = event("DTSTART;VALUE=DATE:20311126", "RRULE:FREQ=YEARLY;BYDAY=4TH")
    odd = odd.replace("Children's Day", "Thanksgiving")
    text = calendar(odd, event("DTSTART;VALUE=DATE:20311225"), odd)
    found = holidays.take(text, TODAY)
    assert (found.days, found.left_out) == (
        {date(2031, 12, 25): "Children's Day"}, ["Thanksgiving"],
    )  # fmt: skip
    for nothing_else in (holidays.take, holidays.parse_calendar):
        with pytest.raises(ValueError, match="“Thanksgiving” repeats in another way"):
            nothing_else(calendar(odd), TODAY)
    with pytest.raises(ValueError, match="“Thanksgiving” repeats in another way"):
        holidays.parse_calendar(text, TODAY)


@pytest.mark.parametrize(
    ("summary", "name"),
    [
        (r"SUMMARY:Christmas\, the first day\nfor all ", "Christmas, the first day for all"),
        ("SUMMARY;LANGUAGE=ko:추석", "추석"),
        ("SUMMARY:" + "x" * 80, "x" * 60),
        ("SUMMARY:26.12. is no name", ""),
        ("SUMMARY:a\x00b\u2028c", "a b c"),
        ("COMMENT:none", ""),
    ],
)
def test_a_day_has_the_name_of_its_event_as_far_as_a_line_has_room(summary: str, name: str) -> None:
    whole = f"BEGIN:VEVENT\r\n{summary}\r\nDTSTART;VALUE=DATE:20311225\r\nEND:VEVENT"
    assert holidays.parse_calendar(calendar(whole), TODAY) == {date(2031, 12, 25): name}


def test_of_two_events_of_a_day_the_first_with_a_name_gives_it() -> None:
    nameless = "BEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20311225\r\nEND:VEVENT"
    named = event("DTSTART;VALUE=DATE:20311225")
    later = named.replace("Children's Day", "Christmas")
    found = holidays.parse_calendar(calendar(nameless, named, later), TODAY)
    assert found == {date(2031, 12, 25): "Children's Day"}


def test_lines_are_unfolded_and_alarms_hours_and_what_was_cancelled_are_left_out() -> None:
    alarm = ("BEGIN:VALARM", "TRIGGER:-PT1H", "DURATION:PT1H", "DTSTART:nonsense", "END:VALARM")
    whole = event('DTSTART;X-NOTE="a:b";VALU', " E=DATE:2031", "\t1225", *alarm)
    hour = event("DTSTART:20311226T090000Z", "DTEND:20311226T100000Z", "RRULE:FREQ=DAILY")
    cancelled = event("DTSTART;VALUE=DATE:20311227", "STATUS:CANCELLED")
    zone = "BEGIN:VTIMEZONE\r\nBEGIN:STANDARD\r\nDTSTART:x\r\nEND:STANDARD\r\nEND:VTIMEZONE"
    text = calendar(zone, whole, hour, cancelled)
    assert holidays.parse_calendar(text, TODAY) == {date(2031, 12, 25): "Children's Day"}
    plain = "\ufeff" + text.replace("\r\n", "\n").replace("VEVENT", "vevent")
    assert [*holidays.parse_calendar(plain, TODAY)] == [date(2031, 12, 25)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "does not begin with BEGIN:VCALENDAR"),
        ("date,name\n2031-12-25,Christmas", "does not begin with BEGIN:VCALENDAR"),
        (calendar(event("DTSTART;VALUE=DATE:20311225"))[:-20], "cut off"),
        (calendar(), "no event of a whole day"),
        (calendar(event("DTSTART:20311226T090000Z")), "no event of a whole day"),
        (calendar(event("DTSTART;VALUE=DATE:20300101")), "no event of a whole day"),
        (calendar(event("DTSTART;VALUE=DATE:20310230")), "“20310230” is no date"),
        (calendar(event("DTSTART;VALUE=DATE:２０３１1225")), "is no date"),
        (calendar(event()), "“Children's Day”: “” is no date"),
        (calendar(event("DTSTART;VALUE=DATE:20311225", "DURATION:PT5H")), "has to be whole days"),
        (calendar(event("DTSTART;VALUE=DATE:20311225", "DTEND;VALUE=DATE:20330101")), "Too many"),
        (calendar(event("DTSTART;VALUE=DATE:20311225", "DTEND;VALUE=DATE:99991231")), "Too many"),
        (calendar(event("DTSTART;VALUE=DATE:19000101", "DTEND;VALUE=DATE:99991231",
            "RRULE:FREQ=YEARLY")), "Too many"),
        (calendar(event("DTSTART;VALUE=DATE:00010101")), "“00010101” is no date .* from 1900 on"),
        (calendar(event("DTSTART;VALUE=DATE:20311225", "DTEND;VALUE=DATE:20311224")), "before"),
        (calendar(*[event("DTSTART;VALUE=DATE:20311225")] * 2_001), "at most 2,000"),
        ("BEGIN:VCALENDAR" + "\n" * 1_000_000, "at most 1 MB"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_says_why(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        holidays.parse_calendar(text, TODAY)


BOMB = (
    "BEGIN:VTIMEZONE\r\nTZID:Bomb\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n"
    "TZOFFSETFROM:+0000\r\nTZOFFSETTO:+0000\r\nRRULE:FREQ=SECONDLY\r\nEND:STANDARD\r\n"
    "END:VTIMEZONE"
)


def test_a_time_zone_without_an_end_is_not_worked_out() -> None:
    inside = event("DTSTART;VALUE=DATE:20311225", BOMB)
    assert [*holidays.parse_calendar(calendar(BOMB, inside), TODAY)] == [date(2031, 12, 25)]
    assert tzp.timezone("Bomb") is None


PIECES = st.sampled_from([
    "BEGIN:VEVENT", "END:VEVENT", "BEGIN:VALARM", "SUMMARY", "DTSTART", "DTEND", "DURATION",
    "RRULE", "RDATE", "EXDATE", ";VALUE=DATE", ";VALUE=a,b", ";TZID=../x", ":", ",", ";", "=", '"',
    "20311225", "20311225T000000Z", "20311225T000000Z/P1D", "99991231", "P9999999D", "P", "-P1D",
    "FREQ=YEARLY", "UNTIL=", "COUNT=", "INTERVAL=9", "BYMONTH=", "9" * 5_000, "\r\n", "\n", "\r",
    " ", "\\", "\0", "\ud800", "é",
])  # fmt: skip


@given(st.lists(PIECES, max_size=12).map("".join), st.lists(PIECES, max_size=12).map("".join))
def test_whatever_stands_in_it_is_read_or_refused(before: str, inside: str) -> None:
    text = calendar(before, event("DTSTART;VALUE=DATE:20311225", inside))
    try:
        assert holidays.parse_calendar(text, TODAY)
    except ValueError as error:
        assert type(error) is ValueError
        assert str(error)
