"""Who is calling: an API key as a bearer token. What it may do, `config/doors.py` says."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from notifications.requests import origin
from notifications.staff.access import ApiKey

KEY = re.compile(r"car_[A-Za-z0-9_-]{43}")
USE_NOTED_EVERY = timedelta(minutes=1)


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer car_…`; the key's row becomes `request.auth`."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, ApiKey] | None:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if not header:
            return None
        kind, value = shown(header)
        now = timezone.now()
        key = ApiKey.of(value, now=now) if KEY.fullmatch(value) else None
        if kind.lower() != "bearer" or key is None:
            # One answer for every bad key: which of them exist, or existed, is nobody's business.
            raise AuthenticationFailed("This API key is unknown, expired or revoked.")
        _note_use(key, now)
        origin.is_program(f"key:{key.prefix}")
        return AnonymousUser(), key

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="carillon"'


def shown(header: str) -> tuple[str, str]:
    """What kind of thing, and the thing: any number of spaces may stand between and behind."""
    kind, _, value = header.partition(" ")
    return kind, value.strip()


def _note_use(key: ApiKey, now: datetime) -> None:
    """Once a minute is enough to find forgotten keys, and spares every request an UPDATE."""
    if key.last_used_at and key.last_used_at > now - USE_NOTED_EVERY:
        return
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lte=now - USE_NOTED_EVERY)
    ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=now)
