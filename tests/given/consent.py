"""People who said no."""

from __future__ import annotations

from django.utils import timezone

from notifications.people.consent.record import EVERYTHING, ConsentAnswer, record_answers
from notifications.people.consent.suppression import suppress
from notifications.people.contact import Contact


def decline(contact: Contact, category: str = EVERYTHING) -> None:
    no = ConsentAnswer(contact.external_id, category, False)
    record_answers(contact.project, [no], source="api", by="key:abc", now=timezone.now())


def never(contact: Contact) -> None:
    ids = [contact.external_id]
    suppress(contact.project, ids, reason="", by="user:alice", now=timezone.now())
