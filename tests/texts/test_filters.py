"""A value is written as its reader writes it, and no filter can hurt a worker."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from hypothesis import given
from hypothesis import strategies as st

from campaigns.runs.reasons import Reason
from campaigns.texts import caps, liquid
from campaigns.texts.filters.allowed_filters import FILTERS, OTHER_NAMES
from campaigns.texts.rendering import Reader, Unrenderable, render

NOON = datetime(2026, 12, 5, 12, tzinfo=UTC)
# What a filter is given where it wants something.
GIVEN = {
    "currency": "'EUR'", "plural": "other: 'x'", "date": "'day'", "append": "'a'",
    "prepend": "'a'", "replace": "'a', 'b'", "plus": "1", "minus": "1", "times": "2",
    "divided_by": "2",
}  # fmt: skip


def read(text: str, locale: str = "en", timezone: str = "UTC", **attributes: Any) -> str:
    """What somebody would read; the spaces that no line is broken at, as plain ones."""
    said = {"title": "x", "image": "", "link": "", "data": {}, "locales": {}, "options": {}}
    reader = Reader("0:0", "u1", attributes, locale, timezone, "token", "live:APA91b", "android")
    message = render({**said, "body": text}, reader, collapse_id="c", ttl_seconds=60)
    return message.body.replace("\u202f", " ").replace("\xa0", " ")


def refused(text: str, **attributes: Any) -> Unrenderable:
    with pytest.raises(Unrenderable) as refusal:
        read(text, **attributes)
    return refusal.value


@pytest.mark.parametrize(
    ("locale", "number", "two", "price"),
    [
        ("en", "1,234.5", "1,234.50", "€1,234.50"),
        ("de", "1.234,5", "1.234,50", "1.234,50 €"),
        ("fr_FR", "1 234,5", "1 234,50", "1 234,50 €"),
        ("ko", "1,234.5", "1,234.50", "€1,234.50"),
        ("pt-BR", "1.234,5", "1.234,50", "€ 1.234,50"),
        ("hi-IN", "1,234.5", "1,234.50", "€1,234.50"),
        ("xx-YY", "1,234.5", "1,234.50", "€1,234.50"),
        ("", "1,234.5", "1,234.50", "€1,234.50"),
    ],
)
def test_numbers_and_money_are_written_in_the_readers_language(
    locale: str, number: str, two: str, price: str
) -> None:
    assert read("{{ n | number }}", locale, n=1234.5) == number
    assert read("{{ n | number: 2 }}", locale, n="1234.5") == two
    assert read("{{ n | currency: 'eur' }}", locale, n=1234.5) == price


def test_a_currency_has_as_many_decimals_as_its_people_write() -> None:
    assert read("{{ n | currency: 'KRW' }}", "ko", n=9900) == "₩9,900"
    assert read("{{ n | currency: 'JPY' }}", "ja", n=9900.4) == "￥9,900"


@pytest.mark.parametrize(
    ("locale", "timezone", "said"),
    [
        ("en", "UTC", "12/5/26, Dec 5, 2026, December 5, 2026, Saturday, December 5, 2026"),
        ("en-GB", "UTC", "05/12/2026, 5 Dec 2026, 5 December 2026, Saturday, 5 December 2026"),
        ("de", "UTC", "05.12.26, 05.12.2026, 5. Dezember 2026, Samstag, 5. Dezember 2026"),
        ("ko", "UTC", "26. 12. 5., 2026. 12. 5., 2026년 12월 5일, 2026년 12월 5일 토요일"),
        ("en", "Pacific/Auckland",
         "12/6/26, Dec 6, 2026, December 6, 2026, Sunday, December 6, 2026"),
    ],
)  # fmt: skip
def test_a_moment_is_written_in_the_readers_language_and_zone(
    locale: str, timezone: str, said: str
) -> None:
    text = ", ".join(f"{{{{ at | date: '{one}' }}}}" for one in ("short", "medium", "long", "full"))
    assert read(text, locale, timezone, at="2026-12-05T12:00:00Z") == said


@pytest.mark.parametrize(
    ("locale", "said"),
    [
        ("en", "December 5 Saturday 9:00 PM"),
        ("de", "5. Dezember Samstag 21:00"),
        ("ko", "12월 5일 토요일 오후 9:00"),
    ],
)
def test_a_day_a_weekday_and_an_hour_have_forms_of_their_own(locale: str, said: str) -> None:
    text = "{{ at | date: 'day' }} {{ at | date: 'weekday' }} {{ at | date: 'time' }}"
    assert read(text, locale, "Asia/Seoul", at="2026-12-05T12:00:00+00:00") == said


def test_a_form_written_letter_by_letter_says_its_words_in_the_readers_language() -> None:
    text = "{{ at | date: '%A %a %d %B %b %Y %H:%M %p 100%%' }}"
    at = "2026-12-05T21:30:00Z"
    assert read(text, "en", at=at) == "Saturday Sat 05 December Dec 2026 21:30 PM 100%"
    assert read(text, "ko", at=at) == "토요일 토 05 12월 12월 2026 21:30 오후 100%"
    assert read(text, "de", at=at) == "Samstag Sa. 05 Dezember Dez. 2026 21:30 PM 100%"


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("2026-12-05", "5 00:00"),  # a birthday is the same day everywhere
        ("2026-12-05T23:30:00", "5 23:30"),  # nobody said whose hour it is
        ("2026-12-05T23:30:00Z", "6 08:30"),
        ("2026-12-05T23:30:00-01:00", "6 09:30"),
        (1_796_513_400, "6 08:30"),
        ("Dec 5, 2026 8am", "5 08:00"),
    ],
)
def test_only_a_moment_that_is_one_everywhere_moves_to_the_readers_zone(
    at: str | int, said: str
) -> None:
    assert read("{{ at | date: '%-d %H:%M' }}", timezone="Asia/Seoul", at=at) == said


def test_now_is_the_readers_now() -> None:
    with time_machine.travel(NOON, tick=False):
        assert read("{{ 'now' | date: '%H' }}", timezone="Asia/Seoul") == "21"
        assert read("{{ 'today' | date: 'long' }}", "ko", "") == "2026년 12월 5일"


def test_what_is_no_date_is_read_as_it_is() -> None:
    assert read("{{ at | date: 'long' }}", at="soon") == "soon"


@pytest.mark.parametrize(
    ("locale", "said"),
    [
        ("en", "0 days, 1 day, 2 days, 5 days"),
        ("ko", "0 days, 1 days, 2 days, 5 days"),
        ("ru", "0 many, 1 day, 2 few, 5 many"),
    ],
)
def test_a_word_goes_with_its_number_as_the_readers_language_has_it(locale: str, said: str) -> None:
    one = (
        "{{{{ {0} }}}} {{{{ {0} | plural: one: 'day', few: 'few', many: 'many', other: 'days' }}}}"
    )
    values: dict[str, Any] = {"a": 0, "b": 1, "c": 2, "d": 5}
    if locale != "ru":
        one = one.replace("few: 'few', many: 'many', ", "")
    assert read(", ".join(one.format(name) for name in values), locale, **values) == said


def test_a_list_is_joined_and_a_text_encoded_for_an_address() -> None:
    assert read("{{ tags | join: ', ' }}", tags=["red", 2, None]) == "red, 2, "
    assert read("{{ tags | join }}", tags="red") == "red"
    assert read("x?q={{ q | url_encode }}", q="a b&c=é") == "x?q=a+b%26c%3D%C3%A9"


def test_a_text_in_one_language_for_everybody_can_say_so() -> None:
    text = "{% assign locale = 'en' %}{{ at | date: 'day' }}"
    assert read(text, "de", at="2026-12-05") == "December 5"


@pytest.mark.parametrize("name", sorted(FILTERS - {"default"}))
def test_a_missing_value_skips_its_person_whatever_is_done_to_it(name: str) -> None:
    given = f": {GIVEN[name]}" if name in GIVEN else ""
    refusal = refused(f"your plan {{{{ ends_at | {name}{given} }}}}")
    assert refusal.reason == Reason.MISSING_VALUE
    assert "“ends_at” is missing" in refusal.detail


def test_nothing_is_added_to_a_number_that_is_missing() -> None:
    assert read("{{ points | plus: 1 }} {{ 3 | times: points }}", points=2) == "3 6"
    for text in ("{{ points | plus: 1 }}", "{{ 1 | plus: points }}", "{{ points | round }}"):
        assert refused(text).reason == Reason.MISSING_VALUE
    assert read("{{ points | plus: 1 | default: 'some' }}") == "some"


@pytest.mark.parametrize("way", ["date: 'long'", "currency: 'EUR'", "join: ', '", "url_encode"])
def test_a_default_stands_before_a_filter_or_behind_it(way: str) -> None:
    assert read(f"{{{{ x | {way} | default: 'soon' }}}}") == "soon"
    assert read("{{ x | default: '2026-12-05' | date: 'day' }}") == "December 5"


@pytest.mark.parametrize(
    ("text", "attributes", "words"),
    [
        ("{{ n | number }}", {"n": "many"}, "a number is needed there"),
        ("{{ n | number }}", {"n": True}, "a number is needed there"),
        ("{{ n | number }}", {"n": "1e999999"}, "a number is needed there"),
        ("{{ n | number }}", {"n": "9" * 400}, "a number is needed there"),
        ("{{ n | number }}", {"n": "nan"}, "a number is needed there"),
        ("{{ n | number: 999 }}", {"n": 1}, "a number is written with 0 to 6 decimals"),
        ("{{ n | currency: 'EURO' }}", {"n": 1}, "a currency is its code of three letters"),
        ("{{ n | currency }}", {"n": 1}, "a currency is its code of three letters"),
        ("{{ n | plural: one: 'x' }}", {"n": 1}, "“plural” takes one:"),
        ("{{ n | plural: other: 'x', dual: 'y' }}", {"n": 1}, "“plural” takes one:"),
        ("{{ at | date: 'long' }}", {"at": "9" * 4_000}, "a date is needed there"),
        ("{{ at | date: 'long' }}", {"at": ["2026-12-05"]}, "a date is needed there"),
        ("{{ at | date: 'long' }}", {"at": 10**17}, "a date is needed there"),
        ("{{ at | date: '%Y' }}", {"at": "9999-12-31T23:59:59-12:00"}, "a date is needed there"),
        ("{{ n | times: n }}", {"n": 1e200}, "a number is needed there"),
        ("{{ a | join: b }}", {"a": ["x"] * 90, "b": "y" * 2_000}, "it would make a text of"),
        ("{{ a | url_encode }}", {"a": "한" * 2_000}, "it would make a text of 18,000 characters"),
    ],
)
def test_a_value_that_does_not_fit_skips_its_person_and_says_why(
    text: str, attributes: dict[str, Any], words: str
) -> None:
    refusal = refused(text, **attributes)
    assert refusal.reason == Reason.TEMPLATE_ERROR
    assert words in refusal.detail and text in refusal.detail


@pytest.mark.parametrize("name", sorted(OTHER_NAMES))
def test_a_filters_name_of_another_language_leads_to_ours(name: str) -> None:
    (problem,) = liquid.problems(f"{{{{ x | {name} }}}}")
    assert f"Did you mean “{OTHER_NAMES[name]}”?" in problem.words


ANYTHING = (
    st.text(max_size=200)
    | st.integers()
    | st.floats()
    | st.booleans()
    | st.lists(st.text(max_size=5), max_size=3)
    | st.sampled_from(["now", "1e99", "-0", "0001-01-01", "9999-12-31T23:59:59Z", "24:00", "1-1-1"])
)


@given(
    name=st.sampled_from(sorted(FILTERS)),
    value=ANYTHING,
    form=st.text(max_size=20) | st.sampled_from(["%", "%9999d", "%é", "short", "time", "day"]),
    locale=st.sampled_from(["en", "de", "ar-EG", "zh-Hant-TW", "fa", "x", "€", "a" * 35]),
    timezone=st.sampled_from(["UTC", "Asia/Seoul", "Mars/Base", "../etc/passwd"]),
)
def test_any_value_is_written_or_skips_its_person(
    name: str, value: Any, form: str, locale: str, timezone: str
) -> None:
    given = f": {GIVEN[name]}" if name in GIVEN and name != "date" else ""
    argument = ": form" if name == "date" else given
    try:
        said = read(f"x{{{{ v | {name}{argument} }}}}", locale, timezone, v=value, form=form)
    except Unrenderable as refusal:
        assert refusal.detail
    else:
        assert len(said) <= caps.MAX_OUTPUT
