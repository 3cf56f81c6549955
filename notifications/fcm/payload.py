"""Payload: turns a Push into FCM's JSON: raw UTF-8, and one deadline for three platforms.

A Push is encoded once, when it is checked. Each attempt to send a message has its own Push.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import orjson

from notifications.fcm.options import BUTTONS_KEY, RECEIPT_KEY, REFERENCE_KEY, TEST_KEY
from notifications.fcm.options import PLATFORMS as OPTIONS
from notifications.fcm.rules import MAX_TTL
from notifications.gateway import Push

LINK_KEY = "link"

Json = dict[str, Any]


def encode(message: Push) -> bytes:
    """Encode a message. Raises JSONEncodeError for characters that JSON cannot carry."""
    if not message.encoded:
        # Not escaped to ASCII: an emoji would take three times its bytes.
        request: Json = {"message": as_fcm(message)}
        if message.only_checked:
            request["validateOnly"] = True
        message.encoded = orjson.dumps(request)
    return message.encoded


def as_fcm(message: Push) -> Json:
    """Return the message as FCM's JSON. The time left until its deadline counts from now: Android
    and browsers get the seconds left, Apple gets the moment when it ends.
    """
    texts = {} if message.options.get("data_only") else _texts(message)
    fcm: Json = {message.kind: message.address, "data": _data(message, message.data)}
    if texts:
        fcm["notification"] = texts
    if message.analytics_label:
        fcm["fcm_options"] = {"analytics_label": message.analytics_label}
    return fcm | BLOCKS[message.platform](message, texts)


def _seconds_left(message: Push) -> int:
    return min(max(message.ttl_seconds, 0), MAX_TTL)


def _texts(message: Push) -> dict[str, str]:
    return _present(title=message.title, body=message.body, image=message.image)


def _data(message: Push, own: Mapping[str, str]) -> dict[str, str]:
    """Add this push's own keys, its id and its link among them, to a set of data."""
    # Plain keys: an app that shows the push itself finds title and body without knowing Carillon.
    texts = _texts(message) if message.options.get("data_only") else {}
    ours = _present(
        **{LINK_KEY: message.link, REFERENCE_KEY: message.reference, RECEIPT_KEY: message.receipt}
    )
    if message.is_test:
        ours[TEST_KEY] = "1"
    if message.buttons:
        ours[BUTTONS_KEY] = _buttons(message)
    return {**texts, **own, **ours}


def _buttons(message: Push) -> str:
    """Return the buttons as a text, since FCM's data has only texts. In browsers, the web block has
    their titles."""
    titled = message.platform != "web" or message.options.get("data_only")
    names = ("id", "title", "link") if titled else ("id", "link")
    each = [{name: one[name] for name in names if name in one} for one in message.buttons]
    return orjson.dumps(each).decode()


# --- One block, for the device's own platform -----------------------------------------------------
# A platform's own data replaces the common data (iOS merges them), so it gets our keys, too.


def _android(message: Push, texts: Json) -> Json:
    android: Json = {"priority": "HIGH", "ttl": f"{_seconds_left(message)}s"}
    if texts and message.collapse_id:
        # Notifications ignore collapse_key; with the same tag, a second copy replaces the first.
        android["notification"] = {"tag": message.collapse_id}
    _place(android, message, but=() if texts else ("notification",))
    if own := message.options.get("data"):
        android["data"] = _data(message, own)
    return {"android": android}


def _ios(message: Push, texts: Json) -> Json:
    headers = _present(**{"apns-collapse-id": message.collapse_id})
    # Apple refuses priority 10 for a push that shows nothing.
    headers |= {"apns-priority": "10" if texts else "5"}
    aps: Json = {"sound": "default"} if texts else {"content-available": 1}
    apns: Json = {"headers": headers, "payload": {"aps": aps}}
    _place(apns, message)
    apns["headers"]["apns-expiration"] = str(int(time.time()) + _seconds_left(message))
    if "image" in texts:
        # An image reaches iOS only through the app's notification service extension.
        aps["mutable-content"] = 1
        apns["fcm_options"] = {"image": message.image}
    if own := message.options.get("data"):
        apns["payload"] |= _data(message, own)
    return {"apns": apns}


def _web(message: Push, texts: Json) -> Json:
    web: Json = {"headers": {"TTL": str(_seconds_left(message)), "Urgency": "high"}}
    if texts and message.collapse_id:
        web["notification"] = {"tag": message.collapse_id}
    if texts and message.buttons:
        drawn = [{"action": button["id"], "title": button["title"]} for button in message.buttons]
        web.setdefault("notification", {})["actions"] = drawn
    _place(web, message, but=() if texts else ("notification",))
    link = message.browser_link or message.link
    if link.startswith("https://"):
        web["fcm_options"] = {"link": link}
    if own := message.options.get("data"):
        web["data"] = _data(message, own)
    return {"webpush": web}


BLOCKS = {"android": _android, "ios": _ios, "web": _web}


def _place(block: Json, message: Push, but: tuple[str, ...] = ()) -> None:
    """Put each option in its place in FCM's JSON. An empty text or False removes our default."""
    options = OPTIONS[message.platform]
    for name, value in message.options.items():
        *way, last = options[name].place or ("",)
        if not last or (way and way[0] in but):
            continue
        inside = block
        for step in way:
            inside = inside.setdefault(step, {})
        if value == "" or value is False:
            inside.pop(last, None)
        else:
            inside[last] = options[name].wire(value)


def _present(**values: Any) -> Json:
    return {name: value for name, value in values.items() if value}
