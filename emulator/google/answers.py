"""What Google answers about the caller and about the message, as captured from production.

What it answers about the address and the moment is in `catalogue.py`.
"""

from __future__ import annotations

from emulator.google.envelopes import Answer, bad_request, envelope, error_info, fcm_error

SIGN_IN = (
    "Expected OAuth 2 access token, login cookie or other valid authentication credential. "
    "See https://developers.google.com/identity/sign-in/web/devconsole-project."
)
METHOD = {
    "service": "fcm.googleapis.com",
    "method": "google.firebase.fcm.v1.FcmService.SendMessage",
}


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
    return envelope(
        reason,
        401,
        "UNAUTHENTICATED",
        f"{message} {SIGN_IN}",
        error_info(reason, "googleapis.com", METHOD),
        headers={"WWW-Authenticate": challenge},
    )


CREDENTIALS_MISSING = unauthenticated(sent_a_token=False)
ACCESS_TOKEN_EXPIRED = unauthenticated(sent_a_token=True)
SCOPE_INSUFFICIENT = envelope(
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
    403,
    "PERMISSION_DENIED",
    "Request had insufficient authentication scopes.",
    error_info("ACCESS_TOKEN_SCOPE_INSUFFICIENT", "googleapis.com", METHOD),
)


def permission_denied(project: str) -> Answer:
    permission = "cloudmessaging.messages.create"
    resource = f"projects/{project}"
    return envelope(
        "IAM_PERMISSION_DENIED",
        403,
        "PERMISSION_DENIED",
        f"Permission '{permission}' denied on resource "
        f"'//cloudresourcemanager.googleapis.com/{resource}' (or it may not exist).",
        error_info(
            "IAM_PERMISSION_DENIED",
            "cloudresourcemanager.googleapis.com",
            {"permission": permission, "resource": resource},
        ),
    )


# --- about the message


def invalid_json(field: str, description: str) -> Answer:
    """The transcoder's answer: the JSON does not fit the schema."""
    return envelope(
        "INVALID_JSON", 400, "INVALID_ARGUMENT", description, bad_request(field, description)
    )


def not_json(explanation: str) -> Answer:
    return envelope(
        "INVALID_JSON",
        400,
        "INVALID_ARGUMENT",
        f"Invalid JSON payload received. {explanation}",
    )


def invalid_argument(field: str, description: str) -> Answer:
    """FCM's answer: the schema is met, one of FCM's own rules is not."""
    return envelope(
        "INVALID_ARGUMENT",
        400,
        "INVALID_ARGUMENT",
        description,
        fcm_error("INVALID_ARGUMENT"),
        bad_request(field, description),
    )


def too_big(description: str) -> Answer:
    """Google names no field when a message is too big."""
    return envelope(
        "INVALID_ARGUMENT",
        400,
        "INVALID_ARGUMENT",
        description,
        fcm_error("INVALID_ARGUMENT"),
    )


INVALID_CONDITION = envelope(
    "INVALID_ARGUMENT", 400, "INVALID_ARGUMENT", "Invalid condition expression provided."
)
