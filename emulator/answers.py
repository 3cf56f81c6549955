"""The bodies Google answers a refused request with, as captured from production.

Two families a sender must tell apart: FCM's own errors carry an FcmError, those of the API front
end an ErrorInfo instead. A parse error carries neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from emulator.replies import NO_HEADERS, Reply, json_reply

Detail = dict[str, Any]

SIGN_IN = (
    "Expected OAuth 2 access token, login cookie or other valid authentication credential. "
    "See https://developers.google.com/identity/sign-in/web/devconsole-project."
)
METHOD = {
    "service": "fcm.googleapis.com",
    "method": "google.firebase.fcm.v1.FcmService.SendMessage",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """A refusal: its bytes, and the name the counts know it by."""

    name: str
    reply: Reply


class Refused(Exception):
    """The request stops here, with this answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.name)
        self.answer = answer


def _envelope(
    name: str,
    code: int,
    status: str,
    message: str,
    *details: Detail,
    headers: Mapping[str, str] = NO_HEADERS,
) -> Answer:
    error: dict[str, Any] = {"code": code, "message": message, "status": status}
    if details:
        error["details"] = details
    return Answer(name, json_reply({"error": error}, status=code, headers=headers))


def _fcm_error(code: str) -> Detail:
    return {"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": code}


def _apns_error(status: int, reason: str) -> Detail:
    return {
        "@type": "type.googleapis.com/google.firebase.fcm.v1.ApnsError",
        "statusCode": status,
        "reason": reason,
    }


def _bad_request(field: str, description: str) -> Detail:
    return {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [{"field": field, "description": description}],
    }


def _error_info(reason: str, domain: str, metadata: dict[str, str]) -> Detail:
    return {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason,
        "domain": domain,
        "metadata": metadata,
    }


# --- about the address

NOT_A_TOKEN = "The registration token is not a valid FCM registration token"
UNREGISTERED = _envelope(
    "UNREGISTERED",
    404,
    "NOT_FOUND",
    "Requested entity was not found.",
    _fcm_error("UNREGISTERED"),
)
MALFORMED = _envelope(
    "INVALID_ARGUMENT",
    400,
    "INVALID_ARGUMENT",
    NOT_A_TOKEN,
    _fcm_error("INVALID_ARGUMENT"),
    _bad_request("message.token", NOT_A_TOKEN),
)
SENDER_ID_MISMATCH = _envelope(
    "SENDER_ID_MISMATCH",
    403,
    "PERMISSION_DENIED",
    "SenderId mismatch",
    _fcm_error("SENDER_ID_MISMATCH"),
)
THIRD_PARTY_AUTH_ERROR = _envelope(
    "THIRD_PARTY_AUTH_ERROR",
    401,
    "UNAUTHENTICATED",
    "Auth error from APNS or Web Push Service",
    _fcm_error("THIRD_PARTY_AUTH_ERROR"),
    _apns_error(403, "InvalidProviderToken"),
)

# --- about the moment

UNAVAILABLE = _envelope(
    "UNAVAILABLE",
    503,
    "UNAVAILABLE",
    "The service is currently unavailable.",
    _fcm_error("UNAVAILABLE"),
    headers={"Retry-After": "2"},
)
INTERNAL = _envelope(
    "INTERNAL", 500, "INTERNAL", "Internal error encountered.", _fcm_error("INTERNAL")
)
QUOTA_EXCEEDED = _envelope(
    "QUOTA_EXCEEDED",
    429,
    "RESOURCE_EXHAUSTED",
    "Resource has been exhausted (e.g. check quota).",
    _fcm_error("QUOTA_EXCEEDED"),
    headers={"Retry-After": "2"},
)

# --- about the caller


def unauthenticated(*, sent_a_token: bool) -> Answer:
    reason, message, challenge = (
        (
            "ACCESS_TOKEN_EXPIRED",
            "Request had invalid authentication credentials.",
            'Bearer realm="https://accounts.google.com/", error="invalid_token"',
        )
        if sent_a_token
        else (
            "CREDENTIALS_MISSING",
            "Request is missing required authentication credential.",
            'Bearer realm="https://accounts.google.com/"',
        )
    )
    return _envelope(
        reason,
        401,
        "UNAUTHENTICATED",
        f"{message} {SIGN_IN}",
        _error_info(reason, "googleapis.com", METHOD),
        headers={"WWW-Authenticate": challenge},
    )


CREDENTIALS_MISSING = unauthenticated(sent_a_token=False)
ACCESS_TOKEN_EXPIRED = unauthenticated(sent_a_token=True)
SCOPE_INSUFFICIENT = _envelope(
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
    403,
    "PERMISSION_DENIED",
    "Request had insufficient authentication scopes.",
    _error_info("ACCESS_TOKEN_SCOPE_INSUFFICIENT", "googleapis.com", METHOD),
)


def permission_denied(project: str) -> Answer:
    permission = "cloudmessaging.messages.create"
    resource = f"projects/{project}"
    return _envelope(
        "IAM_PERMISSION_DENIED",
        403,
        "PERMISSION_DENIED",
        f"Permission '{permission}' denied on resource "
        f"'//cloudresourcemanager.googleapis.com/{resource}' (or it may not exist).",
        _error_info(
            "IAM_PERMISSION_DENIED",
            "cloudresourcemanager.googleapis.com",
            {"permission": permission, "resource": resource},
        ),
    )


# --- about the message


def invalid_json(field: str, description: str) -> Answer:
    """The transcoder's answer: the JSON does not fit the schema."""
    return _envelope(
        "INVALID_JSON", 400, "INVALID_ARGUMENT", description, _bad_request(field, description)
    )


def not_json(explanation: str) -> Answer:
    return _envelope(
        "INVALID_JSON",
        400,
        "INVALID_ARGUMENT",
        f"Invalid JSON payload received. {explanation}",
    )


def invalid_argument(field: str, description: str) -> Answer:
    """FCM's answer: the schema is met, one of FCM's own rules is not."""
    return _envelope(
        "INVALID_ARGUMENT",
        400,
        "INVALID_ARGUMENT",
        description,
        _fcm_error("INVALID_ARGUMENT"),
        _bad_request(field, description),
    )


def too_big(description: str) -> Answer:
    """Google names no field when a message is too big."""
    return _envelope(
        "INVALID_ARGUMENT",
        400,
        "INVALID_ARGUMENT",
        description,
        _fcm_error("INVALID_ARGUMENT"),
    )


INVALID_CONDITION = _envelope(
    "INVALID_ARGUMENT", 400, "INVALID_ARGUMENT", "Invalid condition expression provided."
)
