"""Log-ins and log-outs: writes them to the audit trail, and ends a user's other sessions.

These are our only signal receivers: Django reports log-ins in no other way.
"""

from __future__ import annotations

import time
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.contrib.sessions.models import Session
from django.dispatch import receiver
from django.utils import timezone

from notifications.requests import origin
from notifications.staff import audit, known_browser, second_factor

BEGAN = "began_at"  # key in the session: when the user logged in


@receiver(user_logged_in)
def on_login(user: Any, request: Any, **_: Any) -> None:
    request.session[BEGAN] = int(time.time())
    wrong = getattr(request, "wrong_guesses", 0)
    _note(user, "logged in", **({"wrong": wrong} if wrong else {}))
    if second_factor.device_of(user) is None:
        known_browser.let_in(request, user)


@receiver(user_logged_out)
def on_logout(user: Any, **_: Any) -> None:
    if user is not None:
        _note(user, "logged out")


def end_others(request: Any) -> None:
    """Delete all other sessions of the current user. Only the session's data says whose it is."""
    own = request.session.session_key
    for session in Session.objects.filter(expire_date__gt=timezone.now()).exclude(pk=own):
        if session.get_decoded().get(SESSION_KEY) == str(request.user.pk):
            session.delete()


def _note(user: Any, action: str, **detail: Any) -> None:
    if origin.address() is not None:  # a session made by a script is no log-in
        name = user.get_username()
        audit.record(f"user:{name}", action, user, project=None, **detail)
