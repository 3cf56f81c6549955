"""Reads one send request: JSON, then Google's schema, then FCM's own rules."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from emulator.google import rules, sizes
from emulator.google.answers import invalid_json, not_json
from emulator.google.envelopes import Refused
from emulator.google.schema import Violation, compile_schema

_read_request = compile_schema("SendMessageRequest")


class Message(NamedTuple):
    """What the emulator keeps of a message it has found in order."""

    kind: str
    address: str
    id: str | None
    title: str | None
    body: str | None
    only_validate: bool
    document: dict[str, Any]
    receipt: str | None = None  # what its app reports by

    @property
    def tag(self) -> str | None:
        """By what a phone knows what it shows: a newer one with the same takes its place."""
        android, apns = self.document.get("android", {}), self.document.get("apns", {})
        web = self.document.get("webpush", {})
        found: str | None = (
            android.get("notification", {}).get("tag")
            or apns.get("headers", {}).get("apns-collapse-id")
            or web.get("notification", {}).get("tag")
        )
        return found

    @property
    def is_for_a_device(self) -> bool:
        return self.kind in rules.DEVICE_TARGETS


def read(body: bytes) -> Message:
    """The message of a send request, or Refused with the answer Google has for it."""
    request = _parse(body)
    message = request.get("message", {})
    kind = rules.target(message)
    rules.judge(message)
    sizes.judge(message, body, kind=kind)
    notification = message.get("notification", {})
    android = message.get("android", {}).get("notification", {})
    data = message.get("data", {})
    return Message(
        kind=kind,
        address=message[kind],
        id=data.get("carillon_id"),
        receipt=data.get("carillon_receipt"),
        title=notification.get("title") or android.get("title"),
        body=notification.get("body") or android.get("body"),
        only_validate=request.get("validateOnly", False),
        document=message,
    )


def _parse(body: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as problem:
        raise Refused(not_json(str(problem))) from None
    try:
        request: dict[str, Any] = _read_request(document)
    except Violation as violation:
        raise Refused(invalid_json(violation.path, violation.description)) from None
    return request
