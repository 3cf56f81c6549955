"""A browser in which a person has logged in before: a signed mark, out of reach of scripts.

It opens nothing. It only gives its owner's browser tries of its own (`guessing.py`), so that
strangers who guess lock out strangers. OWASP calls it a device cookie. A new password or second
factor ends the marks of that person: whoever had the ones before may have collected some.
"""

from __future__ import annotations

import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.crypto import salted_hmac

from notifications.staff import second_factor

COOKIE = "browser"
AGE = 365 * 24 * 3600
MOST_PEOPLE = 5  # at one browser; the one who has not come for longest is forgotten


def id_of(request: HttpRequest, user: User | None) -> str:
    """The browser's own, if this person has logged in there; else empty."""
    mark = _read(request)
    return mark["id"] if user and mark["people"] and _name(user) in mark["people"] else ""


def let_in(request: Any, user: User) -> None:
    """Once password and code were right: nobody gets more tries by having one of the two."""
    request.let_in = user


def remember(request: Any, response: HttpResponse) -> None:
    user = getattr(request, "let_in", None)
    if user is None:
        return
    mark = _read(request)
    name = _name(user)
    people = [other for other in mark["people"] if other != name][: MOST_PEOPLE - 1]
    response.set_cookie(
        COOKIE,
        signing.dumps({"id": mark["id"], "people": [name, *people]}, salt=COOKIE),
        max_age=AGE,
        path=reverse("admin:index"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _name(user: User) -> str:
    """What a mark calls them, as long as password and second factor stay what they are."""
    factor = second_factor.device_of(user)
    parts = (user.pk, user.password, factor and factor.pk)
    return salted_hmac(COOKIE, repr(parts), algorithm="sha256").hexdigest()[:32]


def _read(request: HttpRequest) -> dict[str, Any]:
    try:
        mark: dict[str, Any] = signing.loads(
            request.COOKIES.get(COOKIE, ""), salt=COOKIE, max_age=AGE
        )
    except signing.BadSignature:
        mark = {"id": secrets.token_urlsafe(16), "people": []}
    return mark
