"""However a request names a project or something of one: nothing of another project is told."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.audiences.audience import Audience
from campaigns.planning.campaign import Campaign
from campaigns.texts.template import Template
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_device,
    make_project,
    make_template,
)
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db
NAME = "Lindworm"
EVERYONE = '{"all": []}'
ASKS = ("audience_count", "audience_people", "audience_person", "template_preview",
        "template_variables", "campaign_who", "campaign_what")  # fmt: skip


@pytest.fixture
def shop(db: None) -> Project:
    shop = make_project(name="Shop")
    make_device(make_contact(shop, external_id="ours", attributes={"first_name": "Ada"}))
    return shop


@pytest.fixture
def museum(shop: Project) -> Project:
    """The other one: all it has is called Lindworm."""
    museum = make_project(name="Museum")
    make_device(make_contact(museum, external_id=NAME, attributes={NAME: NAME, "plan": NAME}))
    make_campaign(
        museum,
        name=NAME,
        audience=make_audience(museum, name=NAME, rules={"all": []}),
        template=make_template(museum, name=NAME, title=f"{NAME} {{{{ {NAME} }}}}"),
    )
    make_audience(museum, name=f"{NAME} list", kind="list")
    return museum


def form(**named: object) -> dict[str, object]:
    return {"title": "Hi", "body": "x", "rules": EVERYONE, "audience_from": "make",
            "template_from": "make", "person": NAME, "preview_person": NAME, **named}  # fmt: skip


@pytest.fixture(params=list(Role))
def client(request: pytest.FixtureRequest, db: None) -> Client:
    return logged_in(request.param)


def expect_nothing_told(reply: Any, asked: str) -> None:
    assert reply.status_code < 500, asked
    # What one typed oneself is said back; what only the museum knows is not.
    told = text_of(reply).replace(f"“{NAME}”", "").replace(f"Nobody here is {NAME}", "")
    assert f"{NAME} {NAME}" not in told and "1 people" not in told, (asked, told)


@pytest.mark.parametrize("ask", ASKS)
def test_two_projects_in_one_request_are_refused(
    client: Client, shop: Project, museum: Project, ask: str
) -> None:
    url = reverse(f"admin:{ask}")
    both = (
        (url, form(project=museum.pk, settled_project=shop.pk)),
        (url, form(project=shop.pk, settled_project=museum.pk)),
        (url, form(project=[shop.pk, museum.pk])),
        (url, form(project=[museum.pk, shop.pk])),
        (f"{url}?project={museum.pk}", form(project=shop.pk)),
        (f"{url}?settled_project={shop.pk}", form(project=museum.pk)),
    )
    for path, values in both:
        reply: Any = client.post(path, values)
        if reply.status_code == 403:  # not for this role at all
            assert "Lindworm" not in text_of(reply)
            continue
        assert reply.status_code == 400, path
        assert "names two projects" in text_of(reply) and NAME not in text_of(reply)


def test_two_in_the_address_are_refused_too(client: Client, shop: Project, museum: Project) -> None:
    for ask in ("audience_choices", "audience_values"):
        query = f"project={museum.pk}&settled_project={shop.pk}&field=attributes.plan"
        reply: Any = client.get(f"{reverse(f'admin:{ask}')}?{query}")
        assert reply.status_code == 400 and NAME not in reply.content.decode()


def test_another_projects_row_is_not_smuggled_in_under_ones_own(
    client: Client, shop: Project, museum: Project
) -> None:
    theirs = {
        "audience": Audience.objects.get(name=NAME).pk,
        "template": Template.objects.get(name=NAME).pk,
        "campaign": Campaign.objects.get(name=NAME).pk,
    }
    of_list = Audience.objects.get(kind="list").pk
    for ask in (*ASKS, "campaign_when"):
        for values in (
            form(project=shop.pk, audience_from="pick", template_from="pick", **theirs),
            form(project=shop.pk, kind="list", audience=of_list),
            form(project=shop.pk, rules=f'{{"field": "list", "op": "eq", "value": {of_list}}}'),
        ):
            expect_nothing_told(client.post(reverse(f"admin:{ask}"), values), ask)


def test_a_row_of_one_project_is_not_opened_with_the_name_of_another(
    client: Client, shop: Project, museum: Project
) -> None:
    url = reverse("admin:campaigns_template_change", args=[Template.objects.get(name=NAME).pk])
    for path in (f"{url}?project={shop.pk}", f"{url}?settled_project={shop.pk}"):
        reply: Any = client.get(path)
        assert reply.status_code == 400 and NAME not in text_of(reply)


def test_a_campaign_takes_no_text_and_nobody_of_another_project(
    shop: Project, museum: Project
) -> None:
    desk = Desk(logged_in(Role.OWNER))
    mine = make_campaign(shop, name="Ours")
    theirs = Campaign.objects.get(name=NAME)
    url = reverse("admin:campaigns_campaign_change", args=[mine.pk])
    for step, values in (
        ("who", {"name": "Ours", "audience_from": "pick", "audience": theirs.audience_id}),
        ("what", {"template_from": "pick", "template": theirs.template_id}),
    ):
        reply: Any = desk.client.post(
            f"{url}?step={step}", {**values, "_step": step, "settled_project": shop.pk}
        )
        assert NAME not in text_of(reply)
    mine.refresh_from_db()
    assert mine.audience.project == shop and mine.template.project == shop


def test_a_project_in_the_session_that_is_gone_is_none(shop: Project, museum: Project) -> None:
    client = logged_in(Role.OWNER)
    session = client.session
    session["project"] = "9' OR 1=1"
    session.save()
    reply: Any = client.get("/admin/campaigns/template/")
    assert reply.status_code == 200 and NAME not in text_of(reply)
