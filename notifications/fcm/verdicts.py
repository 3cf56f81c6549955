"""Verdicts: map FCM's answers to a Verdict, and to whether the message may have arrived.

One table, read from top to bottom: the first row that fits wins. Below it are the rulings for a 200
and for requests that FCM did not answer.

FCM's errors have several shapes: FcmError details, ErrorInfo from the API front end (the project's
own 429 is one), a parse error, a bare status, or HTML. Only evidence about this very address may
retire a device; an ambiguous 400 or a 404 page never does. And only a refusal proves that a message
did not arrive: Google's maintainers have seen a 503 for one that did, so no 5xx proves it.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import orjson

from notifications.fcm.rules import MAX_TTL
from notifications.gateway import Arrived, Verdict

PAGE_BYTES, PAGE_LETTERS = 4_096, 200  # how much we read, and keep, of a body that is not FCM's
NOT_WORDS = re.compile(
    r"<(script|style)\b.*?(</\1[^<>]*>|\Z)|<!--.*?(-->|\Z)", re.DOTALL | re.IGNORECASE
)
TAGS = re.compile(r"<[^<>]*(>|\Z)")
DEFAULT_RETRY_AFTER = 60.0  # Google's advice for a 429 that names no time


@dataclass(frozen=True, slots=True)
class Answer:
    """FCM's answer, reduced to what decides the verdict."""

    http: int
    code: str = ""  # FcmError.errorCode, e.g. UNREGISTERED
    apns: str = ""  # ApnsError.reason
    status: str = ""  # google.rpc.Code, e.g. NOT_FOUND
    fields: tuple[str, ...] = ()  # BadRequest.fieldViolations[].field
    subjects: tuple[str, ...] = ()  # QuotaFailure.violations[]: whose quota was exceeded
    text: str = ""
    strange: str = ""  # text from a proxy: shown to people, but no evidence

    @property
    def words(self) -> str:
        return self.strange or self.text

    @property
    def name(self) -> str:
        """The most exact error code in the answer."""
        return self.apns or self.code or self.status


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
    """Whether the code is unknown: UNSPECIFIED_ERROR, or newer than this table. It is no evidence
    against a device."""
    return bool(answer.code) and answer.code not in CODES


def _could_not_be_read(answer: Answer) -> bool:
    """Whether the front end could not parse the JSON, before FCM saw a message."""
    return not answer.code and answer.text.startswith(("Invalid JSON payload", "Invalid value at"))


def _broke_inside(answer: Answer) -> bool:
    """Whether FCM, or a server in front of it, failed while it handled the message. An unusual 2xx
    counts, too."""
    return answer.http >= 500 or answer.http == 408 or answer.http < 300


class Ruling(NamedTuple):
    """Our conclusion from an answer."""

    verdict: Verdict
    reason: str
    arrived: Arrived


Row = tuple[Callable[[Answer], bool], Verdict, str, Arrived]
NO, MAYBE = Arrived.NO, Arrived.MAYBE

TABLE: list[Row] = [
    (lambda a: a.code == "UNREGISTERED", Verdict.DEAD_ADDRESS, "unregistered", NO),
    (lambda a: a.apns in APPLE_SAYS_GONE, Verdict.DEAD_ADDRESS, "unregistered", NO),
    (lambda a: a.http == 400 and _names_the_address(a), Verdict.BAD_ADDRESS, "malformed_address",
     NO),
    (lambda a: a.code == "SENDER_ID_MISMATCH", Verdict.FOREIGN_ADDRESS, "other_project", NO),
    (lambda a: a.http == 403 and "SenderId mismatch" in a.text, Verdict.FOREIGN_ADDRESS,
     "other_project", NO),
    (lambda a: a.code in ("THIRD_PARTY_AUTH_ERROR", "APNS_AUTH_ERROR"), Verdict.PLATFORM_KEY,
     "platform_key", NO),
    (lambda a: a.apns in APPLE_DOUBTS_FIREBASE, Verdict.PLATFORM_KEY, "platform_key", NO),
    # An Apple error in a 401 shows that our own token was good enough to reach Apple.
    (lambda a: a.http == 401 and a.apns != "", Verdict.PLATFORM_KEY, "platform_key", NO),
    (lambda a: _says_nothing_known(a) and not _broke_inside(a), Verdict.TRANSIENT,
     "unknown_answer", NO),
    (lambda a: a.http == 401, Verdict.UNAUTHORISED, "unauthorised", NO),
    (lambda a: a.http == 403, Verdict.UNAUTHORISED, "forbidden", NO),
    # A 404 without FcmError means a wrong project or URL: all devices may be fine.
    (lambda a: a.http == 404, Verdict.UNAUTHORISED, "wrong_project", NO),
    # A limit of one device says nothing about the project's: only this message is tried later.
    (lambda a: a.http == 429 and _names_the_device(a), Verdict.THROTTLED, "device_throttled", NO),
    (lambda a: a.apns == "TooManyRequests", Verdict.THROTTLED, "device_throttled", NO),
    (lambda a: a.http == 429, Verdict.THROTTLED, "throttled", NO),
    (lambda a: a.http == 400 and _could_not_be_read(a), Verdict.BAD_MESSAGE, "unreadable_message",
     NO),
    (lambda a: a.http == 400, Verdict.BAD_MESSAGE, "refused_message", NO),
    (lambda a: a.http == 503, Verdict.TRANSIENT, "unavailable", MAYBE),
    (_broke_inside, Verdict.TRANSIENT, "server_error", MAYBE),
    (lambda a: True, Verdict.TRANSIENT, "unknown_answer", NO),
]  # fmt: skip


# A 200 counts as accepted even if its body is cut short: another request would repeat the message.
ACCEPTED = Ruling(Verdict.ACCEPTED, "", Arrived.YES)
NOT_STARTED = Ruling(Verdict.UNSENT, "", NO)
NEVER_LEFT = Ruling(Verdict.TRANSIENT, "unreachable", NO)
NO_ANSWER = Ruling(Verdict.UNANSWERED, "unanswered", MAYBE)
NOT_ENCODED = Ruling(Verdict.BAD_MESSAGE, "refused_message", NO)
NO_TOKEN = Ruling(Verdict.UNAUTHORISED, "bad_credentials", NO)


def classify(http: int, body: bytes) -> tuple[Ruling, Answer]:
    """Classify an answer that is not a 200. Returns the ruling and the parsed answer."""
    answer = parse_answer(http, body)
    for fits, verdict, reason, arrived in TABLE:
        if fits(answer):
            return Ruling(verdict, reason, arrived), answer
    raise AssertionError("the table's last row fits everything")


def parse_answer(http: int, body: bytes) -> Answer:
    try:
        error = orjson.loads(body)["error"]
        details = {_type(detail): detail for detail in error.get("details") or []}
        return Answer(
            http,
            code=details.get("FcmError", {}).get("errorCode", ""),
            apns=details.get("ApnsError", {}).get("reason", ""),
            status=str(error.get("status", "")),
            fields=tuple(_violated(details.get("BadRequest", {}))),
            subjects=tuple(_exhausted(details.get("QuotaFailure", {}))),
            text=str(error.get("message", ""))[:500],
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        text = _words_in(body)
        problem = f"HTTP {http}: {text}" if text else f"HTTP {http} without a readable body"
        return Answer(http, strange=problem)


def _words_in(body: bytes) -> str:
    """Return the start of a page's text on one line, without HTML."""
    page = body[:PAGE_BYTES].decode(errors="replace")
    text = html.unescape(TAGS.sub(" ", NOT_WORDS.sub(" ", page)))
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split())[:PAGE_LETTERS]


def _type(detail: Mapping[str, Any]) -> str:
    return str(detail.get("@type", "")).rpartition(".")[2]


def _violated(bad_request: Mapping[str, Any]) -> list[str]:
    return [str(v.get("field", "")) for v in bad_request.get("fieldViolations") or []]


def _exhausted(quota_failure: Mapping[str, Any]) -> list[str]:
    violations = quota_failure.get("violations") or []
    return [f"{v.get('subject', '')} {v.get('description', '')}" for v in violations]


def retry_after(header: str | None, *, http: int, now: float) -> float | None:
    """Return the seconds to wait. FCM gives seconds or a date; a 429 without either means 60 s."""
    seconds = _seconds(header, now) if header else None
    if seconds is None or not math.isfinite(seconds):
        return DEFAULT_RETRY_AFTER if http == 429 else None
    return min(max(0.0, seconds), MAX_TTL)  # by then every message has expired


def _seconds(header: str, now: float) -> float | None:
    for parse in (float, lambda text: parsedate_to_datetime(text).timestamp() - now):
        try:
            return parse(header)
        except (ValueError, OverflowError):
            continue
    return None
