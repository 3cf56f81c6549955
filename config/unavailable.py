"""The page for an error: 503 when the database is in trouble, whatever else the error is called."""

from __future__ import annotations

import sys

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.defaults import bad_request, server_error

from notifications.outage import DATABASE_TROUBLE

AGAIN_IN = "5"  # seconds


def error(request: HttpRequest) -> HttpResponse:
    """Django's `handler500`, called while the error is handled. It asks the database nothing."""
    return _unavailable() if _is_the_databases(sys.exc_info()[1]) else server_error(request)


def refusal(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's `handler400`: it says of a session that cannot be written that it was deleted."""
    return _unavailable() if _is_the_databases(exception) else bad_request(request, exception)


def _unavailable() -> HttpResponse:
    return HttpResponse(render_to_string("503.html"), status=503, headers={"Retry-After": AGAIN_IN})


def _is_the_databases(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, DATABASE_TROUBLE):
            return True
        error = error.__cause__ or error.__context__
    return False
