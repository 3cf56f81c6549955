"""From a Message to the JSON FCM wants: raw UTF-8, one deadline for three platforms."""

from __future__ import annotations

import time
from typing import Any

import orjson

from notifications.gateway import Message

MAX_TTL = 2_419_200  # FCM's 28 days
REFERENCE_KEY = "carillon_id"  # how the app, and our receipts, name this very push


def encode(message: Message) -> bytes:
    # Not ensure_ascii: an escaped emoji takes three times its bytes.
    return orjson.dumps({"message": as_fcm(message)})


def as_fcm(message: Message) -> dict[str, Any]:
    ttl = min(max(message.ttl_seconds, 0), MAX_TTL)
    return {
        message.kind: message.address,
        "notification": _present(title=message.title, body=message.body, image=message.image),
        "data": {**message.data, **_link(message), REFERENCE_KEY: message.reference},
        **PLATFORMS[message.platform](message, ttl),
    }


def _android(message: Message, ttl: int) -> dict[str, Any]:
    # Notifications ignore collapse_key; the tag is what makes a second copy replace the first.
    notification = _present(tag=message.collapse_id)
    return {
        "android": {"priority": "HIGH", "ttl": f"{ttl}s", **_present(notification=notification)}
    }


def _ios(message: Message, ttl: int) -> dict[str, Any]:
    headers = _present(**{"apns-collapse-id": message.collapse_id})
    headers |= {"apns-priority": "10", "apns-expiration": str(int(time.time()) + ttl)}
    apns: dict[str, Any] = {"headers": headers, "payload": {"aps": {"sound": "default"}}}
    if message.image:
        # An image reaches iOS only through the app's notification service extension.
        apns["payload"]["aps"]["mutable-content"] = 1
        apns["fcm_options"] = {"image": message.image}
    return {"apns": apns}


def _web(message: Message, ttl: int) -> dict[str, Any]:
    web: dict[str, Any] = {"headers": {"TTL": str(ttl), "Urgency": "high"}}
    web |= _present(notification=_present(tag=message.collapse_id))
    if message.link.startswith("https://"):
        web["fcm_options"] = {"link": message.link}
    return {"webpush": web}


PLATFORMS = {"android": _android, "ios": _ios, "web": _web}


def _link(message: Message) -> dict[str, str]:
    return _present(link=message.link)


def _present(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


MAX_BYTES = 4_096


def size(message: Message) -> int:
    """Bytes that count against FCM's limit: keys and values of what the phone gets, in UTF-8."""
    texts = [message.title, message.body, message.image, message.link, message.reference]
    texts += [REFERENCE_KEY, *message.data.keys(), *message.data.values()]
    return sum(len(text.encode()) for text in texts)
