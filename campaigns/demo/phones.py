"""Demo phones: the backend of their app: it issues tokens and sends chat messages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from campaigns import tasks
from campaigns.runs.messages.bulk_messages import accept_many
from campaigns.runs.run import Run
from campaigns.test_sends.demo_phones import PHONES, Phone
from campaigns.texts.template import Template
from notifications.keys import inbox_secret, inbox_token
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.people.registry import Person, upsert

ROOM = "demo-room"
QUIET_SECONDS = 15
LONGEST = 500  # characters of a message
LASTING = timedelta(hours=12)
TTL_SECONDS = 3_600


SAYS = Template(
    title="{{ sender }}{% if unseen > 1 %} ({{ unseen }} new){% endif %}",
    body="{{ words }}",
    data={"room": ROOM, "sender": "{{ sender }}"},
)


def token_for(project: Project, phone: Phone) -> str:
    """The inbox token that an app gets from its backend after the log-in. Raises WrongKey."""
    with transaction.atomic():
        _write_people(project)
        secret, _ = inbox_secret.first(project)
    expires_at = timezone.now().replace(microsecond=0) + LASTING
    return inbox_token.make(secret, phone.external_id, expires_at=expires_at)


def write(project: Project, phone: Phone, words: str) -> str:
    """Send a message to everybody in the room, its author included. Returns the message's id."""
    with transaction.atomic():
        people = _write_people(project)
        accepted = accept_many(project.pk, _message(phone, words), people)
        tasks.send_messages_on_commit()
    return accepted.id


def owner_of(project: Project, phone: Phone) -> Contact | None:
    people = Contact.objects.filter(project=project, external_id=phone.external_id)
    return people.first()


def _write_people(project: Project) -> list[int]:
    people = [
        Person(phone.external_id, attributes={"first_name": phone.owner})
        for phone in PHONES.values()
    ]
    ids = upsert(project, people, by="system", now=timezone.now()).ids
    return [ids[phone.external_id] for phone in PHONES.values()]


def _message(phone: Phone, words: str) -> dict[str, Any]:
    return {
        "content": SAYS.frozen(),
        "variables": {"sender": phone.owner, "words": words},
        "on_unknown": Run.OnUnknown.RESEND,
        "ttl_seconds": TTL_SECONDS,
        "collapse": ROOM,
        "into_inbox": {"quiet_if_online": QUIET_SECONDS},
    }
