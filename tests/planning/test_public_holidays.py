"""The public holidays of a country become days off, by their names."""

from __future__ import annotations

from datetime import date

import pytest
from django.utils.translation import override

from campaigns.planning.repeats import days_off, public_holidays

TODAY = date(2026, 9, 24)


def read(country: str, part: str = "", until: int = 2026, language: str = "en") -> dict[str, str]:
    assert not public_holidays.problems(country, part, until, TODAY)
    found = public_holidays.find_holidays(country, part, until, TODAY, language)
    return {str(day): name for day, name in found.items()}


def test_they_begin_today_and_end_with_the_year() -> None:
    assert read("US") == {
        "2026-10-12": "Columbus Day",
        "2026-11-11": "Veterans Day",
        "2026-11-26": "Thanksgiving Day",
        "2026-12-25": "Christmas Day",
    }
    later = read("US", until=2027)
    assert len(later) > len(read("US")) and max(later) == "2027-12-31"  # New Year's Day, observed


def test_their_names_are_in_the_asked_language_or_english() -> None:
    assert read("KR", language="ko")["2026-12-25"] == "기독탄신일"
    assert read("DE", language="de")["2026-12-25"] == "Erster Weihnachtstag"
    assert read("DE", language="ko")["2026-12-25"] == "Christmas Day"
    assert read("DE", language="../x")["2026-12-25"] == "Christmas Day"


def test_a_part_of_a_country_has_its_own() -> None:
    assert dict(public_holidays.parts("DE"))["BB"] == "Brandenburg"
    assert "2026-10-31" in read("DE", "BB") and "2026-10-31" not in read("DE")
    assert public_holidays.parts("KR") == public_holidays.parts("XX") == []


def test_countries_are_called_in_the_readers_language_and_found_by_their_clocks() -> None:
    with override("ko"):
        assert dict(public_holidays.countries())["KR"] == "대한민국"
    with override("en"):
        names = [name for _code, name in public_holidays.countries()]
    assert names.index("Åland Islands") == names.index("Albania") - 1
    assert public_holidays.country_of("Asia/Seoul") == "KR"
    assert public_holidays.country_of("UTC") == public_holidays.country_of("") == ""


def test_every_country_can_be_taken_as_days_off_are_written() -> None:
    for country, _name in public_holidays.countries():
        for language in ("en", "ko"):
            found = public_holidays.find_holidays(country, "", 2027, TODAY, language)
            assert days_off.named(days_off.in_lines(found)) == found


@pytest.mark.parametrize(
    ("choice", "field", "said"),
    [
        (("XX", "", 2026), "country", "“XX” is no country with known holidays"),
        (("kr", "", 2026), "country", "“kr” is no country"),
        (("__class__", "", 2026), "country", "is no country"),
        (("KR", "BY", 2026), "part", "“BY” is no part of KR with holidays of its own"),
        (("KR", "", 2025), "until", "Choose a year from 2026 to 2031."),
        (("KR", "", 99999), "until", "Choose a year from 2026 to 2031."),
    ],
)
def test_what_is_chosen_wrong_is_said_by_its_field(
    choice: tuple[str, str, int], field: str, said: str
) -> None:
    found = public_holidays.problems(*choice, TODAY)
    assert [*found] == [field] and said in found[field]
