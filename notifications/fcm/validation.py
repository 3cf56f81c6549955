"""Validation: finds everything in a message that FCM would refuse, before it is sent.

Google's schema (`schema_check.py`) has the fields and types. The rest comes from Google's pages,
FCM's error texts and Apple: rules for one value (`rules.py`), for values that depend on each other
(here), and the size (`sizes.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext

from notifications.fcm import rules, sizes
from notifications.fcm.schema_check import FieldProblem, compile_schema

DEVICE_TARGETS = ("token", "fid")
TARGETS = (*DEVICE_TARGETS, "topic", "condition")
MAX_TOPICS_IN_A_CONDITION = 5
SHOWN_BY_APPLE = ("alert", "badge", "sound")

LABELLED = {"analyticsLabel": rules.label}
ANDROID_NOTIFICATION = {
    "color": rules.colour,
    "image": rules.https,
    "notificationCount": rules.not_negative,
}
ANDROID = {"data": rules.data_keys, "ttl": rules.ttl, "fcmOptions": LABELLED}
RULES: dict[str, Any] = {
    "topic": rules.topic,
    "data": rules.data_keys,
    "notification": {"image": rules.https},
    "fcmOptions": LABELLED,
    "android": {**ANDROID, "notification": ANDROID_NOTIFICATION},
    "androidV2": {**ANDROID, "remoteNotification": {"notification": ANDROID_NOTIFICATION}},
    "apns": {
        "headers": {
            "apns-collapse-id": rules.collapse_id,
            "apns-priority": rules.one_of("10", "5", "1"),
            "apns-expiration": rules.seconds_as_text,
            "apns-push-type": rules.one_of("alert", "background"),
        },
        "payload": {
            "aps": {
                "badge": rules.number,
                "content-available": rules.one,
                "mutable-content": rules.one,
                "category": rules.text,
                "thread-id": rules.text,
                "interruption-level": rules.texts_of(
                    "passive", "active", "time-sensitive", "critical"
                ),
                "relevance-score": rules.share,
            }
        },
        "fcmOptions": {**LABELLED, "image": rules.https},
    },
    "webpush": {
        "data": rules.data_keys,
        "headers": {
            "TTL": rules.seconds_as_text,
            "Urgency": rules.one_of("very-low", "low", "normal", "high"),
            "Topic": rules.push_topic,
        },
        "notification": {"dir": rules.texts_of("auto", "ltr", "rtl"), "tag": rules.text},
        "fcmOptions": {**LABELLED, "link": rules.https},
    },
}

_field_problems = compile_schema("Message", RULES)


def validate(message: Mapping[str, Any]) -> list[FieldProblem]:
    """Return all problems that FCM would refuse a message for. Empty: it can be sent."""
    broken = problems_of_fields(message)
    # The size of a message with invalid fields means nothing.
    too_big = None if broken else sizes.problem(message)
    return [*broken, *([too_big] if too_big else [])]


def problems_of_fields(message: Mapping[str, Any]) -> list[FieldProblem]:
    """Return all problems of a message except its size."""
    found = [problem.inside("message") for problem in _field_problems(message)]
    return found or list(_check_combinations(message))


def is_clear(body: bytes) -> bool:
    """Whether an encoded message to a device is certainly valid, if another of its kind is.

    Only its size and a NUL character can still be wrong. This costs a tenth of the whole check.
    """
    return len(body) <= sizes.MAX_BYTES and b"\\u0000" not in body


# --- Values that depend on one another ------------------------------------------------------------


def _check_combinations(message: Mapping[str, Any]) -> Iterator[FieldProblem]:
    yield from _target(message)
    if "name" in message:
        yield FieldProblem("message.name", gettext("is set by FCM; remove it."))
    if "android" in message and ("androidV2" in message or "android_v2" in message):
        yield FieldProblem(
            "message.androidV2", gettext("and android exclude each other; remove one.")
        )
    if android := message.get("android"):
        yield from _localised(android.get("notification", {}))
        yield from _lights(android.get("notification", {}))
    if apns := message.get("apns"):
        yield from _silent_push(message, apns)


def _target(message: Mapping[str, Any]) -> Iterator[FieldProblem]:
    targets = [name for name in TARGETS if name in message]
    if len(targets) > 1:
        text = gettext("has %(names)s; set exactly one of them.")
        yield FieldProblem("message", text % {"names": ", ".join(targets)})
    elif not targets or not message[targets[0]]:
        text = gettext("has no target: set exactly one of token, fid, topic, condition.")
        yield FieldProblem("message", text)
    elif targets == ["condition"]:
        topics = re.findall(r"'[^']*'\s+in\s+topics", message["condition"])
        if not 1 <= len(topics) <= MAX_TOPICS_IN_A_CONDITION:
            words = gettext(
                "names 1 to 5 topics: 'a' in topics && ('b' in topics || 'c' in topics)."
            )
            yield FieldProblem("message.condition", words)


def _localised(notification: Mapping[str, Any]) -> Iterator[FieldProblem]:
    for text in ("title", "body"):
        for arguments, key in (
            (f"{text}LocArgs", f"{text}LocKey"),
            (f"{text}_loc_args", f"{text}_loc_key"),
        ):
            if arguments in notification and key not in notification:
                message = gettext("needs %(name)s as well.") % {"name": key}
                yield FieldProblem(f"message.android.notification.{arguments}", message)


def _lights(notification: Mapping[str, Any]) -> Iterator[FieldProblem]:
    for lights, *needed in (
        ("lightSettings", "color", "lightOnDuration", "lightOffDuration"),
        ("light_settings", "color", "light_on_duration", "light_off_duration"),
    ):
        if missing := [n for n in needed if n not in notification.get(lights, needed)]:
            text = gettext("needs %(name)s as well.") % {"name": missing[0]}
            yield FieldProblem(f"message.android.notification.{lights}", text)


def _silent_push(message: Mapping[str, Any], apns: Mapping[str, Any]) -> Iterator[FieldProblem]:
    """Check the priority of a push that shows nothing: Apple accepts only 5, and FCM refuses 10."""
    if message.get("notification"):
        return
    aps = apns.get("payload", {}).get("aps", {})
    shows = any(name in aps for name in SHOWN_BY_APPLE)
    # FCM's default is 10.
    if not shows and apns.get("headers", {}).get("apns-priority", "10") == "10":
        words = gettext('must be "5": this message shows nothing on iOS.')
        yield FieldProblem("message.apns.headers.apns-priority", words)
