"""Session end: after a day's work, and sooner when nobody clicks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import SESSION_KEY, logout
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect

from notifications.admin.ui import safe_redirect
from notifications.staff.login_signals import BEGAN

SEEN = "seen_at"
NOTED_EVERY = 60  # seconds: the session is written once a minute, not at each click


class Idle:
    """Middleware: logs a person out of an old or idle session, and says which it was.

    Idle means SESSION_IDLE_SECONDS without a click. Old means SESSION_COOKIE_AGE after the log-in.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> HttpResponse:
        if SESSION_KEY in request.session:
            _end_or_note_session(request)
        return _redirect_whole_page(request, self.get_response(request))


def _end_or_note_session(request: Any) -> None:
    now = int(time.time())
    ended = _why_ended(request, now)
    if ended:
        logout(request)
        messages.info(request, ended)
        return
    # Each save extends the session's row and its cookie, so the session notes when it began.
    request.session.setdefault(BEGAN, now)
    seen_at = request.session.get(SEEN)
    if not _is_refresh(request) and (seen_at is None or now - seen_at >= NOTED_EVERY):
        request.session[SEEN] = now


def _why_ended(request: Any, now: int) -> str:
    """The reason for the log-out; empty while the session goes on."""
    session = request.session
    began_at, seen_at = session.get(BEGAN, now), session.get(SEEN, now)
    if not request.user.is_authenticated:
        if SESSION_KEY in session:
            return _("You were logged out because your account was switched off. Ask an owner.")
        # Django has emptied the session, because it was made with an earlier password.
        return _("You were logged out because your password was changed. Please log in.")
    if now - began_at >= settings.SESSION_COOKIE_AGE:
        hours = settings.SESSION_COOKIE_AGE // 3600
        return _("You were logged out: a session lasts %(hours)s hours. Please log in.") % {
            "hours": hours
        }
    if now - seen_at > settings.SESSION_IDLE_SECONDS:
        return _("You were logged out because nothing was clicked for long. Please log in.")
    return ""


def _is_refresh(request: Any) -> bool:
    """Whether a page refreshed itself, which does not count as a click."""
    return request.method == "GET" and bool(request.htmx)


def _redirect_whole_page(request: Any, response: HttpResponse) -> HttpResponse:
    """Send the whole page to the log-in, not only the part of a live page that was refreshed."""
    login = reverse("admin:login")
    if not (request.htmx and response.headers.get("Location", "").startswith(login)):
        return response
    query = QueryDict(mutable=True)
    query["next"] = safe_redirect.page_open(request)
    return HttpResponseClientRedirect(f"{login}?{query.urlencode(safe='/')}")
