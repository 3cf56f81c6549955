"""A session ends after a day's work, and sooner when nobody is at the desk."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect

from notifications.admin import onward

SEEN = "seen_at"
NOTED_EVERY = 60  # seconds: one write of the session a minute, not one a click


class Idle:
    """Middleware: after SESSION_IDLE_SECONDS without a click the next one asks to log in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> HttpResponse:
        if SEEN in request.session or request.user.is_authenticated:
            _look(request)
        return _whole_page(request, self.get_response(request))


def _look(request: Any) -> None:
    now, seen = int(time.time()), request.session.get(SEEN)
    if seen is not None and now - seen > settings.SESSION_IDLE_SECONDS:
        logout(request)
        messages.info(
            request, _("You were logged out because nothing was clicked for long. Please log in.")
        )
    elif not _by_itself(request) and (seen is None or now - seen >= NOTED_EVERY):
        request.session[SEEN] = now


def _by_itself(request: Any) -> bool:
    """A page that refreshes itself is nobody at the desk."""
    return request.method == "GET" and bool(request.htmx)


def _whole_page(request: Any, response: HttpResponse) -> HttpResponse:
    """A log-in inside a live page's corner helps nobody: the whole page goes there."""
    login = reverse("admin:login")
    if not (request.htmx and response.headers.get("Location", "").startswith(login)):
        return response
    query = QueryDict(mutable=True)
    query["next"] = onward.page_open(request)
    return HttpResponseClientRedirect(f"{login}?{query.urlencode(safe='/')}")
