"""The pages of snippets: written, previewed, looked back at, kept while a template says them."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from campaigns.texts.snippets.snippet import Snippet
from campaigns.texts.template import Template
from notifications.people.project import Project
from notifications.staff.team import Role, TeamMember
from tests.admin.desk import Desk, messages_of, text_of
from tests.given.builders import (
    make_automation,
    make_campaign,
    make_contact,
    make_people,
    make_run,
    make_snippet,
    make_template,
)

pytestmark = pytest.mark.django_db
SAYS = {"title": "Sale", "body": "Come by. {{ snippet.footer }}"}
KO = json.dumps({"ko": {"text": "샵"}})


def form(snippet: Snippet, **values: Any) -> dict[str, Any]:
    said = {"name": snippet.name, "text": snippet.text, "locales": json.dumps(snippet.locales)}
    return {**said, **values}


def test_a_snippet_is_written_listed_and_its_changes_kept(desk: Desk, project: Project) -> None:
    desk.save("campaigns_snippet_add", name="footer", text="Shop", locales=KO)
    snippet = Snippet.objects.get()
    assert snippet.says() == {"text": "Shop", "locales": {"ko": {"text": "샵"}}}
    listed = desk.open("campaigns_snippet_changelist")
    assert "{{ snippet.footer }}" in listed
    assert "main text, ko" in listed

    desk.save("campaigns_snippet_change", snippet.pk, **form(snippet, text="Shop Ltd"))
    past = desk.open("snippet_revisions", snippet.pk)
    assert "Revision 2" in past and "Text" in past
    assert "Shop" in desk.open("snippet_revision", snippet.pk, 1)
    desk.post("snippet_revision", snippet.pk, 1, newest="2")
    snippet.refresh_from_db()
    assert (snippet.text, snippet.revisions.count()) == ("Shop", 3)


def test_a_mistake_is_said_in_its_field_and_nothing_is_saved(desk: Desk, project: Project) -> None:
    page = desk.save("campaigns_snippet_add", name="footer", text="{{ snippet.x }}", locales="{}")
    assert "a snippet holds no other snippet" in page
    assert not Snippet.objects.exists()


def test_the_second_of_two_sees_what_the_first_saved(desk: Desk, project: Project) -> None:
    snippet = make_snippet(project, "footer", "Shop")
    desk.save("campaigns_snippet_change", snippet.pk, **form(snippet, text="A", seen=1))
    page = desk.save("campaigns_snippet_change", snippet.pk, **form(snippet, text="B", seen=1))
    assert "Here you both wrote." in page
    snippet.refresh_from_db()
    assert snippet.text == "A"


def test_the_preview_reads_it_to_somebody_in_a_language_of_choice(
    desk: Desk, project: Project
) -> None:
    make_contact(project, external_id="ada", locale="de", attributes={"first_name": "Ada"})
    said = {"project": project.pk, "text": "Shop for {{ first_name }}", "locales": KO}
    page = text_of(desk.post("snippet_preview", **said))
    assert "Shop for Ada" in page and "ada reads de" in page
    assert "샵" in text_of(desk.post("snippet_preview", **said, preview_locale="ko"))
    lacking = text_of(desk.post("snippet_preview", **{**said, "text": "in {{ city }}"}))
    assert "None of the people checked has “city”." in lacking
    wrong = text_of(desk.post("snippet_preview", **{**said, "text": "in {{ city"}))
    assert "never closed" in wrong
    many = text_of(desk.post("snippet_preview", **{**said, "locales": '{"ko": 3}'}))
    assert "must be an object" in many


def test_its_page_names_who_says_it_and_it_is_not_deleted_meanwhile(
    desk: Desk, project: Project
) -> None:
    snippet = make_snippet(project, "footer", "Shop")
    assert "No template mentions it yet." in desk.open("campaigns_snippet_change", snippet.pk)
    template = make_template(project, name="Autumn", **SAYS)
    make_campaign(project, name="Autumn sale", template=template)
    make_automation(project, name="Forgotten cart", template=template)
    page = desk.open("campaigns_snippet_change", snippet.pk)
    assert all(name in page for name in ("Autumn sale", "Forgotten cart", "Autumn"))
    assert "1 template" in desk.open("campaigns_snippet_changelist")

    reply = desk.post("campaigns_snippet_delete", snippet.pk, post="yes")
    assert "It is used by the template “Autumn”." in messages_of(reply)[0]
    template.body = "Come by."
    template.save()
    desk.post("campaigns_snippet_delete", snippet.pk, post="yes")
    assert not Snippet.objects.exists()


def test_a_run_names_the_revisions_that_it_says(desk: Desk, project: Project) -> None:
    snippet = make_snippet(project, "footer", "Shop")
    desk.save("campaigns_snippet_change", snippet.pk, **form(snippet, text="Shop Ltd"))
    make_people(project, 1)
    run = make_run(project, template=SAYS)
    desk.save("campaigns_snippet_change", snippet.pk, **form(snippet, text="Something else"))
    page = desk.open("campaigns_run_change", run.pk)
    assert "Snippet “footer” as of revision 2" in page
    assert "Come by. Shop Ltd" in page and "Something else" not in page


def test_a_template_offers_snippets_and_previews_what_they_say(
    desk: Desk, project: Project
) -> None:
    make_snippet(project, "footer", "Shop", ko="샵")
    make_contact(project, external_id="ada", locale="de", attributes={"first_name": "Ada"})
    offered = desk.post("template_variables", project=project.pk).content.decode()
    assert 'value="snippet.footer"' in offered

    said = {"project": project.pk, **SAYS, "locales": "{}", "data": "{}", "options": "{}"}
    assert "Come by. Shop" in text_of(desk.post("template_preview", **said))
    assert "샵" in text_of(desk.post("template_preview", **said, preview_locale="ko"))
    wrong = text_of(desk.post("template_preview", **{**said, "body": "{{ snippet.foter }}"}))
    assert "Did you mean “footer”?" in wrong

    make_template(project, name="Autumn", **SAYS)
    assert "Come by. Shop" in desk.open("campaigns_template_changelist")


def test_what_a_template_mentions_is_kept_in_rows(desk: Desk, project: Project) -> None:
    make_snippet(project, "footer", "Shop")
    make_snippet(project, "brand", "Shop")
    said = {"name": "A", "title": "{{ snippet.brand }}", "body": "B", "data": "{}"}
    desk.save("campaigns_template_add", **said, options="{}", locales="{}")
    template = Template.objects.get()
    uses = template.snippet_uses.values_list("snippet__name", flat=True)
    assert set(uses) == {"brand"}
    template.duplicate()
    assert Snippet.objects.get(name="brand").uses.count() == 2
    template.delete()
    assert Snippet.objects.get(name="brand").uses.count() == 1


def test_who_may_only_look_reads_it_as_it_is_saved(client: Client, project: Project) -> None:
    make_contact(project, locale="ko")
    snippet = make_snippet(project, "footer", "Shop", ko="샵")
    member = User.objects.create_user("vic", password="a long pass phrase", is_staff=True)
    TeamMember.objects.create(user=member, role=Role.VIEWER)
    client.force_login(member)
    page = client.get(f"/admin/campaigns/snippet/{snippet.pk}/change/").content.decode()
    card = page[page.index('id="preview-card"') :]
    posted = dict(re.findall(r'name="(\w+)" value="([^"]*)"', card.partition("</section>")[0]))
    assert (posted["text"], posted["project"]) == ("Shop", str(project.pk))
    said = {name: unescape(value) for name, value in posted.items()}
    assert "샵" in client.post("/admin/campaigns/snippet/preview/", said).content.decode()
    refused = client.post(f"/admin/campaigns/snippet/{snippet.pk}/change/", {"text": "Mine"})
    assert refused.status_code == 403
