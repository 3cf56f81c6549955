"""The pages of messages: how they stand, which there are, and what became of one."""

from __future__ import annotations

import re
from datetime import UTC, timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns import tasks
from campaigns.runs.chunk import Chunk
from campaigns.runs.messages.message import Message
from campaigns.runs.messages.taking import take
from campaigns.runs.run import Run
from campaigns.triggers.trigger import Trigger
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.events.writing import Event, write
from notifications.people.figures import midnight
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.api.caller import Caller
from tests.given.builders import make_automation, make_contact, make_device, make_project
from tests.roles.people import logged_in
from tests.servers.fcm import Fcm

ADDRESS = "dead-1:APA91b-a-long-address-of-a-phone-that-is-gone"


@pytest.fixture
def desk(db: None) -> Desk:
    return Desk(logged_in(Role.OWNER))


@pytest.fixture
def shop(db: None) -> Project:
    return make_project(name="Shop", timezone="Asia/Seoul")


def send(project: Project, title: str = "On its way", **other: Any) -> str:
    body = {"to": {"contact": "ada"}, "content": {"title": title, "body": "It left."}, **other}
    answer = Caller(project).post("messages", body)
    assert answer.status_code == 202, answer.content
    name: str = answer.json()["id"]
    return name


def ada(project: Project, *addresses: str) -> None:
    person = make_contact(project, external_id="ada")
    for address in addresses:
        make_device(person, address)


def test_an_empty_page_tells_how_to_send_the_first_message(desk: Desk, shop: Project) -> None:
    page = desk.open("campaigns_messages")
    assert "No messages yet" in page
    assert "curl http://testserver/api/v1/messages" in page


def test_a_waiting_message_is_counted_and_listed(desk: Desk, shop: Project) -> None:
    ada(shop, ADDRESS)
    name = send(shop)
    send(shop, "Tomorrow", at=(timezone.now() + timedelta(days=1)).isoformat())

    page = desk.open("campaigns_messages")
    assert "1 message waits to leave" in page
    assert "1 message is for a later time" in page
    assert f"{name} ada On its way Waiting" in page
    assert "1 message waits to leave" in desk.open("campaigns_messages_numbers")


def test_what_became_of_a_message_is_said_in_words(desk: Desk, fcm: Fcm, project: Project) -> None:
    ada(project, "live1:APA91b", ADDRESS)
    name = send(project)
    tasks.send_messages()

    page = desk.open("campaigns_messages")
    assert "No message waits to leave" in page
    assert "Devices 2 Accepted 1 Rejected 1 Skipped 0 Unknown 0 Waiting 0" in page
    assert "1 accepted, 1 rejected" in page
    shown = desk.open("campaigns_message_one", name)
    assert "Title On its way Text It left." in shown
    assert "Rejected" in shown and "unregistered" not in shown


def test_a_device_that_moved_since_keeps_its_address_and_says_so(
    desk: Desk, fcm: Fcm, project: Project
) -> None:
    ada(project, "live1:APA91b", "live2:APA91b")
    name = send(project)
    tasks.send_messages()
    other = make_contact(project, external_id="bob")
    Device.objects.filter(address="live1:APA91b").update(contact=other)

    devices = Caller(project).get(f"messages/{name}").json()["devices"]
    said = {one["device"]: (one["contact"], one["moved"]) for one in devices}
    assert said == {"live1:APA91b": ("ada", True), "live2:APA91b": ("ada", False)}
    page = desk.open("campaigns_message_one", name)
    assert page.count("now somebody else's") == 1 and "removed" not in page


def test_a_message_names_the_automation_it_comes_of(desk: Desk, project: Project) -> None:
    ada(project, ADDRESS)
    automation = make_automation(project, name="Forgotten cart")
    by_hand = send(project)
    done = Event("ada", automation.event_name, timezone.now(), {})
    write(project.pk, [done])
    tasks.decide_triggers()
    (name,) = (trigger.message for trigger in Trigger.objects.all())

    assert "by the automation Forgotten cart" in desk.open("campaigns_message_one", name)
    assert "by the automation" not in desk.open("campaigns_message_one", by_hand)


def test_a_viewer_sees_no_whole_address_and_cannot_cancel(fcm: Fcm, project: Project) -> None:
    ada(project, ADDRESS)
    name = send(project)
    viewer = Desk(logged_in(Role.VIEWER))
    assert "Cancel the message" not in viewer.open("campaigns_message_one", name)
    assert viewer.confirm("campaigns_message_cancel", name).status_code == 403
    assert Message.objects.get().state == "waiting"
    tasks.send_messages()
    page = viewer.open("campaigns_message_one", name)
    assert ADDRESS not in page and "dead-1:A…" in page


def test_a_message_is_cancelled_once_one_has_confirmed_it(desk: Desk, shop: Project) -> None:
    ada(shop, ADDRESS)
    name = send(shop)
    assert "Cancel the message" in desk.open("campaigns_message_one", name)
    assert f"Cancel message {name}?" in desk.open("campaigns_message_cancel", name)
    assert Message.objects.get().state == "waiting"

    desk.confirm("campaigns_message_cancel", name)

    assert Message.objects.get().state == "cancelled"
    assert AuditEntry.objects.filter(action="cancelled").count() == 1
    page = desk.open("campaigns_message_one", name)
    assert "It was cancelled before it left." in page and "Cancel the message" not in page


def test_what_has_left_is_not_cancelled(desk: Desk, fcm: Fcm, project: Project) -> None:
    ada(project, "live1:APA91b")
    name = send(project)
    tasks.send_messages()
    assert "It has left already" in text_of(desk.confirm("campaigns_message_cancel", name))
    assert not AuditEntry.objects.filter(action="cancelled").exists()


def test_what_waits_for_its_person_to_wake_is_cancelled_on_its_page(
    desk: Desk, fcm: Fcm, shop: Project
) -> None:
    now = timezone.now()
    shop.quiet_from, shop.quiet_until = ((now + timedelta(hours=hours)).time() for hours in (-3, 3))
    shop.save()
    make_device(make_contact(shop, external_id="ada", timezone="Etc/UTC"), "live1:APA91b")
    name = send(shop)
    tasks.send_messages()
    assert "Cancel the message" in desk.open("campaigns_message_one", name)

    desk.confirm("campaigns_message_cancel", name)

    page = desk.open("campaigns_message_one", name)
    assert "It was cancelled first" in page and "Cancel the message" not in page


def test_a_message_is_found_by_id_person_and_key(desk: Desk, shop: Project) -> None:
    ada(shop)
    make_contact(shop, external_id="bob")
    name = send(shop, "Mine", deduplicate={"key": "order 17"})
    send(shop, "Theirs", to={"contact": "bob"})
    for asked in (name, "ada", "order 17"):
        page = desk.open("campaigns_messages", q=asked)
        assert "Mine" in page and "Theirs" not in page, asked
    for asked in ("nobody", "a\0b", "0-1", "9" * 300):
        assert "No message has this id or key" in desk.open("campaigns_messages", q=asked)


def test_older_messages_are_a_page_further(
    desk: Desk, shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("campaigns.runs.messages.pages.message_table.PAGE", 1)
    ada(shop)
    send(shop, "Older one")
    name = send(shop, "Newer one")
    run, number = map(int, name.split("-"))

    first = desk.open("campaigns_messages")
    assert "Newer one" in first and "Older one" not in first
    after = (run << 48) + number
    assert f"after={after}" in desk.client.get("/admin/campaigns/message/").content.decode()
    second = desk.open("campaigns_messages", after=after)
    assert "Older one" in second and "Newer one" not in second


def test_another_projects_messages_are_not_shown(desk: Desk, shop: Project) -> None:
    museum = make_project(name="Museum")
    make_contact(museum, external_id="ada")
    name = send(museum, "Of the museum")
    assert "Of the museum" not in desk.open("campaigns_messages")
    assert "Of the museum" not in desk.open("campaigns_messages", q=name)
    for page in ("campaigns_message_one", "campaigns_message_cancel"):
        assert desk.post(page, name).status_code == 404
    assert Message.objects.get().state == "waiting"


def test_what_a_worker_has_taken_and_not_sent_is_no_silence(desk: Desk, project: Project) -> None:
    ada(project, "live1:APA91b", ADDRESS)
    send(project)
    run = Run.every.get(project=project)
    assert take(run, lambda *_: None) is not None  # by a worker that is killed
    for page in ("campaigns_messages", "index"):
        said = desk.open(page)
        assert "2 devices are being sent to and have no result yet." in said, page
        assert "No message waits" not in said


def test_today_is_told_in_the_zone_of_the_times_below_it(desk: Desk, shop: Project) -> None:
    ada(shop)
    send(shop)
    page = desk.open("campaigns_messages")
    assert re.search(r"Today since \d+ \w+ \d{4}, 00:00 Asia/Seoul", page)
    assert "UTC" not in page


def test_today_counts_what_left_since_midnight_there(
    desk: Desk, fcm: Fcm, project: Project
) -> None:
    Project.objects.update(timezone="Asia/Seoul")
    ada(project, "live1:APA91b")
    for _ in range(3):
        send(project)
        tasks.send_messages()
    begins = midnight("Asia/Seoul", timezone.now())
    first = Chunk.objects.order_by("number").first()
    assert first is not None
    Chunk.objects.filter(pk=first.pk).update(queued_at=begins - timedelta(seconds=1))
    assert "Devices 2 Accepted 2 " in desk.open("campaigns_messages")

    # Midnight there is in the day before by UTC, whose run has ended meanwhile.
    day = begins.astimezone(UTC).date().isoformat()
    Run.every.update(occurrence=day, state="finished", accepted=3)
    page = desk.open("campaigns_messages")
    assert "Devices 2 Accepted 2 " in page


def test_a_call_to_many_says_so_and_whose_each_device_is(
    desk: Desk, fcm: Fcm, project: Project
) -> None:
    for name in ("Bo", "Cy"):
        make_contact(project, external_id=name, attributes={"first_name": name})
    make_device(Contact.objects.get(external_id="Cy"), "live1:APA91b")
    name = send(project, "Hello {{ first_name }}", to={"contacts": ["Bo", "Cy"]})
    tasks.send_messages()

    page = desk.open("campaigns_message_one", name)
    assert "To 2 people. The text as one of them reads it: Bo" in page
    assert "Of all these people, each beside the person it belongs to." in page
    (rest,) = Message.objects.filter(shares__isnull=False)
    theirs = desk.open("campaigns_message_one", rest.id)
    assert "Cy · one of a call to many" in theirs and "To 2 people" not in theirs


# --- On other pages -------------------------------------------------------------------------------


def test_the_page_of_a_person_tells_of_their_newest_messages(desk: Desk, shop: Project) -> None:
    ada(shop)
    bob = make_contact(shop, external_id="b/ob")
    person = Contact.objects.get(external_id="ada")
    assert "No message was sent to this person alone." in desk.open("person_messages", person.pk)
    for number in range(11):
        send(shop, f"Number {number}")
    send(shop, "Theirs", to={"contact": "b/ob"})

    page = desk.open("person_messages", person.pk)
    assert "Number 10" in page and "Number 1 " in page and "Number 0" not in page
    assert "Theirs" not in page and "All messages to this person" in page
    theirs = desk.open("person_messages", bob.pk)
    assert "Theirs" in theirs and "All messages" not in theirs
    assert (
        reverse("admin:person_messages", args=[person.pk])
        in desk.client.get(
            reverse("admin:notifications_contact_change", args=[person.pk])
        ).content.decode()
    )


def test_the_overview_tells_how_messages_stand_once_there_was_one(
    desk: Desk, fcm: Fcm, project: Project
) -> None:
    assert "Messages to one person" not in desk.open("index")
    ada(project, "live1:APA91b", ADDRESS)
    send(project)
    for page in ("index", "campaigns_overview"):
        assert "1 message waits to leave" in desk.open(page)
    tasks.send_messages()

    for page in ("index", "campaigns_overview"):
        said = desk.open(page)
        assert "No message waits to leave." in said
        assert "Single messages 1 accepted by FCM Failed 1 50 %" in said
    assert "Welcome to Carillon" in desk.open("index")  # no campaign was launched yet


def test_a_text_is_shown_as_its_person_reads_it(desk: Desk, shop: Project) -> None:
    ada(shop)
    said = {"title": "{{ first_name }}, {{ order }} left", "body": "Soon in {{ town }}"}
    name = send(shop, content=said, variables={"order": "A-17", "town": "Ulm"})

    assert "Ada, A-17 left" in desk.open("campaigns_messages")
    page = desk.open("campaigns_message_one", name)
    assert "Ada, A-17 left" in page and "Soon in Ulm" in page


def test_a_text_that_lacks_a_value_is_shown_as_it_was_written(desk: Desk, shop: Project) -> None:
    ada(shop)
    send(shop, "{{ first_name }}, {{ nowhere }}")
    assert "{{ first_name }}, {{ nowhere }}" in desk.open("campaigns_messages")


def test_each_of_a_call_to_many_has_their_own_words(desk: Desk, shop: Project) -> None:
    for name in ("Bo", "Cy"):
        make_contact(shop, external_id=name, attributes={"first_name": name})
    send(shop, "Hello {{ first_name }}", to={"contacts": ["Bo", "Cy"]})
    page = desk.open("campaigns_messages")
    assert "Hello Bo" in page and "Hello Cy" in page
