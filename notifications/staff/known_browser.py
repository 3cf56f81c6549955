"""Known browsers: a signed cookie marks a browser in which a person has logged in before.

The cookie gives no access. It only gives the owner's browser attempts of its own
(`login_throttle.py`), so that attackers who guess lock out only themselves. OWASP calls it a device
cookie. A new password or second factor invalidates the cookies of that person: someone who knew the
old ones may have collected some.
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
MAX_PEOPLE = 5  # of one browser; then it forgets the one whose last log-in is longest ago


def id_of(request: HttpRequest, user: User | None) -> str:
    """Return the browser's id if this person has logged in there, else an empty text."""
    mark = _read_cookie(request)
    return mark["id"] if user and mark["people"] and _name(user) in mark["people"] else ""


def let_in(request: Any, user: User) -> None:
    """Mark the browser as known. Call it only after password and code: one of the two must not give
    more tries."""
    request.let_in = user


def remember(request: Any, response: HttpResponse) -> None:
    user = getattr(request, "let_in", None)
    if user is None:
        return
    mark = _read_cookie(request)
    name = _name(user)
    people = [other for other in mark["people"] if other != name][: MAX_PEOPLE - 1]
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
    """Return a person's name in marks. It changes with the password and the second factor."""
    factor = second_factor.device_of(user)
    parts = (user.pk, user.password, factor and factor.pk)
    return salted_hmac(COOKIE, repr(parts), algorithm="sha256").hexdigest()[:32]


def _read_cookie(request: HttpRequest) -> dict[str, Any]:
    try:
        mark: dict[str, Any] = signing.loads(
            request.COOKIES.get(COOKIE, ""), salt=COOKIE, max_age=AGE
        )
    except signing.BadSignature:
        mark = {"id": secrets.token_urlsafe(16), "people": []}
    return mark
