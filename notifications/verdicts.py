"""From FCM's answer to a Verdict: one table, read top to bottom, the first row that fits wins.

FCM speaks in several shapes: FcmError details, ErrorInfo from the API front end (the project's own
429 is one), a parse error, a bare status, or HTML. Only evidence about the very address may cost a
device; an ambiguous 400 or a 404 page never does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from notifications.gateway import Verdict

DEFAULT_RETRY_AFTER = 60.0  # Google's advice for a 429 that names no time


@dataclass(frozen=True, slots=True)
class Answer:
    """What FCM said, reduced to what decides."""

    http: int
    code: str = ""  # FcmError.errorCode, e.g. UNREGISTERED
    apns: str = ""  # ApnsError.reason
    fields: tuple[str, ...] = ()  # BadRequest.fieldViolations[].field
    subjects: tuple[str, ...] = ()  # QuotaFailure.violations[]: whose quota it was
    text: str = ""


APPLE_SAYS_GONE = ("Unregistered", "ExpiredToken", "BadDeviceToken")
# About the key, the bundle or the environment set up in Firebase, not about the device.
APPLE_DOUBTS_FIREBASE = (
    *("InvalidProviderToken", "ExpiredProviderToken", "MissingProviderToken"),
    *("BadEnvironmentKeyInToken", "BadCertificateEnvironment", "BadCertificate"),
    *("DeviceTokenNotForTopic", "TopicDisallowed", "BadTopic", "MissingTopic"),
)


def _names_the_address(answer: Answer) -> bool:
    named = any(field in ("message.token", "message.fid") for field in answer.fields)
    return named or "not a valid FCM registration token" in answer.text


def _names_the_device(answer: Answer) -> bool:
    return any("device" in subject.lower() for subject in answer.subjects)


CODES = (
    *("INVALID_ARGUMENT", "UNREGISTERED", "SENDER_ID_MISMATCH", "QUOTA_EXCEEDED", "UNAVAILABLE"),
    *("INTERNAL", "THIRD_PARTY_AUTH_ERROR", "APNS_AUTH_ERROR"),
)


def _says_nothing_known(answer: Answer) -> bool:
    """UNSPECIFIED_ERROR, or a code younger than this table: no evidence against anybody."""
    return bool(answer.code) and answer.code not in CODES


def _could_not_be_read(answer: Answer) -> bool:
    """The front end's parse error: the JSON itself is wrong, before FCM has seen a message."""
    return not answer.code and answer.text.startswith(("Invalid JSON payload", "Invalid value at"))


Row = tuple[Callable[[Answer], bool], Verdict, str]

TABLE: list[Row] = [
    (lambda a: a.code == "UNREGISTERED", Verdict.DEAD_ADDRESS, "unregistered"),
    (lambda a: a.apns in APPLE_SAYS_GONE, Verdict.DEAD_ADDRESS, "unregistered"),
    (lambda a: a.http == 400 and _names_the_address(a), Verdict.BAD_ADDRESS, "malformed_address"),
    (lambda a: a.code == "SENDER_ID_MISMATCH", Verdict.FOREIGN_ADDRESS, "other_project"),
    (lambda a: a.http == 403 and "SenderId mismatch" in a.text, Verdict.FOREIGN_ADDRESS,
     "other_project"),
    (lambda a: a.code in ("THIRD_PARTY_AUTH_ERROR", "APNS_AUTH_ERROR"), Verdict.PLATFORM_KEY,
     "platform_key"),
    (lambda a: a.apns in APPLE_DOUBTS_FIREBASE, Verdict.PLATFORM_KEY, "platform_key"),
    # Whatever Apple says in a 401, our own token was good enough to reach Apple.
    (lambda a: a.http == 401 and a.apns != "", Verdict.PLATFORM_KEY, "platform_key"),
    (_says_nothing_known, Verdict.TRANSIENT, "unknown_answer"),
    (lambda a: a.http == 401, Verdict.UNAUTHORISED, "unauthorised"),
    (lambda a: a.http == 403, Verdict.UNAUTHORISED, "forbidden"),
    # A 404 without FcmError is a wrong project or URL: every device behind it may be well.
    (lambda a: a.http == 404, Verdict.UNAUTHORISED, "wrong_project"),
    # One device's own limit says nothing about the project's: its turn comes later, alone.
    (lambda a: a.http == 429 and _names_the_device(a), Verdict.THROTTLED, "device_throttled"),
    (lambda a: a.apns == "TooManyRequests", Verdict.THROTTLED, "device_throttled"),
    (lambda a: a.http == 429, Verdict.THROTTLED, "throttled"),
    (lambda a: a.http == 400 and _could_not_be_read(a), Verdict.BAD_MESSAGE, "unreadable_message"),
    (lambda a: a.http == 400, Verdict.BAD_MESSAGE, "refused_message"),
    (lambda a: a.http == 503, Verdict.TRANSIENT, "unavailable"),
    (lambda a: a.http in (500, 502, 504, 408), Verdict.TRANSIENT, "server_error"),
    (lambda a: True, Verdict.TRANSIENT, "unknown_answer"),
]  # fmt: skip


def classify(http: int, body: bytes) -> tuple[Verdict, str, str]:
    """(verdict, reason, FCM's own words) of an answer that is not a 200."""
    answer = read(http, body)
    for fits, verdict, reason in TABLE:
        if fits(answer):
            return verdict, reason, answer.text
    raise AssertionError("the table's last row fits everything")


def read(http: int, body: bytes) -> Answer:
    try:
        error = orjson.loads(body)["error"]
        details = {_type(detail): detail for detail in error.get("details") or []}
        return Answer(
            http,
            code=details.get("FcmError", {}).get("errorCode", ""),
            apns=details.get("ApnsError", {}).get("reason", ""),
            fields=tuple(_violated(details.get("BadRequest", {}))),
            subjects=tuple(_exhausted(details.get("QuotaFailure", {}))),
            text=str(error.get("message", ""))[:500],
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return Answer(http, text=f"HTTP {http} without a readable body")


def _type(detail: Mapping[str, Any]) -> str:
    return str(detail.get("@type", "")).rpartition(".")[2]


def _violated(bad_request: Mapping[str, Any]) -> list[str]:
    return [str(v.get("field", "")) for v in bad_request.get("fieldViolations") or []]


def _exhausted(quota_failure: Mapping[str, Any]) -> list[str]:
    violations = quota_failure.get("violations") or []
    return [f"{v.get('subject', '')} {v.get('description', '')}" for v in violations]


def retry_after(header: str | None, *, http: int, now: float) -> float | None:
    """Seconds to wait: FCM says so in seconds or as a date, and a silent 429 means a minute."""
    if header:
        try:
            return max(0.0, float(header))
        except ValueError:
            pass
        try:
            return max(0.0, parsedate_to_datetime(header).timestamp() - now)
        except ValueError:
            pass
    return DEFAULT_RETRY_AFTER if http == 429 else None
