"""Texts are rendered for each person, in their language, and cannot hurt a worker."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from campaigns import liquid
from campaigns.reasons import Reason
from campaigns.rendering import Reader, Unrenderable, render
from campaigns.template import Template
from notifications import payload
from notifications.gateway import Message


def content(**values: Any) -> dict[str, Any]:
    texts = {"title": "Hi {{ first_name }}", "body": "", "image": "", "link": ""}
    return {**texts, "data": {}, "locales": {}, **values}


def reader(locale: str = "en", platform: str = "android", **attributes: Any) -> Reader:
    return Reader(
        reference="81:7",
        external_id="u1",
        attributes=attributes,
        locale=locale,
        timezone="UTC",
        kind="token",
        address="live1:APA91b",
        platform=platform,
    )


def rendered(frozen: dict[str, Any], to: Reader) -> Message:
    return render(frozen, to, collapse_id="carillon-81", ttl_seconds=3_600)


def test_variables_are_the_persons_attributes() -> None:
    assert rendered(content(), reader(first_name="Ada")).title == "Hi Ada"


@pytest.mark.parametrize("missing", [{}, {"first_name": None}, {"first_name": ""}])
def test_a_missing_null_or_empty_value_skips_the_person_unless_a_default_is_given(
    missing: dict[str, Any],
) -> None:
    with pytest.raises(Unrenderable) as refusal:
        rendered(content(), reader(**missing))
    assert refusal.value.reason == Reason.MISSING_VALUE
    assert "first_name" in refusal.value.detail

    friendly = content(title="Hi {{ first_name | default: 'there' }}")
    assert rendered(friendly, reader(**missing)).title == "Hi there"


@pytest.mark.parametrize(
    ("locale", "title"),
    [("ko", "안녕"), ("pt-BR", "Oi"), ("pt_BR", "Oi"), ("pt-PT", "Olá"), ("fr", "Hi")],
)
def test_the_language_falls_back_from_region_to_language_to_the_campaigns_own(
    locale: str, title: str
) -> None:
    locales = {"ko": {"title": "안녕"}, "pt": {"title": "Olá"}, "pt-BR": {"title": "Oi"}}
    message = rendered(content(title="Hi", body="Body", locales=locales), reader(locale))
    assert (message.title, message.body) == (title, "Body")


def test_a_message_over_fcms_limit_skips_the_person_alone() -> None:
    with pytest.raises(Unrenderable) as refusal:
        rendered(content(title="x", body="🎉" * 1_024), reader())
    assert refusal.value.reason == Reason.TOO_LONG


@given(st.text(max_size=1_500))
def test_the_limit_counts_bytes_and_what_passes_is_under_it(text: str) -> None:
    try:
        message = rendered(content(title="x", body=text.replace("{", "")), reader())
    except Unrenderable as refusal:
        assert refusal.reason in (Reason.TOO_LONG, Reason.TEMPLATE_ERROR)
    else:
        assert payload.size(message) <= 4_096


@pytest.mark.parametrize(
    ("source", "place", "words"),
    [
        ("Hi {{ first_name", "line 1, column 4", "never closed"),
        ("one\ntwo {{ a b }}", "line 2, column", "unexpected word"),
        ("{% if plan %}pro", "line 1, column 17", "add “{% endif %}”"),
        ("{% for x in y %}{% endfor %}", "line 1, column", "not available"),
        ("{{ name | shout }}", "line 1, column 11", "no filter “shout”"),
        ("{{ }}", "line 1", "name is missing"),
    ],
)
def test_a_text_that_does_not_parse_says_where_and_what_in_plain_words(
    source: str, place: str, words: str
) -> None:
    (problem,) = liquid.problems(source)
    assert problem.startswith(place)
    assert words in problem


@pytest.mark.parametrize(
    "attack",
    [
        "{% for i in (1..999999999) %}x{% endfor %}",
        "{% capture a %}x{% endcapture %}",
        "{% include 'settings' %}",
        "{{ 'x' | join: 'y' }}",
        "{{ '' | env }}",
    ],
)
def test_what_could_hurt_a_worker_is_refused_at_the_door(attack: str) -> None:
    assert liquid.problems(attack)


@pytest.mark.parametrize(
    "attack",
    [
        "{% assign a = 'x' %}" + "{% assign a = a | append: a %}" * 60 + "{{ a }}",
        "{{ bomb | replace: 'x', bomb | replace: 'x', bomb | replace: 'x', bomb }}",
        "{{ huge | date: '%Y' }}",
        "{{ first_name.__class__.__mro__ }}",
    ],
)
def test_what_explodes_while_rendering_skips_one_person(attack: str) -> None:
    with pytest.raises(Unrenderable):
        rendered(content(title=attack), reader(bomb="x" * 1_000, huge="9" * 4_000, first_name="A"))


def test_the_message_carries_one_deadline_and_a_tag_for_each_platform() -> None:
    for platform, block in (("android", "android"), ("ios", "apns"), ("web", "webpush")):
        message = payload.as_fcm(rendered(content(title="x"), reader(platform=platform)))
        assert set(message) == {"token", "notification", "data", block}
    android = payload.as_fcm(rendered(content(title="x"), reader()))["android"]
    assert android == {
        "priority": "HIGH", "ttl": "3600s", "notification": {"tag": "carillon-81"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("values", "field", "words"),
    [
        ({"image": "http://x.example/a.png"}, "image", "https"),
        ({"link": "javascript:alert(1)"}, "link", "https"),
        ({"data": {"n": 1}}, "data", "texts only"),
        ({"data": {"google.x": "1"}}, "data", "reserved"),
        ({"locales": {"korean!": {}}}, "locales", "language tag"),
        ({"locales": {"ko": {"titel": "x"}}}, "locales", "unknown key titel"),
        ({"locales": {"ko": {"title": "{{"}}}, "locales", "ko.title: line 1"),
    ],
)
def test_a_template_names_the_field_that_is_wrong(
    values: dict[str, Any], field: str, words: str
) -> None:
    template = Template(name="t", title="x", body="y", **values)
    with pytest.raises(ValidationError) as refusal:
        template.clean()
    assert words in " ".join(refusal.value.message_dict[field])
