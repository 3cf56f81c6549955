"""Service accounts and the OAuth tokens they mint.

The account's key is encrypted at rest; the key that opens it lives in the environment, not in the
database. A process keeps one token per account and refreshes it once, whoever asks.
"""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
import os
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from google.auth import exceptions, transport
from google.oauth2 import service_account

from notifications.gateway import BadCredentials
from notifications.project import Project

SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
MINT_AGAIN_SECONDS = 5.0
REFRESH_AT = 0.8  # of a token's life: the old one still works while the new one is fetched
MAX_TEXT = 10_000
REQUIRED = ("project_id", "client_email", "private_key", "private_key_id", "token_uri")


class ServiceAccount(models.Model):
    """With whose key does this project speak to FCM?"""

    project = models.OneToOneField(
        Project, on_delete=models.CASCADE, related_name="service_account"
    )
    client_email = models.TextField()
    sealed = models.BinaryField(editable=False)
    sealed_with = models.CharField(max_length=8, editable=False, help_text="Id of the sealing key.")
    stored_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.client_email

    @classmethod
    def store(cls, project: Project, info: Mapping[str, Any]) -> ServiceAccount:
        """Check and encrypt a service account's JSON. Replaces the project's earlier one."""
        check(info, project)
        nonce = os.urandom(12)
        sealed = nonce + AESGCM(_sealing_key()).encrypt(
            nonce, json.dumps(dict(info)).encode(), str(project.pk).encode()
        )
        account, _ = cls.objects.update_or_create(
            project=project,
            defaults={
                "client_email": info["client_email"],
                "sealed": sealed,
                "sealed_with": _sealing_key_id(),
            },
        )
        return account

    def open(self) -> dict[str, Any]:
        sealed = bytes(self.sealed)
        try:
            text = AESGCM(_sealing_key()).decrypt(
                sealed[:12], sealed[12:], str(self.project_id).encode()
            )
        except InvalidTag as error:
            raise BadCredentials(
                "The service account was encrypted with another CREDENTIALS_KEY "
                f"(id {self.sealed_with}, ours is {_sealing_key_id()}). Restore it or upload again."
            ) from error
        return dict(json.loads(text))


def _sealing_key() -> bytes:
    return hashlib.sha256(settings.CREDENTIALS_KEY.encode()).digest()


def _sealing_key_id() -> str:
    return hashlib.sha256(b"id:" + _sealing_key()).hexdigest()[:8]


def check(info: Mapping[str, Any], project: Project) -> None:
    """Refuse a file that cannot work, naming the field and the fix."""
    if missing := [name for name in REQUIRED if not _is_text(info.get(name))]:
        raise ValidationError(f"Not a service account's JSON: {', '.join(missing)} missing.")
    if info["project_id"] != project.firebase_project_id:
        raise ValidationError(
            f"project_id: this key belongs to “{info['project_id']}”, "
            f"the project sends as “{project.firebase_project_id}”."
        )
    # The key is sent wherever token_uri points: only ever to Google or to our own stand-in.
    allowed = {settings.GOOGLE_TOKEN_URI, settings.FCM_TOKEN_URI}
    if info["token_uri"] not in allowed:
        raise ValidationError(f"token_uri: must be {' or '.join(sorted(allowed))}.")
    try:
        service_account.Credentials.from_service_account_info(dict(info))
    except (ValueError, exceptions.GoogleAuthError) as error:
        raise ValidationError("private_key: is not a key we can read; was it cut short?") from error


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_TEXT


class AccessTokens:
    """The OAuth token of one account in one process: minted once, shared by every request."""

    def __init__(self, info: Mapping[str, Any], *, ca_file: str | None) -> None:
        self._credentials = service_account.Credentials.from_service_account_info(
            dict(info), scopes=[SCOPE]
        )
        self._request = _Request(ca_file)
        self._token = ""
        self._refresh_at = self._expires_at = self._mint_again_at = 0.0
        self._minting = asyncio.Lock()

    async def current(self) -> str:
        now = time.monotonic()
        if now < self._refresh_at or (self._minting.locked() and now < self._expires_at):
            return self._token
        async with self._minting:  # the first to come mints; the others find it done
            if time.monotonic() >= self._refresh_at:
                await asyncio.get_running_loop().run_in_executor(None, self._renew)
        return self._token

    def reject(self, token: str) -> None:
        """FCM refused this token. Of 500 requests that carried it, one's word is enough."""
        if token == self._token:
            self._refresh_at = self._expires_at = 0.0

    def _renew(self) -> None:
        """Mint; when nobody answers, live on the old token, or let the others fail at once."""
        now = time.monotonic()
        if now < self._mint_again_at:
            raise TokenUnavailable("the token endpoint did not answer a moment ago")
        try:
            self._mint()
        except TokenUnavailable:
            self._mint_again_at = time.monotonic() + MINT_AGAIN_SECONDS
            if now >= self._expires_at:
                raise
            self._refresh_at = self._mint_again_at

    def _mint(self) -> None:
        try:
            self._credentials.refresh(self._request)
        except exceptions.RefreshError as error:
            if error.retryable:
                raise TokenUnavailable(str(error)) from error
            raise BadCredentials(_in_plain_words(error)) from error
        except exceptions.TransportError as error:
            raise TokenUnavailable(str(error)) from error
        # google-auth keeps the expiry as a naive time in UTC.
        life = self._credentials.expiry.replace(tzinfo=UTC) - datetime.now(UTC)
        self._token = str(self._credentials.token)
        self._refresh_at = time.monotonic() + life.total_seconds() * REFRESH_AT
        self._expires_at = time.monotonic() + life.total_seconds() - 10


class TokenUnavailable(Exception):
    """The token endpoint did not answer. Nothing was sent; later it may work."""


def _in_plain_words(error: exceptions.RefreshError) -> str:
    if "invalid_grant" in str(error):
        return (
            "Google refused the service account (invalid_grant): its key was deleted or revoked, "
            "or this machine's clock is wrong."
        )
    return f"Google refused the service account: {error.args[0] if error.args else error}"


class _Answer(transport.Response):
    def __init__(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
        self._status, self._headers, self._data = status, headers, data

    @property
    def status(self) -> int:
        return self._status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._headers

    @property
    def data(self) -> bytes:
        return self._data


class _Request(transport.Request):
    """google-auth's transport over urllib: its own ones want `requests`, for one call an hour."""

    def __init__(self, ca_file: str | None) -> None:
        self._tls = ssl.create_default_context(cafile=ca_file)

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_: Any,
    ) -> _Answer:
        request = urllib.request.Request(url, body, dict(headers or {}), method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout or 10, context=self._tls) as reply:
                return _Answer(reply.status, dict(reply.headers), reply.read())
        except urllib.error.HTTPError as error:
            return _Answer(error.code, dict(error.headers), _rest_of(error))
        except (OSError, http.client.HTTPException) as error:
            raise exceptions.TransportError(str(error)) from error


def _rest_of(error: urllib.error.HTTPError) -> bytes:
    try:
        return error.read()
    except (OSError, http.client.HTTPException):
        return b""
