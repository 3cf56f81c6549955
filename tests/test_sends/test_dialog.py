"""The dialog of a test send: what it offers, what it asks for again, what it says of nobody."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.planning import campaign_variants
from campaigns.test_sends import tasks
from campaigns.test_sends.models import DeviceTest, SentTest
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.given.builders import (
    make_campaign,
    make_contact,
    make_device,
    make_project,
    make_template,
)
from tests.roles.people import logged_in
from tests.servers.fcm import Fcm
from tests.test_sends.trying import answered, ask, ends_of, make_tester

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(project: Project) -> Desk:
    return Desk(logged_in(Role.EDITOR))


def opened(desk: Desk, project: Project) -> str:
    return desk.open("campaigns_template_test", project=project.pk)


def test_it_says_how_many_testers_there_are(project: Project, desk: Desk) -> None:
    device = make_tester(project)
    make_device(device.contact)
    make_device(device.contact, retired_at="2026-01-01T00:00Z", retired_reason="by_app")
    assert "The testers of this project: 1 person, 2 devices" in opened(desk, project)


def test_without_testers_it_says_how_to_mark_one(project: Project, desk: Desk) -> None:
    page = opened(desk, project)
    assert "Nobody is a tester yet. Tick “tester” on a person's page" in page
    said = text_of(ask(desk, make_template(project)))
    assert "Mark somebody first" in said
    assert not SentTest.objects.exists()


def test_a_person_who_does_not_exist_is_asked_for_again(project: Project, desk: Desk) -> None:
    template = make_template(project)
    assert "Write the external id of the person." in text_of(ask(desk, template, to="person"))
    said = text_of(ask(desk, template, to="person", person="nobody"))
    assert "No person “nobody” in this project." in said
    make_tester(project)
    assert "No person “ghost”" in text_of(ask(desk, template, values_of="ghost"))
    assert "such as" in text_of(ask(desk, template, locale="!!"))
    assert not SentTest.objects.exists()


def test_people_are_suggested_by_the_beginning_of_their_id(project: Project, desk: Desk) -> None:
    for name in ("shop-1", "SHOP-2", "other"):
        make_contact(project, external_id=name)
    make_contact(make_project(), external_id="shop-elsewhere")
    reply = desk.client.get(reverse("admin:test_people"), {"test-person": "shop"})
    assert reply.content.decode() == '<option value="SHOP-2"><option value="shop-1">'
    assert desk.client.get(reverse("admin:test_people")).content == b""


def test_the_demo_phones_are_offered_where_there_are_any(
    project: Project, desk: Desk, fcm: Fcm
) -> None:
    Project.objects.update(uses_emulator=False)
    assert "The demo phones" not in opened(desk, project)
    Project.objects.update(uses_emulator=True)
    assert "The demo phones" in opened(desk, project)
    assert "No demo phone is on" in text_of(ask(desk, make_template(project), to="demo"))
    mina = make_contact(project, external_id="demo-phone-mina")
    phone = make_device(mina, "demo-phone-mina", platform="web")
    ask(desk, make_template(project), to="demo")
    test = SentTest.objects.get()
    tasks.send_test(test.pk)
    assert ends_of(test) == {phone.pk: ("accepted", "")}
    sender = Desk(logged_in(Role.SENDER))
    rings = sender.client.get(reverse("admin:demo_phone_rings", args=["mina"]), {"after": "0"})
    assert [ring["title"] for ring in rings.json()["rings"]] == ["Hello Ada"]


def test_the_result_asks_again_until_every_device_has_its_answer(
    project: Project, desk: Desk, fcm: Fcm
) -> None:
    make_tester(project)
    reply = ask(desk, make_template(project))
    page = reply.content.decode()
    test = SentTest.objects.get()
    address = reverse("admin:test_shown", args=[test.pk])
    assert f'hx-get="{address}"' in page and "On its way." in page
    tasks.send_test(test.pk)
    shown = desk.client.get(address).content.decode()
    assert "hx-get" not in shown and "Every device has its answer." in shown


def test_another_projects_test_is_not_shown(project: Project, desk: Desk) -> None:
    elsewhere = make_project()
    test = SentTest.objects.create(
        project=elsewhere, name="x", content={}, ttl_seconds=1, by="user:bob"
    )
    reply = desk.client.get(reverse("admin:test_shown", args=[test.pk]))
    assert reply.status_code == 409 and "This belongs to the project" in text_of(reply)


def test_a_campaign_that_is_gone_is_said_to_be(project: Project, desk: Desk) -> None:
    campaign = make_campaign(project)
    address = reverse("admin:campaigns_campaign_test", args=[campaign.pk])
    campaign.delete()
    reply = desk.client.get(address, headers={"HX-Request": "true"})
    assert "It has been deleted in the meantime." in text_of(reply)


def test_a_campaigns_text_is_tried_as_it_stands_in_its_form(
    project: Project, desk: Desk, fcm: Fcm
) -> None:
    make_tester(project)
    about = {"settled_project": str(project.pk), "template_from": "make", "name": "Draft"}
    text = {"title": "Written here", "body": "and not saved"}
    desk.post("campaign_text_test", **about, **text, **answered())
    tasks.send_test(SentTest.objects.get().pk)
    assert [one["title"] for one in fcm.witness()] == ["Written here"]
    assert SentTest.objects.get().name == "Draft"


def test_of_a_campaign_with_variants_one_of_its_texts_is_chosen(
    project: Project, desk: Desk, fcm: Fcm
) -> None:
    make_tester(project)
    campaign = make_campaign(project, name="Spring", template={"title": "Text A"})
    campaign_variants.choose(campaign, [(make_template(project, name="Other", title="Text B"), 50)])
    assert "Variant B: Other" in desk.open("campaigns_campaign_test", campaign.pk)
    address = reverse("admin:campaigns_campaign_test", args=[campaign.pk])
    desk.client.post(address, answered(variant="1"), headers={"HX-Request": "true"})
    test = SentTest.objects.get()
    tasks.send_test(test.pk)
    assert ([one["title"] for one in fcm.witness()], test.name) == (["Text B"], "Spring (B)")
    campaign_variants.choose(campaign, [])
    assert "Which text" not in desk.open("campaigns_campaign_test", campaign.pk)


def test_it_is_sent_with_the_token_of_its_own_page_only(project: Project) -> None:
    careful = Client(enforce_csrf_checks=True)
    careful.cookies = logged_in(Role.EDITOR).cookies
    make_tester(project)
    about = {"settled_project": str(project.pk), "title": "x", "body": "y"}
    reply = careful.post(reverse("admin:campaigns_template_test"), {**about, **answered()})
    assert reply.status_code == 403
    assert not DeviceTest.objects.exists()
