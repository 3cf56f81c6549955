"""Person export: everything that is kept about one person, in sections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from notifications.people.contact import Contact
from notifications.values import exact
from notifications.values.registry import Registry

Section = Callable[[Contact], Any]  # a long section is an iterator
sections = Registry[tuple[str, Section]]()  # each with its name in the export


def everything(contact: Contact) -> Iterator[bytes]:
    """The export as one JSON object, in pieces: only one piece is in memory.

    Raises Contact.DoesNotExist if the person is erased in the meantime: half an export must not
    look complete.
    """
    between = b"{"
    for name, tell in sections:
        yield between + _json(name) + b": "
        yield from _pieces(tell(contact))
        between = b",\n"
    contact.refresh_from_db(fields=["id"])
    yield b"}\n"


def _pieces(content: Any) -> Iterator[bytes]:
    if not isinstance(content, Iterator):
        yield _json(content)
        return
    yield b"["
    between = b"\n"
    for item in content:
        yield between + _json(item)
        between = b",\n"
    yield b"]"


def _json(value: Any) -> bytes:
    return exact.dumps(value, orjson.OPT_UTC_Z)


def contact_itself(contact: Contact) -> dict[str, Any]:
    return {
        "external_id": contact.external_id,
        "project": contact.project.slug,
        "attributes": contact.attributes,
        "locale": contact.locale,
        "timezone": contact.timezone,
        "tester": contact.tester,
        "created_at": contact.created_at,
        "updated_at": contact.updated_at,
    }


def devices_of(contact: Contact) -> list[dict[str, Any]]:
    fields = ("platform", "app_version", "registered_at", "registered_from", "last_seen_at",
            "retired_at")  # fmt: skip
    return [
        {device.kind: device.address, **{name: getattr(device, name) for name in fields}}
        | {"retired_reason": device.retired_reason}
        for device in contact.devices.order_by("pk")
    ]
