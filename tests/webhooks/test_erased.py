"""Who is erased leaves the log of what was told, and what is still to be told."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.webhooks import outbox, person_data, send_calls, unpacking
from notifications.webhooks.call import Call
from notifications.webhooks.event_types import EventType
from notifications.webhooks.outbox import Event, Outgoing
from tests.api.caller import Caller
from tests.given.at_once import at_once
from tests.given.builders import make_contact, make_device, make_project
from tests.given.endpoints import due_now, make_endpoint, send
from tests.servers.receiver import Receiver

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody rings in between: what is not due is not waited for."""
    monkeypatch.setattr(send_calls, "IDLE_FOR", 0.05)
    monkeypatch.setattr(send_calls, "LOOK_AGAIN", 0.02)


@pytest.fixture
def shop(db: None) -> Project:
    project = make_project()
    for name in ("grace", "peter"):
        make_device(make_contact(project, external_id=name), f"phone-of-{name}")
    return project


def accepted(project: Project, *names: str) -> None:
    """By FCM: a message to each of them, in one commit."""
    told = [
        {"message": "9-1", "contact": name, "device": f"phone-of-{name}", "status": "accepted"}
        for name in names
    ]
    outbox.put(
        project.pk, [Event(EventType.MESSAGE_ACCEPTED, timezone.now(), data) for data in told]
    )


def data(receiver: Receiver) -> list[dict[str, Any]]:
    return [event["data"] for event in receiver.events]


def test_a_person_who_is_erased_leaves_the_log_and_a_replay_does_not_name_them(
    shop: Project, receiver: Receiver
) -> None:
    endpoint = make_endpoint(shop, receiver.url, batched=True)
    call = Caller(shop)
    receiver.says = b"grace is known"
    accepted(shop, "grace", "peter")
    send()
    assert Call.objects.get().state == "accepted"

    assert call.delete("contacts/grace").status_code == 204
    (logged,) = call.get(f"endpoints/{endpoint.pk}/deliveries").json()["results"]
    assert "grace" not in str(logged)
    erased, kept = (event["data"] for event in logged["events"])
    assert erased == {"message": "9-1", "contact": None, "device": None, "status": "accepted"}
    assert (kept["contact"], kept["device"]) == ("peter", "phone-of-peter")

    again = {"delivery": logged["id"]}
    assert call.post(f"endpoints/{endpoint.pk}/replay", again).json() == {"replayed": 1}
    due_now()
    send()
    assert [one["contact"] for one in data(receiver)] == ["grace", "peter", None, "peter"]


def test_what_waits_is_sent_with_its_numbers_and_without_the_person(
    shop: Project, receiver: Receiver
) -> None:
    make_endpoint(shop, receiver.url)
    accepted(shop, "grace")
    unpacking.unpack(now=timezone.now())
    accepted(shop, "grace")
    Caller(shop).delete("contacts/grace")
    accepted(shop, "grace")  # by whoever had it in hand
    assert "grace" not in str(Call.objects.get().events)
    send()
    gone = {"message": "9-1", "contact": None, "device": None, "status": "accepted"}
    assert data(receiver) == [gone] * 3
    assert not Outgoing.objects.exists()


def test_somebody_of_the_same_id_elsewhere_stays_in_the_log(
    shop: Project, receiver: Receiver
) -> None:
    other = make_project(slug="other")
    make_contact(other, external_id="grace")
    for project in (shop, other):
        make_endpoint(project, receiver.url)
        accepted(project, "grace")
    send()
    Caller(shop).delete("contacts/grace")
    kept = Call.objects.get(endpoint__project=other)
    assert kept.events[0]["data"]["contact"] == "grace"
    assert "grace" not in str(Call.objects.get(endpoint__project=shop).events)


def test_the_log_is_not_read_through_for_one_person(shop: Project) -> None:
    endpoint = make_endpoint(shop, "https://hooks.example.com/")
    now = timezone.now()
    Call.objects.bulk_create(
        Call(
            endpoint=endpoint, name=f"evt_{n}", state="accepted", made_at=now, next_at=now,
            gives_up_at=now, events=[{"type": "receipt", "data": {"contact": f"u{n}"}}],
        )
        for n in range(3_000)
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE notifications_call")
        cursor.execute(f"EXPLAIN {person_data.FIND}", [["u7"], [endpoint.pk]])
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "calls_about_people" in plan, plan


def test_who_is_erased_while_calls_are_made_is_in_none_of_them(shop: Project) -> None:
    make_endpoint(shop, "https://hooks.example.com/")
    accepted(shop, "grace")
    at_once(
        first=lambda: unpacking.unpack(now=timezone.now()),
        second=lambda: Caller(shop).delete("contacts/grace"),
    )
    assert "grace" not in str(Call.objects.get().events)

    accepted(shop, "peter")
    at_once(
        first=lambda: Contact.objects.get(external_id="peter").delete(),
        second=lambda: unpacking.unpack(now=timezone.now()),
    )
    assert "peter" not in str(Call.objects.latest("pk").events)
