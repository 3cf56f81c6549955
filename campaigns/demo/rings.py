"""Demo rings: reads what rang on a demo phone from the FCM emulator, which keeps these records."""

from __future__ import annotations

import http.client
import json
import re
from typing import Any
from urllib.parse import urlencode, urlsplit

from campaigns.demo.phones import owner_of
from campaigns.runs.messages.message import Message
from campaigns.test_sends.demo_phones import Phone
from notifications.inbox.item import InboxItem
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.trust import trusting

MOST = 20
TIMEOUT = 3.0
PATH = "/admin/witness"
REFERENCE = re.compile(r"([0-9]{1,18}):([0-9]{1,9})")


class EmulatorUnavailable(Exception):
    """The FCM emulator does not answer, or is not ours."""


def fetch_pushes(project: Project, phone: Phone, *, after: float) -> list[dict[str, Any]]:
    """The pushes since `after`, oldest first, each with the inbox item that a tap opens."""
    owner = owner_of(project, phone)
    if owner is None:
        return []
    records = [record for record in _accepted_records(project, phone) if record["at"] > after]
    return [_ring(owner, record) for record in records]


def _accepted_records(project: Project, phone: Phone) -> list[dict[str, Any]]:
    query = urlencode({"address": phone.address, "limit": MOST})
    try:
        place = urlsplit(project.endpoint)
        trust = trusting(project.ca_file)
        caller = http.client.HTTPSConnection(place.netloc, timeout=TIMEOUT, context=trust)
        try:
            caller.request("GET", f"{PATH}?{query}")
            answer = caller.getresponse()
            answer_body = json.loads(answer.read())
        finally:
            caller.close()
        return list(answer_body["records"])
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
        raise EmulatorUnavailable from error


def _ring(owner: Contact, record: dict[str, Any]) -> dict[str, Any]:
    """One push as the page shows it. A push replaces an earlier one with the same tag."""
    tag, reference = _known_as(owner, record["id"] or "")
    item = InboxItem.objects.filter(contact=owner, reference=reference)
    return {
        "at": record["at"],
        "title": record["title"] or "",
        "body": record["body"] or "",
        "tag": tag or record["name"],
        "item": item.values_list("pk", flat=True).first(),
    }


def _known_as(owner: Contact, name: str) -> tuple[str, str]:
    """The push's collapse key and the reference of its inbox item."""
    read = REFERENCE.fullmatch(name)
    if read is None:
        return "", ""
    run_id, seq = map(int, read.groups())
    theirs = Message.objects.filter(contact_id=owner.pk, run_id=run_id)
    message = theirs.filter(first_seq__lte=seq, last_seq__gte=seq).first()
    if message is None:
        return f"run {run_id}", f"run {run_id}"
    return message.collapse_id, f"message {message.id}"
