"""Inbox tokens: a person's own app uses one instead of an API key.

    inbox1.<secret's name>.<expires>.<person>.<signature>

`expires` is in seconds since 1970. `person` is the external id in UTF-8, as base64url without `=`.
The signature is HMAC-SHA256, with the secret, over the exact text before the last dot. So two ways
to write the same thing are two tokens, and at most one of them is signed. Signatures are compared
as text for the same reason. The token does not name the algorithm: another one would be `inbox2`.
"""

from __future__ import annotations

import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.core.exceptions import ValidationError

from notifications.gateway import WrongKey
from notifications.keys.inbox_secret import OVERLAP, InboxSecret
from notifications.people.contact import LONGEST_ID, validate_external_id
from notifications.people.project import Project

VERSION = "inbox1"
SHORTEST, USUAL, LONGEST = timedelta(minutes=1), timedelta(days=1), OVERLAP
AHEAD = timedelta(minutes=5)  # how far a backend's clock may be ahead of ours
MAX_OF_A_PERSON = -(-LONGEST_ID * 4 * 4 // 3)  # four bytes per letter, then base64
FORM = re.compile(
    rf"{VERSION}\.(?P<secret>[0-9a-f]{{12}})\.(?P<expires>[1-9][0-9]{{9}})"
    rf"\.(?P<person>[A-Za-z0-9_-]{{2,{MAX_OF_A_PERSON}}})\.(?P<signature>[A-Za-z0-9_-]{{43}})"
)
MOST = 100 + MAX_OF_A_PERSON  # characters; a longer text is not even parsed


class NotValid(Exception):
    """The token is not ours, not signed by its secret, or has no valid person. One error for all,
    as for an unknown API key."""


class Expired(NotValid):
    pass


class TooLong(NotValid):
    """The token's expiry is later than the longest lifetime allows."""


@dataclass(frozen=True)
class TokenOwner:
    """The project and the person that a valid token is for."""

    project: Project
    external_id: str
    expires_at: datetime
    secret: str  # its name


def make(secret: InboxSecret, external_id: str, *, expires_at: datetime) -> str:
    """Create a token. Raises WrongKey."""
    person = _text(external_id.encode())
    signed = f"{VERSION}.{secret.name}.{int(expires_at.timestamp())}.{person}"
    return f"{signed}.{_signature(secret.open(), signed)}"


def verify(token: str, *, now: datetime) -> TokenOwner:
    """Verify a token. Raises NotValid. The cheapest check is first: a bad token costs at most one
    row and one hash."""
    parts = FORM.fullmatch(token) if len(token) <= MOST else None
    if parts is None:
        raise NotValid
    expires_at = datetime.fromtimestamp(int(parts["expires"]), UTC)
    if expires_at <= now:
        raise Expired
    if expires_at > now + LONGEST + AHEAD:
        raise TooLong
    secret = InboxSecret.called(parts["secret"], now=now)
    if secret is None or not _is_signed(token, secret):
        raise NotValid
    return TokenOwner(secret.project, _person(parts["person"]), expires_at, secret.name)


def _is_signed(token: str, secret: InboxSecret) -> bool:
    signed, _, signature = token.rpartition(".")
    try:
        right = _signature(secret.open(), signed)
    except WrongKey:
        return False
    return hmac.compare_digest(right.encode(), signature.encode())


def _signature(secret: str, signed: str) -> str:
    return _text(hmac.digest(secret.encode(), signed.encode(), "sha256"))


def _person(text: str) -> str:
    """Decode the external id. A backend may have signed one that is not valid."""
    try:
        external_id = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
        validate_external_id(external_id)
    except (ValueError, ValidationError) as error:
        raise NotValid from error
    return external_id


def _text(value: bytes) -> str:
    return urlsafe_b64encode(value).decode().rstrip("=")
