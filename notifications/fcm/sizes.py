"""Message sizes: how many bytes a message has for FCM, by platform.

Google publishes no formula. We count the UTF-8 bytes of the keys and values that the phone gets,
after the platform's overrides. For iOS we count the JSON that goes to Apple.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django.utils.translation import gettext, gettext_noop

from notifications.fcm.schema_check import FieldProblem

MAX_BYTES = 4_096
MAX_BYTES_TO_A_TOPIC = 2_048
NARROW_BYTES = 3_600  # from here on, a longer name or link may exceed the limit

PLATFORMS = {
    "android": ("Android", ("android", "android_v2", "androidV2")),
    "ios": ("iOS", ("apns",)),
    "web": (gettext_noop("the web"), ("webpush",)),
}


@dataclass(frozen=True, slots=True)
class TooBig(FieldProblem):
    """The message is larger than FCM accepts."""

    size: int = 0


def problem(message: Mapping[str, Any]) -> TooBig | None:
    """Return a problem if FCM would find the message too large on a platform."""
    to_a_topic = "topic" in message or "condition" in message
    most = MAX_BYTES_TO_A_TOPIC if to_a_topic else MAX_BYTES
    # JSON is never shorter than the texts in it, so this line passes nearly every message.
    if len(orjson.dumps(message)) <= most:
        return None
    size, platform = max((size, name) for name, size in measure(message).items())
    if size <= most:
        return None
    text = gettext("%(size)s bytes on %(platform)s; FCM takes %(most)s. Shorten it.")
    words = {"size": f"{size:,}", "platform": gettext(platform), "most": f"{most:,}"}
    return TooBig("message", text % words, size)


def measure(message: Mapping[str, Any]) -> dict[str, int]:
    """Return the bytes on each platform that the message has a block for. A message without blocks
    has one size for all."""
    sizes = {
        name: _bytes_on(message, message[block], apple=block == "apns")
        for name, blocks in PLATFORMS.values()
        for block in blocks
        if block in message
    }
    return sizes or {gettext_noop("every phone"): _bytes_on(message, {}, apple=False)}


def _bytes_on(message: Mapping[str, Any], block: Mapping[str, Any], *, apple: bool) -> int:
    if apple:
        return len(orjson.dumps(_to_apple(message, block)))
    notification = {**message.get("notification", {}), **block.get("notification", {})}
    # The platform's own data replaces the common data; they are not merged.
    data = block.get("data", message.get("data", {}))
    return (
        _text_bytes(data) + _text_bytes(notification) + _text_bytes(_link_of_its_own(block, data))
    )


def _link_of_its_own(block: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """Return the link that a browser opens, if it differs from the one in the data."""
    link = str(block.get("fcm_options", {}).get("link", ""))
    return link if link != data.get("link") else ""


def _to_apple(message: Mapping[str, Any], apns: Mapping[str, Any]) -> dict[str, Any]:
    own = apns.get("payload", {})
    notification = message.get("notification", {})
    alert = {name: notification[name] for name in ("title", "body") if name in notification}
    aps = {**({"alert": alert} if alert else {}), **own.get("aps", {})}
    return {**message.get("data", {}), **own, "aps": aps}


def _text_bytes(value: Any) -> int:
    """Count the bytes of all keys and texts inside a value."""
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, Mapping):
        return sum(len(key.encode()) + _text_bytes(inner) for key, inner in value.items())
    if isinstance(value, list):
        return sum(map(_text_bytes, value))
    return 0
