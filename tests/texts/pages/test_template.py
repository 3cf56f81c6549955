"""Templates by hand: a live preview for a real person, and errors in a marketer's words."""

from __future__ import annotations

from typing import Any

import pytest

from campaigns.texts.template import Template
from notifications.fcm.options import PLATFORMS
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_campaign, make_contact, make_template

pytestmark = pytest.mark.django_db


def form(**values: Any) -> dict[str, Any]:
    texts = {"title": "Hi {{ first_name }}", "body": "See you", "image": "", "link": ""}
    return {"name": "Spring", "data": "{}", "locales": "{}", **texts, **values}


def preview(desk: Desk, project: Project, **values: Any) -> str:
    return text_of(desk.post("template_preview", project=project.pk, **form(**values)))


def test_saving_keeps_texts_data_and_languages(desk: Desk, project: Project) -> None:
    locales = '{"ko": {"title": "안녕 {{ first_name }}"}}'
    desk.save("campaigns_template_add", **form(data='{"screen": "spring"}', locales=locales))
    template = Template.objects.get()
    assert template.data == {"screen": "spring"}
    assert template.locales == {"ko": {"title": "안녕 {{ first_name }}"}}


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("title", "Hi {{ first_name", "line 1, column"),
        ("body", "a\nb {{ x | uper }}", "line 2, column 10: there is no filter “uper”"),
        ("image", "http://x/y.png", "must be an https:// address"),
        ("link", "javascript:alert(1)", "must be https://"),
        ("data", '{"from": "x"}', "from: this key is reserved"),
        ("data", '{"a": 1,}', "line 1, column 9"),
        ("data", '{"n": 5}', "n: FCM takes texts only; write it in quotes."),
        ("body", "é" * 2_100, "bytes on iOS; FCM takes 4,096. Shorten it."),
        ("options", '{"ios": {"bagde": 1}}', "ios.bagde: no such option; use badge,"),
        ("options", '{"ios": {"badge": true}}', "ios.badge: must be a whole number"),
        ("options", '{"android": {"color": "red"}}', "android.color: must be a colour such as"),
        ("options", '{"web": {"actions": [{"action": "a"}]}}', "web.actions[0]: needs title"),
        ("locales", '{"ko": {"titel": "x"}}', "ko: unknown key titel"),
        ("locales", '{"ko": {"title": "{{ x"}}', "line 1, column 1: a “{{” is never closed"),
    ],
)
def test_a_wrong_text_is_refused_with_its_place_by_form_and_preview(
    desk: Desk, project: Project, field: str, value: str, said: str
) -> None:
    make_contact(project)
    assert said in preview(desk, project, **{field: value})
    assert said in desk.save("campaigns_template_add", **form(**{field: value}))
    assert not Template.objects.exists()


def test_a_text_that_is_too_long_everywhere_is_said_so_once(desk: Desk, project: Project) -> None:
    make_contact(project)
    assert preview(desk, project, body="é" * 2_100).count("FCM takes 4,096") == 1


def test_the_preview_shows_the_text_for_the_person_named(desk: Desk, project: Project) -> None:
    make_contact(project, external_id="u1", attributes={"first_name": "Ada"})
    make_contact(project, external_id="u2", attributes={"first_name": "Linus"})
    text = preview(desk, project, preview_person="u2", link="https://shop/{{ external_id }}")
    assert "Hi Linus See you" in text and "On tap: https://shop/u2" in text
    assert "of 4,096 bytes" in text
    assert "No person “ghost” in Shop." in preview(desk, project, preview_person="ghost")


def test_saving_keeps_options(desk: Desk, project: Project) -> None:
    options = '{"ios": {"badge": "{{ unread }}"}, "android": {"channel_id": "offers"}}'
    desk.save("campaigns_template_add", **form(options=options))
    assert Template.objects.get().options == {
        "ios": {"badge": "{{ unread }}"}, "android": {"channel_id": "offers"},
    }  # fmt: skip


def test_the_preview_shows_each_platforms_message_and_who_would_refuse_it(
    desk: Desk, project: Project
) -> None:
    make_contact(project, attributes={"first_name": "Ada", "unread": "many"})
    options = '{"ios": {"badge": "{{ unread }}"}, "android": {"channel_id": "offers"}}'
    android = preview(desk, project, options=options)
    assert '"channel_id": "offers"' in android and "bytes on Android" in android
    assert "iOS would be rejected" in android and "Web would be" not in android

    ios = preview(desk, project, options=options, preview_platform="ios")
    assert "options.ios.badge: must be a whole number from 0 to 99,999, not “many”" in ios
    assert '"apns"' in preview(desk, project, preview_platform="ios")
    assert '"android"' in preview(desk, project, preview_platform="windows")


def test_the_page_lists_every_option_with_its_words(desk: Desk, project: Project) -> None:
    page = desk.open("campaigns_template_add")
    for known in PLATFORMS.values():
        for name, option in known.items():
            assert f"{name} {option.words}" in page


def test_the_preview_finds_somebody_by_itself_and_survives_an_empty_project(
    desk: Desk, project: Project
) -> None:
    assert "Nobody to show it to yet." in preview(desk, project)
    make_contact(project, external_id="u1", attributes={"first_name": "Ada"})
    assert "Hi Ada" in preview(desk, project)


def test_the_preview_speaks_the_persons_language_or_the_one_asked_for(
    desk: Desk, project: Project
) -> None:
    make_contact(project, external_id="u1", locale="ko-KR", attributes={"first_name": "Ada"})
    locales = '{"ko": {"title": "{{ first_name }}님"}, "de": {"title": "Hallo {{ first_name }}"}}'
    assert "Ada님" in preview(desk, project, locales=locales)
    assert "Hallo Ada" in preview(desk, project, locales=locales, preview_locale="de")
    assert "Ada님" in preview(desk, project, locales=locales, preview_locale="gone")


def test_a_person_who_would_be_skipped_is_said_to_be(desk: Desk, project: Project) -> None:
    make_contact(project, external_id="u1", attributes={"first_name": ""})
    text = preview(desk, project)
    assert "u1 would be skipped." in text
    assert "A value the text needs is missing for this person" in text


def test_each_variable_says_for_how_many_it_is_missing_and_what_then(
    desk: Desk, project: Project
) -> None:
    make_contact(project, attributes={"first_name": "Ada", "city": "Seoul"})
    make_contact(project, attributes={"first_name": ""})
    make_contact(project, attributes={"city": None})
    text = preview(desk, project, title="{{ first_name | default: 'you' }}", body="{{ city }}")
    assert "city person is skipped 2" in text
    assert "first_name text does without 2" in text
    assert "Among the 3 newest people of Shop." in text


def test_markup_in_a_persons_values_stays_text(desk: Desk, project: Project) -> None:
    make_contact(project, attributes={"first_name": "<script>alert(1)</script>"})
    reply = desk.post("template_preview", project=project.pk, **form())
    assert b"<script>" not in reply.content and b"&lt;script&gt;" in reply.content


def test_a_template_in_use_is_not_deleted(desk: Desk, project: Project) -> None:
    template = make_template(project)
    make_campaign(project, name="Spring", template=template)
    page = desk.save("campaigns_template_delete", template.pk, post="yes")
    assert "was not deleted. It is used by the campaign “Spring”." in page
    assert Template.objects.filter(pk=template.pk).exists()

    free = make_template(project)
    desk.post("campaigns_template_delete", free.pk, post="yes")
    assert not Template.objects.filter(pk=free.pk).exists()
