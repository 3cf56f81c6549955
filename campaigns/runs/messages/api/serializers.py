"""Messages as the API shows them: accepted, listed, and what became of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from campaigns.runs.messages import outcome
from campaigns.runs.messages.message import Message
from campaigns.runs.messages.message_pages import MessageRow
from campaigns.runs.messages.outcome import Block, Outcome
from notifications.api.contacts import RejectedRow
from notifications.people.contact import Contact

END_OF_ADDRESS = 6  # letters that a key sees which may not read people
REASON = (
    "no_device: nobody has one that can receive. While it waits though it is due: why no message "
    "leaves just now, such as bad_credentials. Otherwise empty."
)
DETAIL = "What to do about it."


class AcceptedSerializer(serializers.Serializer[Any]):
    """A message that is kept, and will be sent."""

    id = serializers.CharField()
    state = serializers.ChoiceField(choices=outcome.STATES)
    url = serializers.URLField(help_text="What became of it.")


def accepted_json(name: str, state: str, url: str) -> dict[str, str]:
    return {"id": name, "state": state, "url": url}


class MessageDevice(serializers.Serializer[Any]):
    """What became of it on one device."""

    contact = serializers.CharField(
        help_text="External id; empty if erased, and for a key that may not read people."
    )
    device = serializers.CharField(
        help_text="Its address; the end of it for a key that may not read people. Empty if removed."
    )
    moved = serializers.BooleanField(help_text="It belongs to somebody else now.")
    platform = serializers.CharField()
    status = serializers.ChoiceField(choices=outcome.DEVICE_STATUSES)
    reason = serializers.CharField(
        help_text="A code; empty if accepted. While it waits: why it did not leave at once, such "
        "as quiet_hours."
    )
    detail = serializers.CharField()
    message_id = serializers.CharField(help_text="The name FCM gave the message.")
    resent = serializers.BooleanField(help_text="The phone may have received it twice.")
    at = serializers.DateTimeField(allow_null=True)
    due = serializers.DateTimeField(
        allow_null=True, help_text="When it leaves, if it waits for that."
    )


class MessageTotals(serializers.Serializer[Any]):
    """How many devices."""

    planned = serializers.IntegerField()
    accepted = serializers.IntegerField()
    rejected = serializers.IntegerField()
    skipped = serializers.IntegerField()
    unknown = serializers.IntegerField()
    waiting = serializers.IntegerField()


class MessagePeople(serializers.Serializer[Any]):
    """How many people the call is to. A long list grows until all of it is there."""

    waiting = serializers.IntegerField(help_text="Nothing of theirs has left.")
    taken = serializers.IntegerField(help_text="Their devices are in the totals.")
    cancelled = serializers.IntegerField()


class ListedMessage(serializers.Serializer[Any]):
    """A message to one person, and what became of it."""

    id = serializers.CharField()
    contact = serializers.CharField(
        help_text="External id; empty if erased, and for a key that may not read people."
    )
    state = serializers.ChoiceField(choices=outcome.STATES)
    reason = serializers.CharField(help_text=REASON)
    detail = serializers.CharField(help_text=DETAIL)
    at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    totals = MessageTotals()


class MessageStatus(serializers.Serializer[Any]):
    """A message, or a call to many, and what became of it."""

    id = serializers.CharField()
    state = serializers.ChoiceField(choices=outcome.STATES)
    reason = serializers.CharField(help_text=REASON)
    detail = serializers.CharField(help_text=DETAIL)
    at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    people = MessagePeople()
    totals = MessageTotals()
    devices = MessageDevice(many=True)
    next = serializers.URLField(allow_null=True, help_text="More devices; null: these are all.")


class AcceptedRow(serializers.Serializer[Any]):
    """A message that was accepted."""

    index = serializers.IntegerField(help_text="Its place in the call, from 0.")
    id = serializers.CharField()


class BulkTaken(serializers.Serializer[Any]):
    """Which messages were accepted, and which rejected."""

    accepted = AcceptedRow(many=True)
    rejected = RejectedRow(many=True)


def status_json(message: Message, result: Outcome) -> dict[str, Any]:
    blocks = outcome.blocks({message.run_id})
    return {**_status_fields(message, result, blocks), "people": result.people}


def device_json(row: dict[str, Any], *, whole: bool) -> dict[str, Any]:
    """`whole`: for a key that may read people."""
    fields = {name: row[name] for name in row if name != "seq"}
    if whole:
        return fields
    address = row["device"] and f"…{row['device'][-END_OF_ADDRESS:]}"
    return {**fields, "contact": "", "device": address}


def listed_json(rows: list[MessageRow], *, whole: bool) -> list[dict[str, Any]]:
    ids = {row.message.contact_id for row in rows}
    contacts = Contact.objects.filter(pk__in=ids).values_list("pk", "external_id") if whole else ()
    names = dict(contacts)
    blocks = outcome.blocks({row.message.run_id for row in rows})
    return [
        {
            **_status_fields(row.message, row.outcome, blocks),
            "contact": names.get(row.message.contact_id, ""),
        }
        for row in rows
    ]


def _status_fields(
    message: Message, result: Outcome, blocks: Mapping[int, Block]
) -> dict[str, Any]:
    nobody = result.state == outcome.FINISHED and not result.totals["planned"]
    block = blocks.get(message.run_id) if outcome.is_late(message, result) else None
    return {
        "id": message.id,
        "state": result.state,
        "reason": "no_device" if nobody else block.code if block else "",
        "detail": block.words if block else "",
        "at": message.at,
        "created_at": message.created_at,
        "totals": result.totals,
    }
