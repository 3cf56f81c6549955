"""The token endpoint: a signed assertion in, an opaque token for one project out.

Tokens are sealed with a secret of this start, so that a process knows one that another process
issued, while a restart turns every one into an expired one and a sender must refresh, exactly as
when Google revokes a token.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding

from emulator.google import answers
from emulator.google.envelopes import Refused
from emulator.http.replies import Reply, json_reply
from emulator.service.account import ServiceAccount
from emulator.settings import Settings
from emulator.witness.counts import Counts

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"
# google-auth signs for Google's own endpoint even when it posts elsewhere.
GOOGLE_AUDIENCE = "https://oauth2.googleapis.com/token"
OLD_AUDIENCE = "https://www.googleapis.com/oauth2/v4/token"
SCOPES = "https://www.googleapis.com/auth/"
READING_SCOPES = {f"{SCOPES}cloud-platform"}  # of the Data API
SENDING_SCOPES = {f"{SCOPES}firebase.messaging", *READING_SCOPES}
LONGEST_ASSERTION_SECONDS = 3600
CLOCK_SKEW_SECONDS = 60
# Google's tokens are about 1 kB, which every request of a sender carries and pays for.
TOKEN_BYTES = 660
UNTIMELY = (
    "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
    "Check your iat and exp values in the JWT claim."
)


class Rejected(Exception):
    """No token for this assertion; OAuth's error code and Google's explanation."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(error, description)
        self.error, self.description = error, description


@dataclass(frozen=True, slots=True)
class Grant:
    """What one issued token allows."""

    project: str
    may_send: bool
    may_read: bool  # the Data API
    expires_at: float
    revocations: int  # before it was issued


class TokenDesk:
    def __init__(
        self, accounts: tuple[ServiceAccount, ...], *, counts: Counts, settings: Settings
    ) -> None:
        self._accounts = {account.email: account for account in accounts}
        self._secret = secrets.token_bytes(32)
        self._revocations = 0
        self._issued = 0
        self._counts = counts
        self._settings = settings
        # By the whole Authorization header: the lookup of every single send.
        self._grants: dict[bytes, Grant] = {}

    def issue(self, form: bytes, *, now: float) -> Reply:
        self._counts.token_requests += 1
        try:
            account, claims = _claims_of(form, self._accounts)
            scopes = _judge(claims, account, now=now)
        except Rejected as rejected:
            return json_reply(
                {"error": rejected.error, "error_description": rejected.description}, status=400
            )
        self._counts.tokens_issued += 1
        return json_reply(
            {
                "access_token": self._grant(account.project, scopes, now=now),
                "expires_in": int(self._settings.token_seconds),
                "token_type": "Bearer",
            }
        )

    def refuse(self) -> None:
        """A request that a fault keeps from being judged was one all the same."""
        self._counts.token_requests += 1

    def admit(
        self, authorization: bytes, *, project: str, now: float, to_read: bool = False
    ) -> None:
        """May this caller send for this project, or read its figures? Refused if not."""
        if not authorization:
            raise Refused(answers.CREDENTIALS_MISSING)
        grant = self._grants.get(authorization) or self._recognise(authorization, now=now)
        if grant is None or grant.expires_at <= now:
            raise Refused(answers.ACCESS_TOKEN_EXPIRED)
        if not (grant.may_read if to_read else grant.may_send):
            raise Refused(answers.SCOPE_INSUFFICIENT)
        if grant.project != project:
            raise Refused(answers.permission_denied(project))

    def revoke_all(self) -> int:
        """Forget every token, as a revocation does; the number issued here and forgotten."""
        revoked, self._issued = self._issued, 0
        self._revocations += 1
        self._grants.clear()
        return revoked

    def _grant(self, project: str, scopes: set[str], *, now: float) -> str:
        self._grants = {key: grant for key, grant in self._grants.items() if grant.expires_at > now}
        grant = Grant(
            project=project,
            may_send=bool(scopes & SENDING_SCOPES),
            may_read=bool(scopes & READING_SCOPES),
            expires_at=now + self._settings.token_seconds,
            revocations=self._revocations,
        )
        content = base64.urlsafe_b64encode(orjson.dumps(grant)).decode().rstrip("=")
        token = f"ya29.c.{content}.{secrets.token_urlsafe(TOKEN_BYTES)}"
        token = f"{token}.{self._seal(token.encode())}"
        self._grants[f"Bearer {token}".encode()] = grant
        self._issued += 1
        return token

    def _recognise(self, authorization: bytes, *, now: float) -> Grant | None:
        """The grant of a token that another process of this emulator issued."""
        token, _, seal = authorization.removeprefix(b"Bearer ").rpartition(b".")
        if not hmac.compare_digest(seal, self._seal(token).encode()):
            return None
        grant = Grant(**orjson.loads(_from_base64(token.split(b".")[2].decode())))
        if grant.revocations != self._revocations:
            return None
        self._grants[authorization] = grant
        return grant

    def _seal(self, token: bytes) -> str:
        return hmac.new(self._secret, token, hashlib.sha256).hexdigest()


def _judge(claims: dict[str, Any], account: ServiceAccount, *, now: float) -> set[str]:
    """The scopes these claims ask for; Rejected if the claims are not worth a token."""
    if claims.get("aud") not in (GOOGLE_AUDIENCE, OLD_AUDIENCE, account.token_uri):
        raise Rejected(
            "invalid_grant",
            f"Invalid JWT: Failed audience check. The right audience is {GOOGLE_AUDIENCE}",
        )
    if not _is_timely(claims.get("iat"), claims.get("exp"), now=now):
        raise Rejected("invalid_grant", UNTIMELY)
    scopes = set(str(claims.get("scope", "")).split())
    if not scopes or not all(scope.startswith(SCOPES) for scope in scopes):
        raise Rejected("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
    return scopes


def _claims_of(
    form: bytes, accounts: dict[str, ServiceAccount]
) -> tuple[ServiceAccount, dict[str, Any]]:
    """Whose assertion was posted and its claims, once its signature is found to be theirs."""
    fields = parse_qs(form.decode("ascii", "replace"))
    if fields.get("grant_type") != [GRANT_TYPE]:
        raise Rejected("unsupported_grant_type", f"Invalid grant_type; use {GRANT_TYPE}")
    if "assertion" not in fields:
        raise Rejected("invalid_request", "Missing required parameter: assertion")
    header, claims, signature, signed = _decode(fields["assertion"][0])
    account = accounts.get(str(claims.get("iss")))
    if account is None:
        raise Rejected("invalid_grant", "Invalid grant: account not found")
    if header.get("alg") != "RS256" or header.get("kid", account.key_id) != account.key_id:
        raise Rejected("invalid_grant", "Invalid JWT Signature.")
    try:
        account.key.verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        raise Rejected("invalid_grant", "Invalid JWT Signature.") from None
    return account, claims


def _decode(assertion: str) -> tuple[dict[str, Any], dict[str, Any], bytes, bytes]:
    """Header, claims, signature and the bytes that were signed."""
    try:
        header, claims, signature = assertion.split(".")
        documents = [orjson.loads(_from_base64(part)) for part in (header, claims)]
        if not all(isinstance(document, dict) for document in documents):
            raise ValueError("not JSON objects")
        return documents[0], documents[1], _from_base64(signature), f"{header}.{claims}".encode()
    except ValueError:
        raise Rejected("invalid_grant", "Invalid JWT: it cannot be decoded.") from None


def _from_base64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _is_timely(issued: Any, expires: Any, *, now: float) -> bool:
    if not all(type(moment) in (int, float) for moment in (issued, expires)):
        return False
    return bool(
        0 < expires - issued <= LONGEST_ASSERTION_SECONDS
        and issued <= now + CLOCK_SKEW_SECONDS
        and now - CLOCK_SKEW_SECONDS < expires
    )
