"""Builders: rows a test starts from, each with sensible values a test may override."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import count
from typing import Any

from django.utils import timezone

from campaigns import control
from campaigns.audiences.audience import Audience
from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.texts import revision
from campaigns.texts.snippets.snippet import Snippet
from campaigns.texts.template import Template
from campaigns.triggers.automation import Automation
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project

numbers = count(1)


def make_project(**values: Any) -> Project:
    number = next(numbers)
    defaults: dict[str, Any] = {
        "slug": f"project-{number}",
        "name": f"Project {number}",
        "firebase_project_id": "carillon-demo",
        "ramp_seconds": 0,
    }
    return Project.objects.create(**{**defaults, **values})


def make_contact(project: Project, **values: Any) -> Contact:
    defaults: dict[str, Any] = {
        "external_id": f"u{next(numbers)}",
        "attributes": {"first_name": "Ada"},
        "locale": "en",
        "timezone": "UTC",
    }
    return Contact.objects.create(project=project, **{**defaults, **values})


def make_device(contact: Contact, address: str = "", **values: Any) -> Device:
    now = timezone.now() - timedelta(days=1)
    defaults: dict[str, Any] = {"platform": "android", "registered_at": now, "last_seen_at": now}
    return Device.objects.create(
        project=contact.project,
        contact=contact,
        address=address or f"live{next(numbers)}:APA91b",
        **{**defaults, **values},
    )


def make_people(project: Project, addresses: list[str] | int) -> list[Device]:
    """One person with one device for each address; thousands at once."""
    given = [""] * addresses if isinstance(addresses, int) else addresses
    people = Contact.objects.bulk_create(
        Contact(project=project, external_id=f"u{next(numbers)}", attributes={"first_name": "Ada"})
        for _ in given
    )
    seen = timezone.now() - timedelta(days=1)
    return Device.objects.bulk_create(
        Device(
            project=project,
            contact=person,
            address=address or f"live{next(numbers)}:APA91b",
            platform="android",
            registered_at=seen,
            last_seen_at=seen,
        )
        for person, address in zip(people, given, strict=True)
    )


def addresses(**counts: int) -> list[str]:
    """So many of each kind, as the emulator tells them apart."""
    return [f"{kind}-{number}:APA91b" for kind, count in counts.items() for number in range(count)]


def make_audience(project: Project, **values: Any) -> Audience:
    return Audience.objects.create(
        project=project, **{"name": f"Audience {next(numbers)}", **values}
    )


def make_template(project: Project, **values: Any) -> Template:
    defaults = {
        "name": f"Template {next(numbers)}",
        "title": "Hello {{ first_name }}",
        "body": "See you",
    }
    return Template.objects.create(project=project, **{**defaults, **values})


def make_snippet(project: Project, name: str, text: str, **other: str) -> Snippet:
    """The other languages by their tags, with “_” for “-”."""
    locales = {tag.replace("_", "-"): {"text": said} for tag, said in other.items()}
    snippet = Snippet(project=project, name=name, text=text, locales=locales)
    snippet.full_clean()
    snippet.save()
    revision.keep(snippet, by="user:alice")
    return snippet


def make_campaign(project: Project, *, template: Any = None, **values: Any) -> Campaign:
    defaults: dict[str, Any] = {"name": f"Campaign {next(numbers)}"}
    defaults["audience"] = values.pop("audience", None) or make_audience(project)
    defaults["template"] = (
        template if isinstance(template, Template) else make_template(project, **(template or {}))
    )
    return Campaign.objects.create(project=project, **{**defaults, **values})


def make_automation(project: Project, *, on: bool = True, **values: Any) -> Automation:
    """“added_to_cart” is answered at once, and every time."""
    defaults: dict[str, Any] = {
        "name": f"Automation {next(numbers)}", "event_name": "added_to_cart", "once_in_seconds": 0
    }  # fmt: skip
    template = values.pop("template", None) or make_template(project, title="Still there?")
    automation = Automation(project=project, template=template, **{**defaults, **values})
    automation.full_clean()
    automation.save()
    if on:
        control.turn_on(automation, by="user:alice")
    return automation


def make_scheduled_run(project: Project, at: datetime, **values: Any) -> Run:
    return make_run(
        project, advanced=False, schedule_kind="at", at=at, timezone="Asia/Seoul", **values
    )


def make_run(project: Project, *, advanced: bool = True, **values: Any) -> Run:
    """A launched run; advanced once, so that its first wave is queued."""
    run = control.launch(make_campaign(project, **values), by="user:alice", now=timezone.now())
    if advanced:
        engine.advance(run.pk, now=timezone.now())
        run.refresh_from_db()
    return run
