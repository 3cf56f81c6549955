"""A mistake in one field is said, and the phone still shows all the others."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_audience, make_contact, make_snippet, make_template

pytestmark = pytest.mark.django_db


def preview(desk: Desk, project: Project, **values: Any) -> str:
    texts = {"title": "Hi {{ first_name }}", "body": "See you", "data": "{}", "options": "{}"}
    return desk.post(
        "template_preview", project=project.pk, **{**texts, "locales": "{}", **values}
    ).content.decode()


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("body", "{{ city | uper }}", "there is no filter"),
        ("image", "http://example.com/a.png", "must be an https:// address"),
        ("link", "javascript:alert(1)", "must be https://"),
        ("data", "{", "a name in double quotes belongs here"),
        ("data", '{"from": "x"}', "reserved by FCM"),
        ("options", '{"android": {"color": "red"}}', "must be a colour"),
        ("options", "[]", "must be an object"),
        ("locales", '{"ko": {"title": "{{"}}', "never closed"),
        ("locales", '{"ko": {"titel": "x"}}', "unknown key"),
        ("buttons", '[{"id": "A B", "title": "x"}]', "1 to 32 of"),
        ("buttons", "{}", "must be a list"),
    ],
)
def test_one_bad_field_is_said_and_the_phone_shows_the_rest(
    desk: Desk, project: Project, field: str, value: str, said: str
) -> None:
    make_contact(project)
    html = preview(desk, project, **{field: value})
    assert f'data-field="{field}"' in html or 'data-locale="ko"' in html
    assert said in html
    assert "<strong>Hi Ada</strong>" in html
    assert "bytes on Android" in html


def test_a_text_that_cannot_be_read_stands_on_the_phone_as_it_is_written(
    desk: Desk, project: Project
) -> None:
    make_contact(project)
    html = preview(desk, project, title="Hi {{ first_name", body="For {{ first_name }} {% if %}")
    assert "<strong>Hi {{ first_name</strong>" in html
    assert "<p>For {{ first_name }} {% if %}</p>" in html


def test_the_options_that_are_in_order_count_while_another_is_not(
    desk: Desk, project: Project
) -> None:
    make_contact(project)
    options = '{"web": {"actions": [{"action": "a", "title": "Open it"}], "icon": "x"}}'
    html = preview(desk, project, options=options, preview_platform="web")
    assert "web.icon: must be an https" in html
    assert "<span>Open it</span>" in html


def test_a_language_with_a_mistake_is_shown_with_its_other_texts(
    desk: Desk, project: Project
) -> None:
    make_contact(project, locale="ko")
    html = preview(desk, project, locales='{"ko": {"title": "{{", "body": "또 봐요"}}')
    assert "<p>또 봐요</p>" in html and "<strong>{{</strong>" in html


def test_a_snippet_that_is_not_there_is_said_and_the_text_stays(
    desk: Desk, project: Project
) -> None:
    make_contact(project)
    make_snippet(project, "footer", "Shop Ltd.")
    html = preview(desk, project, body="{{ snippet.foter }} {{ snippet.footer }}")
    assert "there is no snippet “foter”" in html
    assert "<strong>Hi Ada</strong>" in html and "{{ snippet.foter }}" in html


def test_a_message_that_is_too_long_is_drawn_all_the_same(desk: Desk, project: Project) -> None:
    make_contact(project)
    html = preview(desk, project, body="é" * 2_100)
    assert "FCM takes 4,096" in html
    assert "<strong>Hi Ada</strong>" in html and "c-cut-never" in html


def test_what_is_too_much_to_look_at_is_refused_without_a_phone(
    desk: Desk, project: Project
) -> None:
    make_contact(project)
    html = preview(desk, project, body="a" * 70_000)
    assert "At most 64,000 characters in the whole template" in html
    assert "c-push" not in html


def test_a_campaigns_own_text_with_a_mistake_is_said_beside_its_phones(
    desk: Desk, project: Project
) -> None:
    make_contact(project)
    make_audience(project)
    reply = desk.post(
        "campaign_what", settled_project=project.pk, template_from="make",
        title="Hi {{ first_name }}", body="{{ x | uper }}", image="", link="",
    )  # fmt: skip
    html = reply.content.decode()
    assert 'data-field="body"' in html and "there is no filter" in html
    assert html.count('<strong dir="auto">Hi Ada</strong>') == 3


def test_who_would_be_skipped_is_still_told_so_beside_a_mistake(
    desk: Desk, project: Project
) -> None:
    make_contact(project, external_id="u1", attributes={})
    html = preview(desk, project, link="javascript:x")
    assert "u1 would be skipped." in html and "must be https://" in html


def test_a_value_that_is_missing_is_drawn_by_its_name_and_who_lacks_it_is_told(
    desk: Desk, project: Project
) -> None:
    make_contact(project, external_id="u1", attributes={"first_name": "Ada"})
    html = preview(desk, project, title="Hi {{ first_name }}", body="Rain in {{ citty }}")
    assert "Rain in ‹citty›" in html and "u1 would be skipped." in html


def test_the_phone_shows_somebody_who_is_sent_the_text_if_there_is_one(
    desk: Desk, project: Project
) -> None:
    for number in range(6):
        make_contact(project, attributes={"city": "Seoul"} if number else {})
    html = preview(desk, project, title="Rain in {{ city }}")
    assert "Rain in Seoul" in html and "would be skipped" not in html


# --- What is cut ----------------------------------------------------------------------------------


def test_the_phone_tells_what_is_seen_at_once_from_what_is_not(
    desk: Desk, project: Project
) -> None:
    make_contact(project)
    html = preview(desk, project, body="a" * 45 + "b" * 195 + "c" * 5)
    assert f'{"a" * 45}<span class="c-cut-opened">{"b" * 195}</span>' in html
    assert f'<span class="c-cut-never">{"c" * 5}</span>' in html
    assert "seen once it is opened" in html and "not seen on most of these phones" in html
    assert "c-cut-opened" not in preview(desk, project)


def test_each_platform_says_how_much_of_it_is_seen(desk: Desk, project: Project) -> None:
    make_contact(project)
    reply = desk.post(
        "template_preview", project=project.pk, title="t" * 42, body="b" * 130, data="{}",
        options="{}", locales="{}",
    )  # fmt: skip
    text = text_of(reply)
    assert "Android 42 of 45 130 of 45 cut 240 once opened" in text
    assert "iOS 42 of 40 cut 80 once opened 130 of 150 300 once opened" in text
    assert "Web 42 of 50 130 of 120 cut" in text


def test_a_saved_template_is_not_touched_by_what_is_wrong_in_its_form(
    desk: Desk, project: Project
) -> None:
    template = make_template(project, title="Saved")
    preview(desk, project, title="{{", template=template.pk)
    template.refresh_from_db()
    assert template.title == "Saved"
