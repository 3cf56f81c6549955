"""How big a message is to FCM, and what it answers when that is too much.

Google publishes no formula: this counts the UTF-8 bytes of the keys and values of the effective
data and of the notification's texts, and for iOS the serialised payload.
"""

from __future__ import annotations

from typing import Any

import orjson

from emulator.google.answers import too_big
from emulator.google.envelopes import Refused
from emulator.google.rules import DEVICE_TARGETS

DEVICE_BYTES = 4096
TOPIC_BYTES = 2048


def judge(message: dict[str, Any], body: bytes, *, kind: str) -> None:
    most = DEVICE_BYTES if kind in DEVICE_TARGETS else TOPIC_BYTES
    # JSON is never shorter than the text it carries, so a small body holds a small message.
    if len(body) <= most:
        return
    for platform in ("android", "androidV2", "webpush"):
        if _bytes_for(message, platform) > most:
            name = "Android message" if platform != "webpush" else "Web push message"
            raise Refused(too_big(f"{name} is too big"))
    payload = message.get("apns", {}).get("payload", {})
    if len(orjson.dumps(payload)) > most:
        raise Refused(too_big("iOS message is too big"))


def _bytes_for(message: dict[str, Any], platform: str) -> int:
    section = message.get(platform, {})
    data = section.get("data", message.get("data", {}))
    specific = section.get("remoteNotification", section).get("notification", {})
    notification = message.get("notification", {}) | specific
    return _text_bytes(data) + _text_bytes(notification)


def _text_bytes(value: Any) -> int:
    """The UTF-8 bytes of every key and every text inside."""
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, dict):
        return sum(len(key.encode()) + _text_bytes(item) for key, item in value.items())
    if isinstance(value, list):
        return sum(map(_text_bytes, value))
    return 0
