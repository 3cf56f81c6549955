"""FCM speaks in several shapes; each one means what it means, and only proof costs a device."""

from __future__ import annotations

import json
from typing import Any

import pytest

from campaigns.runs.reasons import DEAD, Reason
from campaigns.sending.judge_answers import AGAIN, REFUSED
from notifications.fcm.rules import MAX_TTL
from notifications.fcm.verdicts import (
    NEVER_LEFT,
    NO_ANSWER,
    NOT_ENCODED,
    TABLE,
    Ruling,
    classify,
    retry_after,
)
from notifications.gateway import Arrived, Verdict

FCM_ERROR = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
APNS_ERROR = "type.googleapis.com/google.firebase.fcm.v1.ApnsError"
BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"
ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"


def body(code: int, status: str, *details: dict[str, Any], message: str = "No.") -> bytes:
    error = {"code": code, "message": message, "status": status, "details": list(details)}
    return json.dumps({"error": error}).encode()


def fcm(code: str) -> dict[str, Any]:
    return {"@type": FCM_ERROR, "errorCode": code}


def field(name: str) -> dict[str, Any]:
    return {"@type": BAD_REQUEST, "fieldViolations": [{"field": name, "description": "Bad."}]}


def apns(status: int, reason: str) -> dict[str, Any]:
    return {"@type": APNS_ERROR, "statusCode": status, "reason": reason}


INVALID = "INVALID_ARGUMENT"
UNREADABLE = "Invalid value at 'message.data[0].value' (TYPE_STRING), 12"
NOT_A_TOKEN = "The registration token is not a valid FCM registration token"


@pytest.mark.parametrize(
    ("http", "answer", "verdict"),
    [
        (404, body(404, "NOT_FOUND", fcm("UNREGISTERED")), Verdict.DEAD_ADDRESS),
        (
            404,
            body(404, "NOT_FOUND", apns(410, "Unregistered"), fcm("UNREGISTERED")),
            Verdict.DEAD_ADDRESS,
        ),
        (400, body(400, INVALID, fcm(INVALID), apns(410, "Unregistered")), Verdict.DEAD_ADDRESS),
        (400, body(400, INVALID, fcm(INVALID), apns(400, "BadDeviceToken")), Verdict.DEAD_ADDRESS),
        (400, body(400, INVALID, fcm(INVALID), field("message.token")), Verdict.BAD_ADDRESS),
        (400, body(400, INVALID, fcm(INVALID), message=NOT_A_TOKEN), Verdict.BAD_ADDRESS),
        (400, body(400, INVALID, fcm(INVALID), field("message.data[0]")), Verdict.BAD_MESSAGE),
        (400, body(400, INVALID, fcm(INVALID)), Verdict.BAD_MESSAGE),
        (400, body(400, INVALID, {"@type": BAD_REQUEST}), Verdict.BAD_MESSAGE),
        (400, body(400, INVALID), Verdict.BAD_MESSAGE),
        (
            403,
            body(403, "PERMISSION_DENIED", fcm("SENDER_ID_MISMATCH")),
            Verdict.FOREIGN_ADDRESS,
        ),
        (403, body(403, "PERMISSION_DENIED", message="SenderId mismatch"), Verdict.FOREIGN_ADDRESS),
        (403, body(403, "PERMISSION_DENIED"), Verdict.UNAUTHORISED),
        (401, body(401, "UNAUTHENTICATED", fcm("THIRD_PARTY_AUTH_ERROR")), Verdict.PLATFORM_KEY),
        (401, body(401, "UNAUTHENTICATED", fcm("APNS_AUTH_ERROR")), Verdict.PLATFORM_KEY),
        (
            400,
            body(400, INVALID, fcm(INVALID), apns(403, "BadEnvironmentKeyInToken")),
            Verdict.PLATFORM_KEY,
        ),
        (
            400,
            body(400, INVALID, fcm(INVALID), apns(400, "DeviceTokenNotForTopic")),
            Verdict.PLATFORM_KEY,
        ),
        (400, body(400, INVALID, {"@type": BAD_REQUEST}, message=UNREADABLE), Verdict.BAD_MESSAGE),
        (400, body(400, INVALID, fcm("UNSPECIFIED_ERROR")), Verdict.TRANSIENT),
        (400, body(400, "FAILED_PRECONDITION", fcm("NEW_IN_2027")), Verdict.TRANSIENT),
        (500, body(500, "UNKNOWN", fcm("UNSPECIFIED_ERROR")), Verdict.TRANSIENT),
        (408, b"", Verdict.TRANSIENT),
        (
            401,
            body(401, "UNAUTHENTICATED", {"@type": ERROR_INFO, "reason": "ACCESS_TOKEN_EXPIRED"}),
            Verdict.UNAUTHORISED,
        ),
        (401, b"<html>Unauthorized</html>", Verdict.UNAUTHORISED),
        (404, b"<html>Not Found</html>", Verdict.UNAUTHORISED),
        (404, body(404, "NOT_FOUND"), Verdict.UNAUTHORISED),
        (429, body(429, "RESOURCE_EXHAUSTED", fcm("QUOTA_EXCEEDED")), Verdict.THROTTLED),
        (
            429,
            body(
                429,
                "RESOURCE_EXHAUSTED",
                {"@type": ERROR_INFO, "reason": "RATE_LIMIT_EXCEEDED"},
            ),
            Verdict.THROTTLED,
        ),
        (500, body(500, "INTERNAL", fcm("INTERNAL")), Verdict.TRANSIENT),
        (502, b"<html>try again in 30 seconds</html>", Verdict.TRANSIENT),
        (503, body(503, "UNAVAILABLE", fcm("UNAVAILABLE")), Verdict.TRANSIENT),
        (504, b"", Verdict.TRANSIENT),
        (418, b'{"error": "teapot"}', Verdict.TRANSIENT),
        (404, b'{"error": {"details": [null]}}', Verdict.UNAUTHORISED),
    ],
)
def test_every_shape_of_an_answer_has_its_verdict(
    http: int, answer: bytes, verdict: Verdict
) -> None:
    assert classify(http, answer)[0].verdict is verdict


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            b"<html><style>h1 {}</style><!-- x -->\n<h1>I&#39;m a\tteapot</h1><p>Ask\x00 IT.",
            "HTTP 418: I'm a teapot Ask IT.",
        ),
        (b'{"error": "teapot"}', 'HTTP 418: {"error": "teapot"}'),
        (b"Squid \xff\xfe says no", "HTTP 418: Squid \ufffd\ufffd says no"),
        (b"<p>" + b"no " * 5_000, f"HTTP 418: {'no ' * 66}no"),
        (b"<html><script>let x = 1", "HTTP 418 without a readable body"),
        (b"\x1f\x00", "HTTP 418 without a readable body"),
    ],
)
def test_whoever_answers_in_fcms_place_is_quoted(answer: bytes, words: str) -> None:
    assert classify(418, answer)[1].words == words


def test_what_a_proxy_writes_is_no_evidence_against_a_device() -> None:
    ruling, said = classify(400, b"<p>This is not a valid FCM registration token.")
    assert ruling.verdict is Verdict.BAD_MESSAGE
    assert said.words == "HTTP 400: This is not a valid FCM registration token."


@pytest.mark.parametrize(
    "answer", [b"", b"<html></html>", body(500, "UNKNOWN", fcm("NEW_IN_2027"))]
)
@pytest.mark.parametrize("http", [201, 204, 408, 500, 501, 502, 503, 504, 520, 599])
def test_whoever_broke_at_work_on_a_message_may_have_sent_it(http: int, answer: bytes) -> None:
    ruling, _ = classify(http, answer)

    assert ruling.arrived is Arrived.MAYBE
    assert ruling.reason in ("server_error", "unavailable"), "which is said of the unknown alone"


@pytest.mark.parametrize("answer", [b"", b"<html></html>", body(400, "X", fcm("NEW_IN_2027"))])
@pytest.mark.parametrize("http", [302, 400, 401, 403, 404, 409, 418, 429])
def test_whoever_refused_a_message_did_not_send_it(http: int, answer: bytes) -> None:
    assert classify(http, answer)[0].arrived is Arrived.NO


def test_every_refusal_of_an_address_or_a_message_proves_that_it_did_not_arrive() -> None:
    refused = REFUSED | {Verdict.THROTTLED, Verdict.UNAUTHORISED, Verdict.UNSENT}
    rulings = [Ruling(*row[1:]) for row in TABLE]
    assert {ruling.arrived for ruling in rulings if ruling.verdict in refused} == {Arrived.NO}


QUOTA_FAILURE = "type.googleapis.com/google.rpc.QuotaFailure"


@pytest.mark.parametrize(
    ("http", "answer", "reason"),
    [
        (
            429,
            body(
                429,
                "RESOURCE_EXHAUSTED",
                {"@type": QUOTA_FAILURE, "violations": [{"subject": "device:dXk1…"}]},
                fcm("QUOTA_EXCEEDED"),
            ),
            "device_throttled",
        ),
        (
            429,
            body(
                429,
                "RESOURCE_EXHAUSTED",
                {"@type": ERROR_INFO, "reason": "RATE_LIMIT_EXCEEDED"},
                {"@type": QUOTA_FAILURE, "violations": [{"subject": "project:123"}]},
            ),
            "throttled",
        ),
        (429, body(429, "RESOURCE_EXHAUSTED", {"@type": QUOTA_FAILURE}), "throttled"),
        (400, body(400, INVALID, message=UNREADABLE), "unreadable_message"),
        (400, body(400, INVALID, fcm(INVALID), message=UNREADABLE), "refused_message"),
        (403, body(403, "PERMISSION_DENIED"), "forbidden"),
        (404, body(404, "NOT_FOUND"), "wrong_project"),
    ],
)
def test_answers_that_ask_for_different_things_have_different_reasons(
    http: int, answer: bytes, reason: str
) -> None:
    assert classify(http, answer)[0].reason == reason


def test_every_reason_of_the_table_that_can_end_a_recipient_is_in_the_closed_list() -> None:
    final = REFUSED | AGAIN
    rulings = [Ruling(*row[1:]) for row in TABLE] + [NEVER_LEFT, NO_ANSWER, NOT_ENCODED]
    assert {ruling.reason for ruling in rulings if ruling.verdict in final} <= set(Reason.values)


def test_the_reasons_a_device_is_retired_for_are_those_of_a_dead_or_bad_address() -> None:
    dead = {Verdict.DEAD_ADDRESS, Verdict.BAD_ADDRESS}
    of_verdicts = {row for row in TABLE if row[1] in dead}
    assert of_verdicts == {row for row in TABLE if row[2] in DEAD}
    assert {row[2] for row in of_verdicts} == set(DEAD)


@pytest.mark.parametrize(
    ("header", "http", "seconds"),
    [
        ("2", 503, 2),
        ("Sat, 21 Nov 2026 12:00:30 GMT", 503, 30),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 503, 0),
        (None, 429, 60),
        ("inf", 429, 60),
        ("nan", 503, None),
        ("1e400", 429, 60),
        ("999999999999", 503, MAX_TTL),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 429, MAX_TTL),
        ("Fri, 31 Dec 99999 23:59:59 GMT", 503, None),
        ("soon", 429, 60),
        (None, 503, None),
    ],
)
def test_retry_after_is_obeyed_in_seconds_or_as_a_date(
    header: str | None, http: int, seconds: float | None
) -> None:
    noon = 1795262400.0  # 2026-11-21 12:00 UTC
    assert retry_after(header, http=http, now=noon) == seconds
