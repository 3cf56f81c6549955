"""What helps a marketer write: variables people really have, mistakes with their place, phones."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from notifications.people.project import Project
from notifications.staff.team import Role, TeamMember
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_contact, make_project, make_template

pytestmark = pytest.mark.django_db


def preview(desk: Desk, project: Project, **values: Any) -> str:
    """The preview's markup: places and looks are in no text."""
    texts = {"title": "Hi", "body": "See you", "data": "{}", "options": "{}", "locales": "{}"}
    reply = desk.post("template_preview", project=project.pk, **{**texts, **values})
    return reply.content.decode()


def variables(desk: Desk, project: Project, **values: Any) -> str:
    return text_of(desk.post("template_variables", project=project.pk, **values))


# --- Variables ------------------------------------------------------------------------------------


def test_the_variables_are_what_people_have_with_how_many_have_it(
    desk: Desk, project: Project
) -> None:
    make_contact(project, external_id="u1", attributes={"city": "Seoul", "plan": "pro"})
    make_contact(project, attributes={"city": "Busan", "plan": ""})
    make_contact(project, attributes={"city": "Daegu", "plan": None})
    text = variables(desk, project, preview_person="u1")
    assert "city Seoul everyone" in text
    assert "plan pro 33 %" in text
    assert "external_id u1 everyone" in text


def test_locale_and_zone_are_said_to_be_missing_where_they_are(
    desk: Desk, project: Project
) -> None:
    make_contact(project, locale="ko")
    make_contact(project, locale="")
    text = variables(desk, project)
    assert re.search(r"locale (ko )?50 %", text)
    assert re.search(r"timezone UTC everyone", text)


def test_what_reads_in_no_sentence_is_not_offered(desk: Desk, project: Project) -> None:
    make_contact(project, attributes={"tags": ["a"], "home": {"city": "x"}, "age": 30})
    text = variables(desk, project)
    assert "age 30" in text
    assert "tags" not in text and "home" not in text


def test_the_variables_of_another_project_are_not_shown(desk: Desk, project: Project) -> None:
    other = make_project()
    make_contact(other, attributes={"their_secret": "x"})
    make_contact(project, attributes={"city": "x"})
    text = variables(desk, project)
    assert "city" in text and "their_secret" not in text


def test_without_a_project_or_people_the_variables_say_so(desk: Desk, project: Project) -> None:
    assert "Choose a project first" in text_of(desk.post("template_variables"))
    assert "external_id" in variables(desk, project)


def test_a_variable_nobody_has_is_said_with_the_one_that_was_meant(
    desk: Desk, project: Project
) -> None:
    make_contact(project, attributes={"first_name": "Ada"})
    html = preview(desk, project, title="Hi {{ firstname }}, {{ zzz | default: 'x' }}")
    assert "None of the people checked has “firstname”. Did you mean “first_name”?" in html
    assert "None of the people checked has “zzz”.</p>" in html
    assert "None of the people checked" not in preview(desk, project, title="Hi {{ first_name }}")


def test_single_braces_are_pointed_at(desk: Desk, project: Project) -> None:
    make_contact(project, attributes={"first_name": "Ada"})
    assert "“{ first_name }” is shown unchanged." in preview(
        desk, project, title="Hi { first_name }"
    )
    assert "is shown unchanged" not in preview(desk, project, title="{{ first_name }}")


# --- Mistakes and their place ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "column", "said"),
    [
        ("{{ x | uppercase }}", 8, "there is no filter “uppercase”. Did you mean “upcase”?"),
        ("{{ x | zzz }}", 8, "there is no filter “zzz”. Use one of append,"),
        ("{{ x | default 'a' }}", 16, "a “:” is missing before this"),
        ("{{ x | default: “a” }}", 17, "curly quotes are not understood; write straight ones"),
        ("{{ x | default: 'a }}", 17, "this quote is never closed"),
        ("{{ x | }}", 10, "a filter's name is missing after the last “|”"),
        ("{% if %}a{% endif %}", 4, "a condition is missing, as in {% if first_name %}"),
        ("{% if x = 1 %}a{% endif %}", 9, "to compare, write “==”"),
        ("{{{ x }}}", 3, "one “{” too many"),
        ("{{ x ? y }}", 6, "“?” is not expected here"),
        ("{%", 1, "a “{%” is never closed; add “%}”"),
    ],
)
def test_each_usual_mistake_is_said_in_plain_words_at_its_place(
    desk: Desk, project: Project, source: str, column: int, said: str
) -> None:
    reply = desk.post("template_preview", project=project.pk, title=source, body="B")
    assert f"Title line 1, column {column}: {said}" in text_of(reply)
    assert f'data-field="title" data-locale="" data-line="1" data-column="{column}"' in (
        reply.content.decode()
    )


def test_a_mistake_in_a_language_names_the_language_and_shows_the_place(
    desk: Desk, project: Project
) -> None:
    html = preview(desk, project, locales='{"ko": {"body": "하나\\n둘 {{ x | uper }}"}}')
    assert 'data-field="body" data-locale="ko" data-line="2" data-column="10"' in html
    assert "<strong>ko · Body</strong>" in html
    assert "둘 {{ x | <mark>u</mark>per }}" in html


def test_the_place_of_a_mistake_is_known_whatever_a_language_calls_it(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    translations = {"line %(line)s, column %(column)s": "somewhere"}
    monkeypatch.setattr(
        "django.utils.translation._trans.gettext", lambda words: translations.get(words, words)
    )
    texts = {"title": "{{ x | uper }}", "locales": '{"ko": {"body": "하나\\n둘 {{ x | uper }}"}}'}
    html = preview(desk, project, **texts)
    assert 'data-field="title" data-locale="" data-line="1" data-column="8"' in html
    assert 'data-field="body" data-locale="ko" data-line="2" data-column="10"' in html


@pytest.mark.parametrize("locales", ['["ko"]', '[{"a": 1}, 2]', '{"ko": "x"}', "5", '{"ko": {'])
def test_languages_that_cannot_be_read_are_refused_and_break_nothing(
    desk: Desk, project: Project, locales: str
) -> None:
    make_contact(project)
    assert "Languages" in preview(desk, project, locales=locales)


# --- The phones -----------------------------------------------------------------------------------


def test_each_platform_draws_its_own_phone_light_and_dark(desk: Desk, project: Project) -> None:
    make_contact(project)
    assert 'c-phone-android" data-look="light"' in preview(desk, project)
    html = preview(desk, project, preview_platform="ios", preview_look="dark")
    assert 'c-phone-ios" data-look="dark"' in html
    assert 'id="preview-on-ios" aria-pressed="true"' in html
    assert 'id="preview-in-dark" aria-pressed="true"' in html


def test_a_browsers_buttons_are_drawn(desk: Desk, project: Project) -> None:
    make_contact(project, attributes={"city": "<b>Seoul"})
    options = '{"web": {"actions": [{"action": "go", "title": "Go to {{ city }}"}]}}'
    html = preview(desk, project, options=options, preview_platform="web")
    assert "<span>Go to &lt;b&gt;Seoul</span>" in html


def test_a_message_only_the_app_sees_says_so(desk: Desk, project: Project) -> None:
    make_contact(project)
    html = preview(desk, project, options='{"android": {"data_only": true}}')
    assert "The phone shows nothing by itself" in html


def test_who_may_only_look_sees_the_saved_text_on_the_phone(
    client: Client, project: Project
) -> None:
    make_contact(project, locale="ko")
    template = make_template(project, title="Hi", body="B", locales={"ko": {"title": "안녕"}})
    member = User.objects.create_user("vic", password="a long pass phrase", is_staff=True)
    TeamMember.objects.create(user=member, role=Role.VIEWER)
    client.force_login(member)
    page = client.get(f"/admin/campaigns/template/{template.pk}/change/").content.decode()
    card = page[page.index('id="preview-card"') :]
    posted = dict(re.findall(r'name="(\w+)" value="([^"]*)"', card.partition("</section>")[0]))
    assert (posted["title"], posted["project"]) == ("Hi", str(project.pk))
    reply = client.post(
        "/admin/campaigns/template/preview/",
        {name: unescape(value) for name, value in posted.items()},
    )
    assert "안녕" in reply.content.decode()
