"""Texts are rendered for each person, in their language, and cannot hurt a worker."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from campaigns.runs.reasons import Reason
from campaigns.texts import liquid
from campaigns.texts.rendering import Renderer, Unrenderable
from campaigns.texts.template import Template
from notifications.fcm import payload, sizes, validation
from tests.texts.rendered import content, reader, rendered


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


@pytest.mark.parametrize(
    ("locale", "title"),
    [
        *(("pt_BR", "Oi"), ("pt-br", "Oi"), ("PT-BR", "Oi"), ("pt", "Hi"), ("pt-PT", "Hi")),
        *(("zh-Hant-TW", "繁體"), ("zh_hant_tw", "繁體"), ("zh-Hant", "繁體"), ("ZH-HANS", "中文")),
        *(("zh-TW", "繁體"), ("zh_HK", "繁體"), ("zh-CN", "中文"), ("zh-Hans-CN", "中文")),
        *(("sr-Latn-RS-x-app", "Zdravo"), ("", "Hi"), ("de", "Hi")),
    ],
)
@pytest.mark.parametrize(
    "frozen", [("pt-BR", "zh-Hant", "sr-Latn"), ("pt_br", "zh_hant", "SR-latn")]
)
def test_a_language_is_found_whichever_way_it_is_written_and_frozen(
    locale: str, title: str, frozen: tuple[str, str, str]
) -> None:
    said = {"zh": "中文"} | dict(zip(frozen, ("Oi", "繁體", "Zdravo"), strict=True))
    locales = {tag: {"title": text} for tag, text in said.items()}
    assert rendered(content(title="Hi", locales=locales), reader(locale)).title == title


def test_two_spellings_that_were_frozen_are_read_by_their_very_letters() -> None:
    locales = {"pt-br": {"title": "small"}, "pt-BR": {"title": "large"}, "pt-PT": {}}
    titles = [
        rendered(content(title="Hi", locales=locales), reader(locale)).title
        for locale in ("pt-br", "pt-BR", "pt-PT")
    ]
    assert titles == ["small", "large", "Hi"]


def test_a_message_over_fcms_limit_skips_the_person_alone() -> None:
    with pytest.raises(Unrenderable) as refusal:
        rendered(content(title="x", body="🎉" * 1_024), reader())
    assert refusal.value.reason == Reason.TOO_LONG


@given(st.text(max_size=1_500))
def test_the_limit_counts_bytes_and_what_passes_is_under_it(text: str) -> None:
    try:
        message = rendered(content(title="x", body=text.replace("{", "")), reader())
    except Unrenderable as refusal:
        assert refusal.reason in (Reason.TOO_LONG, Reason.INVALID_MESSAGE)
        assert len(text.encode()) > 3_900 or "\x00" in text
    else:
        assert max(sizes.measure(payload.as_fcm(message)).values()) <= 4_096


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
    assert str(problem).startswith(place)
    assert words in problem.words


@pytest.mark.parametrize(
    "attack",
    [
        "{% for i in (1..999999999) %}x{% endfor %}",
        "{% capture a %}x{% endcapture %}",
        "{% include 'settings' %}",
        "{{ (1..999999999) | join: 'y' }}",
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


# --- What FCM would refuse is refused for the one person it is for --------------------------------


@pytest.mark.parametrize(
    ("values", "platform", "attributes", "said"),
    [
        ({"image": "{{ photo }}"}, "ios", {"photo": "http://x/a"}, "message.notification.image"),
        ({"link": "{{ url }}"}, "android", {"url": "javascript:alert(1)"}, "message.data.link"),
        ({"link": "https://{{ host }}"}, "web", {"host": "/x"}, "has no host name"),
        ({"options": {"ios": {"badge": "{{ unread }}"}}}, "ios", {"unread": "many"},
         "options.ios.badge: must be a whole number"),
        ({"options": {"android": {"color": "{{ team }}"}}}, "android", {"team": "red"},
         "options.android.color: must be a colour"),
        ({"options": {"ios": {"collapse_id": "{{ long }}"}}}, "ios", {"long": "é" * 33},
         "options.ios.collapse_id: has 66 bytes; at most 64"),
        ({"data": {"x": "{{ text }}"}}, "web", {"text": "a\x00b"}, "message.data.x: holds a NUL"),
    ],
)  # fmt: skip
def test_a_persons_value_that_breaks_a_rule_rejects_that_person_and_names_the_field(
    values: dict[str, Any], platform: str, attributes: dict[str, str], said: str
) -> None:
    renderer = Renderer(content(title="x", **values), collapse_id="carillon-81")
    fine = dict.fromkeys(attributes, "1") | {"photo": "https://x/a.png", "team": "#ff0000"}
    for number in range(2):  # the first person is checked in full, the next ones in part
        good = {**fine, "host": "example.com", "url": f"shop://{number}"}
        renderer.render(reader(platform=platform, **good), ttl_seconds=60)
        with pytest.raises(Unrenderable) as refusal:
            renderer.render(reader(platform=platform, **{**good, **attributes}), ttl_seconds=60)
        assert refusal.value.reason == Reason.INVALID_MESSAGE and refusal.value.rejected
        assert said in refusal.value.detail


VALUES = st.sampled_from(
    ["", "1", "http://x", "https://x/ü", "https:///", "javascript:1", "#12aBcD", "high", "low",
     "é" * 40, "a\x00", "\\u0000", " ", "{{ x }}", "x" * 2_000, "https://[", "-1", "١"]
)  # fmt: skip
NAMES = [f"v{number}" for number in range(8)]
PERSONAL = {
    "android": {"color": "{{ v4 | default: '' }}", "priority": "{{ v5 | default: 'high' }}",
                "notification_count": "{{ v6 | default: 0 }}", "data": {"a": "{{ v7 }}"}},
    "ios": {"badge": "{{ v4 | default: 0 }}", "collapse_id": "{{ v5 | default: '' }}",
            "interruption_level": "{{ v6 | default: '' }}", "data": {"a": "{{ v7 }}"}},
    "web": {"icon": "{{ v4 | default: '' }}", "urgency": "{{ v5 | default: '' }}",
            "topic": "{{ v6 | default: '' }}", "actions": [{"action": "a", "title": "{{ v7 }}"}]},
}  # fmt: skip


@pytest.mark.parametrize("platform", PERSONAL)
@given(people=st.lists(st.fixed_dictionaries(dict.fromkeys(NAMES, VALUES)), max_size=20))
def test_checked_in_part_or_in_full_the_answer_is_the_same(
    platform: str, people: list[dict[str, str]]
) -> None:
    texts = {name: f"{{{{ {value} | default: '' }}}}" for name, value in
             {"body": "v0", "image": "v1", "link": "v2"}.items()}  # fmt: skip
    frozen = content(title="x", data={"d": "{{ v3 }}"}, options=PERSONAL, **texts)
    renderer = Renderer(frozen, collapse_id="carillon-81", analytics_label="spring-1")
    renderer.render(reader(platform=platform, v3="1", v7="1"), ttl_seconds=60)
    for person in people:
        with suppress(Unrenderable):
            message = renderer.render(reader(platform=platform, **person), ttl_seconds=60)
            assert validation.validate(payload.as_fcm(message)) == []


def test_of_many_people_only_those_over_the_limit_are_rejected() -> None:
    renderer = Renderer(content(title="x", body="{{ story }}"), collapse_id="carillon-81")
    fates = []
    for length in (10, 5_000, 10, 4_090, 10):
        try:
            renderer.render(reader(story="é" * (length // 2)), ttl_seconds=60)
            fates.append("sent")
        except Unrenderable as refusal:
            assert refusal.reason == Reason.TOO_LONG and refusal.rejected
            fates.append(refusal.detail)
    assert fates[::2] == ["sent", "sent", "sent"]
    assert fates[1] == "message: one text alone has over 4,096 bytes. Shorten it."
    assert "bytes on Android; FCM takes 4,096" in fates[3]


def test_a_push_that_would_say_nothing_is_skipped_not_sent_empty() -> None:
    vip_only = content(title="{% if vip %}Hi{% endif %}", body=" {% if vip %}Come{% endif %} ")
    renderer = Renderer(vip_only, collapse_id="carillon-81")
    assert renderer.render(reader(vip="1"), ttl_seconds=60).title == "Hi"
    with pytest.raises(Unrenderable) as refusal:
        renderer.render(reader(vip=""), ttl_seconds=60)
    assert refusal.value.reason == Reason.TEMPLATE_ERROR and not refusal.value.rejected


def test_options_are_rendered_for_their_own_platform_and_in_their_own_types() -> None:
    options = {
        "ios": {"badge": "{{ unread | default: 0 }}", "thread_id": "shop-{{ city }}"},
        "web": {"actions": [{"action": "open", "title": "Open, {{ first_name }}"}]},
    }
    frozen = content(title="x", options=options)
    person: dict[str, Any] = {"unread": 7, "city": "Seoul", "first_name": "Ada"}
    assert rendered(frozen, reader(platform="android", **person)).options == {}
    ios = rendered(frozen, reader(platform="ios", **person)).options
    assert ios == {"badge": 7, "thread_id": "shop-Seoul"}
    web = rendered(frozen, reader(platform="web", **person)).options
    assert web == {"actions": [{"action": "open", "title": "Open, Ada"}]}


# --- What is wrong for everybody is said when the template is saved -------------------------------


@pytest.mark.parametrize(
    ("values", "field", "words"),
    [
        ({"image": "http://x.example/a.png"}, "image", "https"),
        ({"link": "javascript:alert(1)"}, "link", "https"),
        ({"data": {"n": 1}}, "data", "texts only"),
        ({"data": {"google.x": "1"}}, "data", "reserved"),
        ({"data": {"Carillon_Id": "1"}}, "data", "Carillon's own"),
        ({"image": "https:///a.png"}, "image", "has no host name"),
        ({"link": " JavaScript:alert(1)"}, "link", "https"),
        ({"body": "é" * 2_100}, "body", "FCM takes 4,096"),
        ({"locales": {"ko": {"body": "{{ x }}" + "안" * 1_400}}}, "body", "ko: 4,2"),
        ({"options": {"ios": {"data_only": True, "priority": 10}}}, "options", "shows nothing"),
        ({"options": {"android": {"channel": "x"}}}, "options", "android.channel: no such option"),
        ({"locales": {"korean!": {}}}, "locales", "language tag"),
        ({"locales": {"ko": {"titel": "x"}}}, "locales", "unknown key titel"),
        ({"locales": {"ko": {"title": "{{"}}}, "locales", "ko.title: line 1"),
    ],
)
def test_a_template_names_the_field_that_is_wrong(
    values: dict[str, Any], field: str, words: str
) -> None:
    template = Template(**{"name": "t", "title": "x", "body": "y", **values})
    with pytest.raises(ValidationError) as refusal:
        template.clean()
    assert words in " ".join(refusal.value.message_dict[field])


def test_an_image_that_only_begins_with_a_brace_is_no_address() -> None:
    with pytest.raises(ValidationError) as refusal:
        Template(title="Hi", body="x", image='{"a": {}}').clean()
    assert "image" in refusal.value.message_dict
