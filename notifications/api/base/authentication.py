"""Who is calling: an API key as a bearer token. What it may do, `config/doors.py` says."""

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
from notifications.staff.access import ApiKey, digest_of

KEY = re.compile(r"car_[A-Za-z0-9_-]{43}")
USE_NOTED_EVERY = timedelta(minutes=1)
REMEMBERED_SECONDS = 2.0
MOST_REMEMBERED = 1_000
_known: dict[str, tuple[float, ApiKey]] = {}  # by digest


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
        origin.is_program(f"key:{key.prefix}")
        return AnonymousUser(), key

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="carillon"'


def _is_confirmed(request: Request) -> bool:
    """Whether the door asks itself. What is answered again, under an Idempotency-Key, is not."""
    view: Any = (request.parser_context or {}).get("view")
    confirmed = getattr(view, "confirms", ())
    return request.method in confirmed and "Idempotency-Key" not in request.headers


def key_of(header: str, now: datetime, *, confirmed: bool) -> ApiKey | None:
    """What the header shows, if it may be used. `confirmed`: the door itself asks once more."""
    kind, value = shown(header)
    if kind.lower() != "bearer" or not KEY.fullmatch(value):
        return None
    return _remembered(value, now) if confirmed else ApiKey.of(value, now=now)


def is_remembered(header: str) -> bool:
    """Whether what it shows was a key here some time ago. Nobody is asked for that."""
    return digest_of(shown(header)[1]) in _known


def _remembered(value: str, now: datetime) -> ApiKey | None:
    """As it was found up to some seconds ago: for doors whose own statement asks once more whether
    the key may be used, in the moment in which it does something. See `staff.access.CONFIRMED`."""
    found_at, key = _known.get(digest_of(value), (0.0, None))
    if key is None or time.monotonic() - found_at > REMEMBERED_SECONDS:
        key = ApiKey.of(value, now=now)
        if len(_known) >= MOST_REMEMBERED:
            _known.clear()
        if key is not None:
            _known[key.digest] = (time.monotonic(), key)
        else:
            _known.pop(digest_of(value), None)
    return key


def forget(key: ApiKey) -> None:
    _known.pop(key.digest, None)


def no_such_key() -> AuthenticationFailed:
    """One answer for every bad key: which of them exist, or existed, is nobody's business."""
    return AuthenticationFailed("This API key is unknown, expired or revoked.")


def shown(header: str) -> tuple[str, str]:
    """What kind of thing, and the thing: any number of spaces may stand between and behind."""
    kind, _, value = header.partition(" ")
    return kind, value.strip()


def note_use(key: ApiKey, now: datetime) -> None:
    """Once a minute is enough to find forgotten keys, and spares every request an UPDATE."""
    if key.last_used_at and key.last_used_at > now - USE_NOTED_EVERY:
        return
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lte=now - USE_NOTED_EVERY)
    ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=now)
    key.last_used_at = now  # it may be remembered
