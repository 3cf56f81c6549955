"""Who is calling: one person's own app, by an inbox token as a bearer token."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from notifications.api.base.authentication import split_header
from notifications.api.base.problems import Problem
from notifications.keys import inbox_token
from notifications.keys.inbox_token import TokenOwner

NOT_VALID = "This inbox token is not valid here. An API key does not open this door."
EXPIRED = "This inbox token has expired; get another from your backend."
TOO_LONG = "This inbox token expires more than 30 days from now; make one that expires sooner."


class NotTaken(Problem, AuthenticationFailed):
    """With a kind, so that an app can tell when it needs another token."""


class InboxTokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer inbox1.…`; whose it is becomes `request.auth`."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, TokenOwner] | None:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if not header:
            return None
        kind, value = split_header(header)
        if kind.lower() != "bearer":
            raise _not_taken(NOT_VALID)
        try:
            return AnonymousUser(), inbox_token.verify(value, now=timezone.now())
        except inbox_token.Expired:
            raise _not_taken(EXPIRED, kind="token-expired") from None
        except inbox_token.TooLong:
            raise _not_taken(TOO_LONG) from None
        except inbox_token.NotValid:
            raise _not_taken(NOT_VALID) from None

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="carillon"'


def _not_taken(message: str, *, kind: str = "") -> NotTaken:
    return NotTaken(HTTPStatus.UNAUTHORIZED, message, kind=kind)


class InboxTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the schema tells readers to authenticate."""

    target_class = InboxTokenAuthentication
    name = "inboxToken"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        text = "Of one person: POST contacts/{external_id}/inbox-token, or signed by your backend."
        return {"type": "http", "scheme": "bearer", "description": text}
