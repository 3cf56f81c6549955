"""The demo phones' doors: who may use them, what they write, and what rang on them."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from campaigns import tasks
from campaigns.demo.phones import LONGEST, ROOM
from campaigns.runs.messages.message import Message
from notifications.inbox.item import InboxItem
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.api.own_app import OwnApp
from tests.roles.people import logged_in
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(project: Project) -> Desk:
    return Desk(logged_in(Role.SENDER))


def on(desk: Desk, name: str) -> OwnApp:
    """The phone, registered."""
    told: Any = desk.post("demo_phone_on", name)
    app = OwnApp(told.json()["token"])
    device = {"token": told.json()["address"], "platform": "web"}
    assert app("POST", "devices", device).status_code == 200
    return app


def rings(desk: Desk, name: str, *, after: float = 0) -> list[dict[str, Any]]:
    address = reverse("admin:demo_phone_rings", args=[name])
    reply: Any = desk.client.get(address, {"after": str(after)})
    assert reply.status_code == 200, reply.content
    found: list[dict[str, Any]] = reply.json()["rings"]
    return found


def test_looking_at_the_page_writes_nobody(desk: Desk) -> None:
    page = desk.open("demo_phones")
    assert "Mina" in page and "Leo" in page
    assert not Contact.objects.exists()


def test_one_phone_can_have_a_window_of_its_own(desk: Desk) -> None:
    page = desk.open("demo_phones", only="leo")
    assert "Leo’s phone" in desk.client.get("/admin/demo/phone/?only=leo").content.decode()
    assert "Mina" not in page and "Both phones" in page


def test_its_short_address_leads_to_it(desk: Desk) -> None:
    reply = desk.client.get("/demo/phone?only=mina")
    assert reply["Location"] == reverse("admin:demo_phones") + "?only=mina"


def test_what_one_writes_is_in_both_inboxes_and_rings_both_once(desk: Desk, fcm: Fcm) -> None:
    mina, leo = on(desk, "mina"), on(desk, "leo")

    reply: Any = desk.post("demo_phone_write", "mina", words="  Shall we <b>sing</b>?  ")
    tasks.send_messages()

    assert reply.json()["id"] == Message.objects.order_by("number")[0].id
    for app in (mina, leo):
        (item,) = app("GET", "inbox").json()["results"]
        assert (item["title"], item["body"]) == ("Mina", "Shall we <b>sing</b>?")
        assert (item["collapse"], item["data"]["sender"]) == (ROOM, "Mina")
    assert sorted(record["address"] for record in fcm.witness()) == [
        "demo-phone-leo",
        "demo-phone-mina",
    ]
    (ring,) = rings(desk, "leo")
    item = InboxItem.objects.get(contact__external_id="demo-phone-leo")
    assert ring["item"] == item.pk
    assert (ring["title"], ring["body"], ring["tag"]) == ("Mina", "Shall we <b>sing</b>?", ROOM)
    assert rings(desk, "leo", after=ring["at"]) == []


def test_a_second_push_says_how_many_are_new(desk: Desk) -> None:
    on(desk, "leo")
    for words in ("One", "Two"):
        desk.post("demo_phone_write", "mina", words=words)
        tasks.send_messages()
    assert [ring["title"] for ring in rings(desk, "leo")] == ["Mina", "Mina (2 new)"]


@pytest.mark.parametrize("words", ["", " \0 ", "x" * (LONGEST + 1)])
def test_what_is_empty_or_too_long_is_refused_in_words(desk: Desk, words: str) -> None:
    reply: Any = desk.post("demo_phone_write", "mina", words=words)
    assert reply.status_code == 400 and reply.json()["problem"]
    assert not Message.objects.exists()


@pytest.mark.parametrize("after", ["", "soon", "nan", "inf"])
def test_a_moment_that_is_none_finds_nothing(desk: Desk, after: str) -> None:
    on(desk, "leo")
    desk.post("demo_phone_write", "mina", words="Hello")
    tasks.send_messages()
    reply: Any = desk.client.get(
        reverse("admin:demo_phone_rings", args=["leo"]), {"after": str(after)}
    )
    assert reply.json() == {"rings": []}


def test_a_stand_in_that_is_away_is_said_so(desk: Desk, settings: LazySettings) -> None:
    on(desk, "leo")
    settings.FCM_ENDPOINT = "https://127.0.0.1:9"
    began = time.monotonic()
    reply: Any = desk.client.get(reverse("admin:demo_phone_rings", args=["leo"]), {"after": 0})
    assert reply.status_code == 503 and "does not answer" in reply.json()["problem"]
    assert time.monotonic() - began < 10


def test_there_are_none_where_real_phones_ring(desk: Desk, project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(uses_emulator=False)
    assert "No demo phones here" in desk.open("demo_phones")
    for page in ("on", "write"):
        assert desk.post(f"demo_phone_{page}", "mina", words="Hi").status_code == 404
    assert not Contact.objects.exists()


def test_there_are_none_without_a_stand_in(desk: Desk, settings: LazySettings) -> None:
    settings.FCM_ENDPOINT = settings.GOOGLE_FCM_ENDPOINT
    assert "No demo phones here" in desk.open("demo_phones")
    assert desk.post("demo_phone_on", "mina").status_code == 404


def test_there_is_no_third(desk: Desk) -> None:
    assert desk.post("demo_phone_on", "eve").status_code == 404


def test_who_may_not_send_is_offered_none(project: Project) -> None:
    viewer = Desk(logged_in(Role.VIEWER))
    assert "demo phones" not in viewer.open("campaigns_messages")
    assert viewer.client.get(reverse("admin:demo_phones")).status_code == 403
    assert viewer.post("demo_phone_on", "mina").status_code == 403
    assert not Contact.objects.exists()


def test_a_stranger_is_sent_to_the_log_in(project: Project) -> None:
    reply = Client().post(reverse("admin:demo_phone_on", args=["mina"]))
    assert reply.status_code == 302 and "/login/" in reply["Location"]
    assert not Contact.objects.exists()


def test_the_page_of_messages_offers_them(desk: Desk) -> None:
    assert "Two demo phones" in desk.open("campaigns_messages")
