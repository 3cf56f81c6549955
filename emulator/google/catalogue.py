"""Every refusal FCM is known to give, under one word each: captured bodies, detail order included.

An address or a scripted fault names its answer by these words.
"""

from __future__ import annotations

from emulator.google.answers import (
    ACCESS_TOKEN_EXPIRED,
    INVALID_CONDITION,
    invalid_argument,
    invalid_json,
    permission_denied,
    too_big,
)
from emulator.google.envelopes import (
    Answer,
    Detail,
    apns_error,
    bad_request,
    envelope,
    error_info,
    fcm_error,
    help_link,
    quota_failure,
)
from emulator.http.replies import google_page

NOT_A_TOKEN = "The registration token is not a valid FCM registration token"
NOT_FOUND = "Requested entity was not found."
BAD_AUTH = "Auth error from APNS or Web Push Service"
EXHAUSTED = "Resource has been exhausted (e.g. check quota)."
ARGUMENT = "Request contains an invalid argument."


def _third_party(code: str, *details: Detail) -> Answer:
    return envelope(code, 401, "UNAUTHENTICATED", BAD_AUTH, fcm_error(code), *details)


def _invalid(message: str, *details: Detail) -> Answer:
    name = "INVALID_ARGUMENT"
    return envelope(name, 400, name, message, fcm_error(name), *details)


def _forbidden(reason: str, message: str) -> Answer:
    metadata = {"service": "fcm.googleapis.com", "consumer": "projects/carillon-demo"}
    info = error_info(reason, "googleapis.com", metadata)
    return envelope(reason, 403, "PERMISSION_DENIED", message, info)


def _exceeded(subject: str, description: str) -> Answer:
    details = (fcm_error("QUOTA_EXCEEDED"), quota_failure(subject, description))
    return envelope("QUOTA_EXCEEDED", 429, "RESOURCE_EXHAUSTED", description, *details)


def _page(status: int, explanation: str) -> Answer:
    return Answer(f"HTML_{status}", google_page(status, explanation))


def device_rate(address: str) -> Answer:
    """One device has had too many messages; its QuotaFailure is all that tells it from a quota."""
    return _exceeded(f"device:{address}", "Device message rate exceeded.")


def project_quota(project: str, quota: int) -> Answer:
    """The real quota error: of the API front end, so without an FcmError."""
    metadata = {
        "quota_limit_value": str(quota),
        "consumer": f"projects/{project}",
        "quota_metric": "fcm.googleapis.com/send_requests",
        "quota_unit": "1/min/{project}",
        "service": "fcm.googleapis.com",
        "quota_location": "global",
        "quota_limit": "SendsPerMinutePerProject",
    }
    return envelope(
        "RATE_LIMIT_EXCEEDED",
        429,
        "RESOURCE_EXHAUSTED",
        "Quota exceeded for quota metric 'Send requests' and limit 'Send requests per minute' of "
        f"service 'fcm.googleapis.com' for consumer 'projects/{project}'.",
        error_info("RATE_LIMIT_EXCEEDED", "googleapis.com", metadata),
        help_link(
            "Request a higher quota limit.",
            "https://cloud.google.com/docs/quotas/help/request_increase",
        ),
    )


UNREGISTERED = envelope("UNREGISTERED", 404, "NOT_FOUND", NOT_FOUND, fcm_error("UNREGISTERED"))
MALFORMED = _invalid(NOT_A_TOKEN, bad_request("message.token", NOT_A_TOKEN))
SENDER_ID_MISMATCH = envelope(
    "SENDER_ID_MISMATCH",
    403,
    "PERMISSION_DENIED",
    "SenderId mismatch",
    fcm_error("SENDER_ID_MISMATCH"),
)
UNAVAILABLE = envelope(
    "UNAVAILABLE",
    503,
    "UNAVAILABLE",
    "The service is currently unavailable.",
    fcm_error("UNAVAILABLE"),
    headers={"Retry-After": "2"},
)
QUOTA_EXCEEDED = envelope(
    "QUOTA_EXCEEDED",
    429,
    "RESOURCE_EXHAUSTED",
    EXHAUSTED,
    fcm_error("QUOTA_EXCEEDED"),
    headers={"Retry-After": "2"},
)
INTERNAL = envelope(
    "INTERNAL", 500, "INTERNAL", "Internal error encountered.", fcm_error("INTERNAL")
)

CATALOGUE: dict[str, Answer] = {
    # The address is gone.
    "dead": UNREGISTERED,
    "deadios": envelope(
        "UNREGISTERED",
        404,
        "NOT_FOUND",
        NOT_FOUND,
        fcm_error("UNREGISTERED"),
        apns_error(410, "Unregistered"),
    ),
    # The same, hidden behind a 400.
    "disabledios": _invalid("APNs device token is disabled.", apns_error(410, "Unregistered")),
    "badios": _invalid(ARGUMENT, apns_error(400, "BadDeviceToken")),
    "malformed": MALFORMED,
    "foreign": SENDER_ID_MISMATCH,
    # The platform's key in the Firebase project is bad: APNs', or the web's.
    "thirdparty": _third_party("THIRD_PARTY_AUTH_ERROR", apns_error(403, "InvalidProviderToken")),
    "wrongenv": _third_party("THIRD_PARTY_AUTH_ERROR", apns_error(403, "BadEnvironmentKeyInToken")),
    "webkey": _third_party("THIRD_PARTY_AUTH_ERROR"),
    "oldapnskey": _third_party("APNS_AUTH_ERROR"),
    # The message is wrong: by FCM's rules, by the schema, without a word why, or too big.
    "badmessage": invalid_argument("message.android.ttl", "Invalid TTL."),
    "vague": _invalid(ARGUMENT, {"@type": "type.googleapis.com/google.rpc.BadRequest"}),
    "unreadable": invalid_json(
        "message.data[0].value", "Invalid value at 'message.data[0].value' (TYPE_STRING), 12"
    ),
    "bare": INVALID_CONDITION,
    "toobig": too_big("Message is too large. The maximum is 4K (4096 bytes)."),
    # The caller: its token, its rights, its project.
    "expired": ACCESS_TOKEN_EXPIRED,
    "signin": _page(401, "Login Required."),
    "norole": permission_denied("carillon-demo"),
    "apioff": _forbidden(
        "SERVICE_DISABLED",
        "Firebase Cloud Messaging API has not been used in project carillon-demo before or it is "
        "disabled.",
    ),
    "noquotaproject": _forbidden(
        "USER_PROJECT_DENIED",
        "Caller does not have required permission to use project carillon-demo.",
    ),
    "noproject": envelope("NOT_FOUND", 404, "NOT_FOUND", NOT_FOUND),
    "nopage": _page(404, "The requested URL was not found on this server."),
    # Too much: of the project, of everybody, of one device, of one topic.
    "quota": project_quota("carillon-demo", 600_000),
    "quotaexceeded": QUOTA_EXCEEDED,
    "overload": envelope("RESOURCE_EXHAUSTED", 429, "RESOURCE_EXHAUSTED", EXHAUSTED),
    "devicerate": _exceeded("device", "Device message rate exceeded."),
    "topicrate": _exceeded("topic", "Topic message rate exceeded."),
    # Google's own troubles.
    "unavailable": UNAVAILABLE,
    "internal": INTERNAL,
    "badgateway": _page(
        502,
        "The server encountered a temporary error and could not complete your request. "
        "Please try again in 30 seconds.",
    ),
    "gatewaytimeout": envelope("DEADLINE_EXCEEDED", 504, "DEADLINE_EXCEEDED", "Deadline exceeded."),
    "requesttimeout": _page(408, "Your client has taken too long to issue its request."),
    "unspecified": envelope(
        "UNSPECIFIED_ERROR", 500, "UNKNOWN", "Unknown error.", fcm_error("UNSPECIFIED_ERROR")
    ),
    "unheardof": envelope(
        "SOMETHING_NEW",
        400,
        "FAILED_PRECONDITION",
        "Precondition check failed.",
        fcm_error("SOMETHING_NEW"),
    ),
}
