"""What an answer of a project's own server says of how busy it is, however it is written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifications.pacing.load_level import Read, Trouble, parse

METRICS = """\
# HELP app_busy How busy the pool is.
# TYPE app_busy gauge
app_busy{pool="web",host="a}b"} 0.25 1732700000000
app_busy{pool="jobs"} 0.75
app_busy_total 9
load 0.5
worst +Inf
broken NaN
minus -1
odd zero
bare
cut 0.1"""


@pytest.mark.parametrize(
    ("text", "name", "level"),
    [
        ('{"level": 0.4}', "", 0.4),
        (' {"level": 1, "more": []}', "", 1),
        ('{"busy": 0, "level": 1}', "busy", 0),
        ('{"level": 1.7}', "", 1),
        ('{"level": 1' + "0" * 400 + "}", "", 1),
        (METRICS, "load", 0.5),
        (METRICS, "app_busy", 0.75),
        (METRICS, 'app_busy{pool="jobs"}', 0.75),
        (METRICS, "worst", 1),
    ],
)
def test_a_number_is_read_from_json_or_from_prometheus_text(
    text: str, name: str, level: float
) -> None:
    assert parse(200, text, name) == Read(level)


@pytest.mark.parametrize(
    ("text", "name", "trouble"),
    [
        ("", "", Trouble.NO_NUMBER),
        ("ok", "", Trouble.NO_NUMBER),
        ("[0.4]", "", Trouble.NO_NUMBER),
        ('{"level": 0.4', "", Trouble.NO_NUMBER),
        ('{"load": 0.4}', "", Trouble.NO_NUMBER),
        ("{" * 100_000, "", Trouble.NO_NUMBER),
        ('{"level": "0.4"}', "", Trouble.NO_LEVEL),
        ('{"level": true}', "", Trouble.NO_LEVEL),
        ('{"level": null}', "", Trouble.NO_LEVEL),
        ('{"level": -0.1}', "", Trouble.NO_LEVEL),
        ('{"level": NaN}', "", Trouble.NO_LEVEL),
        (METRICS, "", Trouble.NO_NUMBER),
        (METRICS, "app_bus", Trouble.NO_NUMBER),
        (METRICS, "app_busy{", Trouble.NO_NUMBER),
        (METRICS, "bare", Trouble.NO_NUMBER),
        (METRICS, "cut", Trouble.NO_NUMBER),
        (METRICS, "broken", Trouble.NO_LEVEL),
        (METRICS, "minus", Trouble.NO_LEVEL),
        (METRICS, "odd", Trouble.NO_LEVEL),
    ],
)
def test_what_says_no_level_is_no_level(text: str, name: str, trouble: Trouble) -> None:
    assert parse(200, text, name) == Read(None, trouble)


def test_who_answers_that_it_bears_no_more_is_as_busy_as_it_may_get() -> None:
    for status in (429, 503):
        assert parse(status, '{"level": 0}', "") == Read(1.0)


@pytest.mark.parametrize("status", [100, 204, 301, 304, 401, 404, 500, 502])
def test_another_answer_says_nothing(status: int) -> None:
    said = parse(status, '{"level": 0}', "")
    assert said == Read(0.0) if status == 204 else said == Read(None, Trouble.STATUS)


@given(
    status=st.integers(100, 599),
    text=st.text() | st.text('{}"level:load 0.19-einfNa\n#'),
    name=st.text(max_size=20) | st.sampled_from(["", "load", 'load{a="b"}']),
)
def test_whatever_a_server_says_is_a_level_or_none(status: int, text: str, name: str) -> None:
    said = parse(status, text, name)
    assert (said.level is None) == bool(said.trouble)
    assert said.level is None or 0 <= said.level <= 1


numbers = st.floats(0, 5)


@given(levels=st.lists(numbers, min_size=1, max_size=9), other=numbers)
def test_the_busiest_of_several_counts_however_they_are_written(
    levels: list[float], other: float
) -> None:
    lines = [f'busy{{at="{number}"}} {one!r}\n' for number, one in enumerate(levels)]
    text = "".join([f"busy_other {other!r}\n", *lines])
    assert parse(200, text, "busy").level == min(1.0, max(levels))
    assert parse(200, json.dumps({"busy": other}), "busy").level == min(1.0, other)
