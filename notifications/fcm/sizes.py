"""How big a message is to FCM, platform by platform.

Google publishes no formula. Counted are the UTF-8 bytes of keys and values of what the phone gets,
after the platform's overrides; for iOS those of the JSON that goes to Apple.
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
NARROW_BYTES = 3_600  # from here on a longer name or link may be one too long

PLATFORMS = {
    "android": ("Android", ("android", "android_v2", "androidV2")),
    "ios": ("iOS", ("apns",)),
    "web": (gettext_noop("the web"), ("webpush",)),
}


@dataclass(frozen=True, slots=True)
class TooBig(FieldProblem):
    """FCM takes no message of this size."""

    size: int = 0


def problem(message: Mapping[str, Any]) -> TooBig | None:
    """Whether FCM would call it too big, and on which platform."""
    to_a_topic = "topic" in message or "condition" in message
    most = MAX_BYTES_TO_A_TOPIC if to_a_topic else MAX_BYTES
    # JSON is never shorter than the texts in it, so nearly every message is cleared by this line.
    if len(orjson.dumps(message)) <= most:
        return None
    size, platform = max((size, name) for name, size in measure(message).items())
    if size <= most:
        return None
    text = gettext("%(size)s bytes on %(platform)s; FCM takes %(most)s. Shorten it.")
    words = {"size": f"{size:,}", "platform": gettext(platform), "most": f"{most:,}"}
    return TooBig("message", text % words, size)


def measure(message: Mapping[str, Any]) -> dict[str, int]:
    """Bytes on each platform the message speaks to; one without blocks is for all alike."""
    found = {
        name: _bytes_on(message, message[block], apple=block == "apns")
        for name, blocks in PLATFORMS.values()
        for block in blocks
        if block in message
    }
    return found or {gettext_noop("every phone"): _bytes_on(message, {}, apple=False)}


def _bytes_on(message: Mapping[str, Any], block: Mapping[str, Any], *, apple: bool) -> int:
    if apple:
        return len(orjson.dumps(_to_apple(message, block)))
    shown = {**message.get("notification", {}), **block.get("notification", {})}
    # The platform's own data replaces the common one, it does not join it.
    data = block.get("data", message.get("data", {}))
    return _text_bytes(data) + _text_bytes(shown) + _text_bytes(_link_of_its_own(block, data))


def _link_of_its_own(block: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """What a browser opens by itself, where it is another one than the data's."""
    link = str(block.get("fcm_options", {}).get("link", ""))
    return link if link != data.get("link") else ""


def _to_apple(message: Mapping[str, Any], apns: Mapping[str, Any]) -> dict[str, Any]:
    own = apns.get("payload", {})
    shown = message.get("notification", {})
    alert = {name: shown[name] for name in ("title", "body") if name in shown}
    aps = {**({"alert": alert} if alert else {}), **own.get("aps", {})}
    return {**message.get("data", {}), **own, "aps": aps}


def _text_bytes(value: Any) -> int:
    """Of every key and every text inside."""
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, Mapping):
        return sum(len(key.encode()) + _text_bytes(inner) for key, inner in value.items())
    if isinstance(value, list):
        return sum(map(_text_bytes, value))
    return 0
