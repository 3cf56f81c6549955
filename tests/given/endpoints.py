"""Endpoints, and what is on its way to them."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.webhooks import outbox, send_calls
from notifications.webhooks.call import Call
from notifications.webhooks.endpoint import Endpoint
from notifications.webhooks.event_types import EventType
from notifications.webhooks.outbox import Event


def make_endpoint(project: Project, url: str, **values: Any) -> Endpoint:
    """A webhook that wants to hear everything."""
    given = {"name": "Shop", "via": Endpoint.Via.WEBHOOK, "kinds": EventType.values} | values
    endpoint = Endpoint(project=project, target=url, **given)
    if endpoint.via == Endpoint.Via.WEBHOOK:
        endpoint.new_secret()
    endpoint.save()
    project.refresh_from_db()
    return endpoint


def happened(project: Project, count: int = 1, kind: str = EventType.OPT_OUT) -> None:
    now = timezone.now()
    names = [f"u{n}" for n in range(count)]
    people = [Contact(project=project, external_id=name) for name in names]
    Contact.objects.bulk_create(people, ignore_conflicts=True)
    told = [Event(kind, now, {"contact": name}) for name in names]
    outbox.put(project.pk, told)


def send() -> None:
    """As the worker does, until nothing is due."""
    send_calls.work(seconds=20)


def due_now() -> None:
    """The hours until the next try have passed."""
    now = timezone.now()
    Call.objects.filter(state=Call.State.WAITING).update(next_at=now)
    Endpoint.objects.update(rests_until=None)
