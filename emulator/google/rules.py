"""FCM's rules that its schema does not tell. Each refuses with the field at fault."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from emulator.google.answers import INVALID_CONDITION, invalid_argument, invalid_json
from emulator.google.envelopes import Refused

Section = dict[str, Any]
Rule = Callable[[Any, str], None]
Rules = dict[str, Any]  # a Rule for a field, or the Rules of a section

DEVICE_TARGETS = ("token", "fid")
TARGETS = (*DEVICE_TARGETS, "topic", "condition")
TOPIC = re.compile(r"[a-zA-Z0-9\-_.~%]{1,900}")
TOPIC_IN_CONDITION = re.compile(r"!?\s*'[a-zA-Z0-9\-_.~%]{1,900}' in topics")
CONDITION_SHAPE = re.compile(r"T(?:(?:&&|\|\|)T)*")
MAX_TOPICS_IN_CONDITION = 5
RESERVED_KEYS = frozenset({"from", "message_type"})
RESERVED_PREFIXES = ("google.", "gcm.")
LONGEST_TTL_SECONDS = 28 * 24 * 3600
COLLAPSE_ID_BYTES = 64


def refuse(field: str, description: str) -> Refused:
    return Refused(invalid_argument(field, description))


def target(message: Section) -> str:
    """The one target of the message: its kind."""
    kinds = [kind for kind in TARGETS if kind in message]
    if len(kinds) > 1:
        described = f"oneof field 'target' is already set. Cannot set '{kinds[-1]}'"
        raise Refused(invalid_json("message", f"Invalid value at 'message' (oneof), {described}"))
    if not kinds or not message[kinds[0]]:
        raise Refused(invalid_argument("message", "Recipient of the message is not set."))
    kind = kinds[0]
    if kind == "topic" and not TOPIC.fullmatch(message["topic"]):
        raise refuse("message.topic", "Invalid topic name provided.")
    if kind == "condition" and not _is_condition(message["condition"]):
        raise Refused(INVALID_CONDITION)
    return kind


def judge(message: Section) -> None:
    _judge_fields(message, RULES, "message")
    _judge_together(message)


def _judge_fields(section: Section, rules: Rules, path: str) -> None:
    for field, value in section.items():
        rule = rules.get(field)
        if isinstance(rule, dict):
            _judge_fields(value, rule, f"{path}.{field}")
        elif rule is not None:
            rule(value, f"{path}.{field}")


# --- one field at a time


def _data(data: Section, path: str) -> None:
    for key in data:
        lower = key.lower()
        if lower in RESERVED_KEYS or lower.startswith(RESERVED_PREFIXES):
            raise refuse(path, f"Invalid data payload key: {key}")


def _https(link: str, path: str) -> None:
    try:
        parts = urlsplit(link)
    except ValueError:
        raise refuse(path, "Invalid URL.") from None
    if link and (parts.scheme != "https" or not parts.netloc):
        raise refuse(path, "The URL must be absolute and start with https.")


def _matches(pattern: str, description: str) -> Rule:
    compiled = re.compile(pattern, re.ASCII)

    def rule(value: str, path: str) -> None:
        if not compiled.fullmatch(value):
            raise refuse(path, description)

    return rule


def _ttl(seconds: float, path: str) -> None:
    if not 0 <= seconds <= LONGEST_TTL_SECONDS:
        raise refuse(path, f"The ttl must be from 0 to {LONGEST_TTL_SECONDS} seconds.")


def _count(count: int, path: str) -> None:
    if count < 0:
        raise refuse(path, "The count must not be negative.")


def _vibrate(timings: list[float], path: str) -> None:
    if any(seconds < 0 for seconds in timings):
        raise refuse(path, "A vibrate timing must not be negative.")


def _lights(lights: Section, path: str) -> None:
    if not lights.keys() >= {"color", "lightOnDuration", "lightOffDuration"}:
        raise refuse(path, "The colour and both durations must be set.")


def _collapse_id(collapse_id: str, path: str) -> None:
    if len(collapse_id.encode()) > COLLAPSE_ID_BYTES:
        raise refuse(path, f"The collapse id must not exceed {COLLAPSE_ID_BYTES} bytes.")


def _aps(aps: Any, path: str) -> None:
    if not isinstance(aps, dict):
        raise refuse(path, "The aps field must be an object.")
    if type(aps.get("badge", 0)) not in (int, float):
        raise refuse(f"{path}.badge", "The badge must be a number.")


LABEL = {
    "analyticsLabel": _matches(r"[a-zA-Z0-9\-_.~%]{1,50}", "Invalid analytics label."),
}
ANDROID_NOTIFICATION: Rules = {
    "image": _https,
    "color": _matches(r"#[0-9a-fA-F]{6}", "The colour must be in the form #RRGGBB."),
    "notificationCount": _count,
    "vibrateTimings": _vibrate,
    "lightSettings": _lights,
}
ANDROID: Rules = {"data": _data, "ttl": _ttl, "fcmOptions": LABEL}
RULES: Rules = {
    "data": _data,
    "notification": {"image": _https},
    "fcmOptions": LABEL,
    "android": ANDROID | {"notification": ANDROID_NOTIFICATION},
    "androidV2": ANDROID | {"remoteNotification": {"notification": ANDROID_NOTIFICATION}},
    "apns": {
        "headers": {"apns-collapse-id": _collapse_id},
        "payload": {"aps": _aps},
        "fcmOptions": LABEL | {"image": _https},
    },
    "webpush": {
        "data": _data,
        "headers": {
            "TTL": _matches(r"\d+", "TTL must be a non-negative integer."),
            "Urgency": _matches("very-low|low|normal|high", "Invalid urgency."),
            "Topic": _matches(r"[A-Za-z0-9\-_]{1,32}", "Invalid topic: base64url, up to 32."),
        },
        "fcmOptions": LABEL | {"link": _https},
    },
}

# --- fields that depend on one another


def _judge_together(message: Section) -> None:
    if "android" in message:
        if "androidV2" in message:
            raise refuse("message.androidV2", "Only one of android and androidV2 may be set.")
        _localised(message["android"].get("notification", {}))
    if "apns" in message:
        _silent_push(message, message["apns"])


def _localised(notification: Section) -> None:
    for text in ("body", "title"):
        if f"{text}LocArgs" in notification and f"{text}LocKey" not in notification:
            field = f"message.android.notification.{text}LocArgs"
            raise refuse(field, f"{text}LocKey must be set as well.")


def _silent_push(message: Section, apns: Section) -> None:
    """Apple takes a push that shows nothing at priority 5 only, and FCM refuses 10 at once."""
    if apns.get("headers", {}).get("apns-priority") != "10" or "notification" in message:
        return
    aps = apns.get("payload", {}).get("aps", {})
    if not aps.keys() & {"alert", "badge", "sound"}:
        raise refuse("message.apns.headers", "A data-only message must have apns-priority 5.")


# --- topics


def _is_condition(condition: str) -> bool:
    """Up to five topics joined by && and ||, in balanced parentheses."""
    shape, topics = TOPIC_IN_CONDITION.subn("T", condition)
    shape = re.sub(r"\s", "", shape)
    if not topics == shape.count("T") <= MAX_TOPICS_IN_CONDITION:
        return False
    # Fold the innermost parentheses until none is left: what remains must be one plain chain.
    folded = ""
    while folded != shape:
        folded, shape = shape, re.sub(rf"!?\((?:{CONDITION_SHAPE.pattern})\)", "T", shape)
    return bool(CONDITION_SHAPE.fullmatch(shape))
