"""Minting: gets OAuth tokens for a key from Google's token endpoint, with google-auth.

All of it blocks, so it runs in an executor's thread. Error texts name what to fix: the key, this
machine's clock, or the network.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import google.auth
from google.auth import exceptions
from google.oauth2 import service_account

from notifications.gateway import BadCredentials
from notifications.keys.attached_account import AttachedAccount
from notifications.keys.token_endpoint import TokenEndpoint

SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"  # all rights of the account
LIFE_SECONDS = 3_600.0  # of a token without an expiry
CLOCK_TOLERANCE = 60.0
NONE_HERE = (
    "This machine has no application default credentials that work. Give it an attached service "
    "account, or the path of a credentials file in GOOGLE_APPLICATION_CREDENTIALS, or upload a key "
    "instead. Google's library said: "
)


class TokenUnavailable(Exception):
    """The token endpoint did not answer. No message was sent; a later try may work."""


class Minted(NamedTuple):
    token: str
    seconds: float


class Minter:
    """Mints tokens with one key. A new key needs a new Minter."""

    def __init__(self, *, ca_file: str | None, scope: str = SCOPE) -> None:
        self._endpoint = TokenEndpoint(ca_file)
        self._scope = scope
        self._loaded: Any = None

    @property
    def name(self) -> str:
        """A name that only processes which may share a token have in common. Raises
        BadCredentials."""
        raise NotImplementedError

    def mint(self) -> Minted:
        """Mint a new token. Raises BadCredentials, or TokenUnavailable if a later try may work."""
        credentials = self._credentials
        try:
            credentials.refresh(self._endpoint)
        except exceptions.RefreshError as error:
            raise self._refusal_of(error) from error
        except exceptions.TransportError as error:
            raise TokenUnavailable(str(error)) from error
        except exceptions.GoogleAuthError as error:
            raise BadCredentials(f"Google's library cannot use this key: {error}"[:500]) from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            # google-auth fails on a 200 without a token, such as a hotel's log-in page.
            words = "the token endpoint answered something that is no token"
            raise TokenUnavailable(words) from error
        return Minted(str(credentials.token), _life(credentials.expiry))

    @property
    def _credentials(self) -> Any:
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    def _load(self) -> Any:
        raise NotImplementedError

    def _refusal_of(self, error: exceptions.RefreshError) -> Exception:
        self._loaded = None  # read the file or the machine's account again: it may be new
        message = str(error.args[0] if error.args else error)[:300]
        silent = isinstance(error.__cause__, exceptions.TransportError)  # of the metadata server
        if error.retryable or self._endpoint.is_busy or silent:
            return TokenUnavailable(message)
        if "invalid_grant" in message:
            return BadCredentials(
                f"Google refused the key (invalid_grant): {self._explain_refusal(message)}"
            )
        return BadCredentials(f"Google refused the key: {message}")

    def _explain_refusal(self, message: str) -> str:
        """Say whether the clock or the key is wrong. The answer's Date header shows it, if there is
        one."""
        ahead = self._endpoint.clock_ahead
        if ahead is None:
            return "it was deleted or revoked, or this machine's clock is wrong."
        if abs(ahead) > CLOCK_TOLERANCE:
            side = "ahead of" if ahead > 0 else "behind"
            return (
                f"this machine's clock is {_duration(abs(ahead))} {side} Google's. "
                "Set it right; the key may well be good."
            )
        return (
            "it was deleted, disabled or revoked. This machine's clock is right. Make a new key in "
            f"the Firebase console. Google said: {message}"
        )


class AccountKey(Minter):
    """Mints with a service account's JSON from the Firebase console."""

    def __init__(self, info: Mapping[str, Any], *, ca_file: str | None, scope: str = SCOPE) -> None:
        super().__init__(ca_file=ca_file, scope=scope)
        self._info = dict(info)

    @property
    def name(self) -> str:
        return _fingerprint(json.dumps(self._info, sort_keys=True))

    def _load(self) -> Any:
        return service_account.Credentials.from_service_account_info(
            self._info, scopes=[self._scope]
        )


class MachineKey(Minter):
    """Mints with application default credentials: those that google-auth finds on this machine."""

    @property
    def name(self) -> str:
        credentials = self._credentials
        known = ("service_account_email", "client_id", "refresh_token", "signer")
        parts = [getattr(credentials, name, "") for name in known]
        parts[-1] = getattr(parts[-1], "key_id", "")
        if not isinstance(credentials, service_account.Credentials):
            # Another machine may have another account with the same name, such as "default".
            parts += [socket.gethostname(), os.environ.get("GOOGLE_APPLICATION_CREDENTIALS", "")]
        return _fingerprint(
            "|".join([type(credentials).__qualname__, *(str(part) for part in parts)])
        )

    def _load(self) -> Any:
        # Ignore the project that google-auth finds: a Project names its own Firebase project.
        try:
            return google.auth.default(scopes=[self._scope])[0]
        except exceptions.GoogleAuthError as error:
            # If the named file cannot be used, using another account would be a surprise.
            named = "GOOGLE_APPLICATION_CREDENTIALS" in os.environ
            attached = None if named else AttachedAccount.detect(self._scope)
            if attached is None:
                raise BadCredentials(NONE_HERE + str(error)[:200]) from error
            return attached


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _life(expiry: datetime | None) -> float:
    """Return the seconds a token has left. google-auth keeps the expiry as a naive time in UTC, by
    our own clock."""
    if expiry is None:
        return LIFE_SECONDS
    return max(0.0, (expiry.replace(tzinfo=UTC) - datetime.now(UTC)).total_seconds())


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    if seconds < 7_200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3_600:.0f} hours" if seconds < 172_800 else f"{seconds / 86_400:.0f} days"
