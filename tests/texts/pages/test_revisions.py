"""A template's past: every saved change is kept, shown and can be brought back."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from campaigns.texts.template import Template
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk, messages_of
from tests.given.builders import make_template

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(db: None) -> Desk:
    """The second person at the same template."""
    client = Client()
    client.force_login(
        User.objects.create_superuser("bob", "bob@example.com", "another pass phrase")
    )
    return Desk(client)


def form(template: Template, **values: Any) -> dict[str, Any]:
    """What the page of this template would post."""
    texts = {name: getattr(template, name) for name in ("name", "title", "body", "image", "link")}
    return {**texts, "data": "{}", "options": "{}", "locales": "{}", **values}


def save(desk: Desk, template: Template, **values: Any) -> str:
    return desk.save("campaigns_template_change", template.pk, **form(template, **values))


def kept(template: Template) -> list[tuple[int, str, str]]:
    return [(one.number, one.by, one.content["title"]) for one in template.revisions.all()]


def test_every_saved_change_is_a_revision_and_saving_the_same_is_none(
    desk: Desk, project: Project
) -> None:
    desk.save("campaigns_template_add", name="Spring", title="One", body="B", data="{}")
    template = Template.objects.get()
    save(desk, template, title="Two")
    save(desk, template, title="Two")
    assert kept(template) == [(2, "user:ada", "Two"), (1, "user:ada", "One")]


def test_what_an_older_template_said_is_kept_before_its_first_change(
    desk: Desk, project: Project
) -> None:
    template = make_template(project, title="As it was")
    save(desk, template, title="New")
    assert kept(template) == [(2, "user:ada", "New"), (1, "", "As it was")]
    first = template.revisions.get(number=1)
    assert first.at == template.updated_at
    page = desk.open("template_revision", template.pk, 1)
    assert "Saved by somebody, before revisions were kept" in page


def test_a_refused_change_leaves_no_revision(desk: Desk, project: Project) -> None:
    template = make_template(project)
    save(desk, template, title="{{ broken")
    assert not template.revisions.filter(number=2).exists()


def test_the_page_lists_who_changed_what(desk: Desk, bob: Desk, project: Project) -> None:
    template = make_template(project, title="One", body="B")
    save(desk, template, title="Two")
    save(bob, template, title="Two", locales='{"ko": {"title": "둘"}}')
    page = desk.open("campaigns_template_change", template.pk)
    assert "Revision 3 bob" in page and "ko · Title" in page
    assert "Revision 2 ada" in page
    assert "Revision 3 bob" in desk.open("template_revisions", template.pk)


def test_a_revision_shows_word_by_word_what_it_changed(desk: Desk, project: Project) -> None:
    template = make_template(project, title="See you in spring")
    save(desk, template, title="See you in autumn")
    reply = desk.client.get(f"/admin/campaigns/template/{template.pk}/revisions/2/")
    assert "See you in <del>spring</del><ins>autumn</ins>" in reply.content.decode()


def test_markup_in_a_text_stays_text_in_the_difference(desk: Desk, project: Project) -> None:
    template = make_template(project, title="<script>alert(1)</script>")
    save(desk, template, title="<b>x</b>", locales='{"ko": {"title": "<i>y</i>"}}')
    reply = desk.client.get(f"/admin/campaigns/template/{template.pk}/revisions/2/")
    html = reply.content.decode()
    assert "alert" in html and "<script>alert" not in html and "<b>x" not in html


def test_bringing_a_revision_back_makes_it_the_newest_and_keeps_the_ones_between(
    desk: Desk, project: Project
) -> None:
    template = make_template(project, title="One", options={"ios": {"badge": 1}})
    save(desk, template, title="Two", name="Renamed")
    reply = desk.post("template_revision", template.pk, 1, newest="2")
    assert messages_of(reply) == ["Revision 1 is back."]
    template.refresh_from_db()
    assert (template.title, template.options) == ("One", {"ios": {"badge": 1}})
    assert template.name == "Renamed"
    assert kept(template)[0] == (3, "user:ada", "One")
    entry = AuditEntry.objects.get(action="brought back")
    assert (entry.actor, entry.detail) == ("user:ada", {"revision": 1})


def test_nothing_is_brought_back_over_a_text_that_was_saved_meanwhile(
    desk: Desk, bob: Desk, project: Project
) -> None:
    template = make_template(project, title="One")
    save(desk, template, title="Two")
    save(bob, template, title="Three")
    reply = desk.post("template_revision", template.pk, 1, newest="2")
    assert "Somebody saved another text in the meantime." in messages_of(reply)[0]
    template.refresh_from_db()
    assert template.title == "Three"


def test_a_text_that_the_rules_of_today_refuse_is_not_brought_back(
    desk: Desk, project: Project
) -> None:
    template = make_template(project, title="{{ first_name | shout }}")
    save(desk, template, title="Fine")
    reply = desk.post("template_revision", template.pk, 1, newest="2")
    assert "It cannot be brought back as it is: line 1" in messages_of(reply)[0]
    template.refresh_from_db()
    assert template.title == "Fine"


def test_whoever_may_not_change_templates_brings_nothing_back(
    client: Client, desk: Desk, project: Project
) -> None:
    template = make_template(project, title="One")
    save(desk, template, title="Two")
    client.force_login(User.objects.create_user("eve", password="eve's pass phrase", is_staff=True))
    assert client.post(f"/admin/campaigns/template/{template.pk}/revisions/1/").status_code == 403
    assert client.get(f"/admin/campaigns/template/{template.pk}/revisions/").status_code == 403
    template.refresh_from_db()
    assert template.title == "Two"


# --- Two people at once ---------------------------------------------------------------------------


def test_the_page_knows_which_revision_it_shows(desk: Desk, project: Project) -> None:
    template = make_template(project)
    save(desk, template, title="Two")
    reply = desk.client.get(f"/admin/campaigns/template/{template.pk}/change/")
    assert 'name="seen" value="2"' in reply.content.decode()


def test_the_second_of_two_sees_who_saved_what_and_keeps_both(
    desk: Desk, bob: Desk, project: Project
) -> None:
    template = make_template(project, title="One", body="B")
    save(bob, template, seen=0, body="Bob's body")
    page = save(desk, template, seen=0, title="Ada's title")
    assert "Nothing is saved yet." in page
    assert "bob saved another text while you were writing" in page
    assert "These changes of theirs are now in the form below" in page
    assert "Here you both wrote." not in page
    template.refresh_from_db()
    assert (template.title, template.body) == ("One", "Bob's body")

    page = save(desk, template, seen=2, title="Ada's title", body="Bob's body")
    template.refresh_from_db()
    assert (template.title, template.body) == ("Ada's title", "Bob's body")


def test_what_the_second_gets_back_holds_their_own_text_and_the_others_beside(
    desk: Desk, bob: Desk, project: Project
) -> None:
    template = make_template(
        project, title="One", locales={"ko": {"title": "하나"}, "de": {"title": "Eins"}}
    )
    save(
        bob,
        template,
        seen=0,
        title="Bob's",
        locales='{"ko": {"title": "밥"}, "de": {"title": "Eins"}}',
    )
    reply: Any = desk.post(
        "campaigns_template_change",
        template.pk,
        **form(template, seen=0, title="Ada's",
               locales='{"ko": {"title": "하나"}, "de": {"title": "Adas"}}'),
    )  # fmt: skip
    shown = reply.context["adminform"].form
    assert shown["title"].value() == "Ada's"
    assert shown["seen"].value() == "2"
    assert '"밥"' in shown["locales"].value() and '"Adas"' in shown["locales"].value()
    html = reply.content.decode()
    assert "Here you both wrote." in html and "Bob&#x27;s" in html


def test_a_text_with_a_mistake_is_not_lost_when_two_people_write(
    desk: Desk, bob: Desk, project: Project
) -> None:
    template = make_template(project, locales={"ko": {"title": "하나"}})
    save(bob, template, seen=0, locales='{"ko": {"title": "밥"}}')
    reply: Any = desk.post(
        "campaigns_template_change", template.pk, **form(template, seen=0, locales='{"ko": {')
    )
    shown = reply.context["adminform"].form
    assert shown["locales"].value() == '{"ko": {'
    html = reply.content.decode()
    assert "Here you both wrote." in html and "밥" in html


def test_two_people_who_write_the_same_are_in_nobodys_way(
    desk: Desk, bob: Desk, project: Project
) -> None:
    template = make_template(project, title="One")
    save(bob, template, seen=0, title="Two")
    save(desk, template, seen=0, title="Two", link="https://example.com/")
    template.refresh_from_db()
    assert (template.title, template.link) == ("Two", "https://example.com/")
