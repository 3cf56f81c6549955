"""Authentication by API key as a bearer token. `config/doors.py` says what each key may do."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from notifications.requests import origin
from notifications.staff.api_key import ApiKey, digest_of

KEY = re.compile(r"car_[A-Za-z0-9_-]{43}")
USE_NOTED_EVERY = timedelta(minutes=1)
REMEMBERED_SECONDS = 2.0
MAX_REMEMBERED = 1_000
_known: dict[str, tuple[float, ApiKey]] = {}  # by digest of the key


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer car_…`; the key's row becomes `request.auth`."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, ApiKey] | None:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if not header:
            return None
        now = timezone.now()
        key = key_of(header, now, confirmed=_is_confirmed(request))
        if key is None:
            raise no_such_key()
        note_use(key, now)
        origin.set_program(f"key:{key.prefix}")
        return AnonymousUser(), key

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="carillon"'


def _is_confirmed(request: Request) -> bool:
    """Whether the view's own SQL statement checks the key again. A replay by Idempotency-Key does
    not run that statement."""
    view: Any = (request.parser_context or {}).get("view")
    confirmed = getattr(view, "confirms", ())
    return request.method in confirmed and "Idempotency-Key" not in request.headers


def key_of(header: str, now: datetime, *, confirmed: bool) -> ApiKey | None:
    """Return the key in the header if it is valid. `confirmed`: the view itself checks it again."""
    kind, value = split_header(header)
    if kind.lower() != "bearer" or not KEY.fullmatch(value):
        return None
    return _cached_key(value, now) if confirmed else ApiKey.find_valid(value, now=now)


def is_remembered(header: str) -> bool:
    """Whether the header's key was valid in this process some time ago. This asks no database."""
    return digest_of(split_header(header)[1]) in _known


def _cached_key(value: str, now: datetime) -> ApiKey | None:
    """Return the key as it was up to REMEMBERED_SECONDS ago.

    This is for views whose own SQL statement checks the key again when it changes something. See
    `staff.access.CONFIRMED`.
    """
    found_at, key = _known.get(digest_of(value), (0.0, None))
    if key is None or time.monotonic() - found_at > REMEMBERED_SECONDS:
        key = ApiKey.find_valid(value, now=now)
        if len(_known) >= MAX_REMEMBERED:
            _known.clear()
        if key is not None:
            _known[key.digest] = (time.monotonic(), key)
        else:
            _known.pop(digest_of(value), None)
    return key


def forget(key: ApiKey) -> None:
    _known.pop(key.digest, None)


def no_such_key() -> AuthenticationFailed:
    """Return the one error for every bad key: it must not show which keys exist or existed."""
    return AuthenticationFailed("This API key is unknown, expired or revoked.")


def split_header(header: str) -> tuple[str, str]:
    """Split the header into scheme and value. Any number of spaces may separate or follow them."""
    kind, _, value = header.partition(" ")
    return kind, value.strip()


def note_use(key: ApiKey, now: datetime) -> None:
    """Record that the key was used, at most once a minute. That is enough to find forgotten keys,
    and spares most requests an UPDATE."""
    if key.last_used_at and key.last_used_at > now - USE_NOTED_EVERY:
        return
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lte=now - USE_NOTED_EVERY)
    ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=now)
    key.last_used_at = now  # the row may be one that `_known` holds
