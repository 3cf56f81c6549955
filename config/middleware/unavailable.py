"""Error pages and API problems: 503 when the database is in trouble, whatever the error's type."""

from __future__ import annotations

import sys

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.defaults import bad_request, server_error

from notifications.api.base import problems
from notifications.postgres.outage import DATABASE_TROUBLE

AGAIN_IN = "5"  # seconds
FOR_PROGRAMS = "/api/"


def error(request: HttpRequest) -> HttpResponse:
    """Django's `handler500`, called while the error is handled. It asks the database nothing."""
    if _is_database_trouble(sys.exc_info()[1]):
        return _render_unavailable(request)
    return problems.outside(problems.ours()) if _is_program_call(request) else server_error(request)


def refusal(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's `handler400`. Django reports a session that cannot be written as a deleted one."""
    if _is_database_trouble(exception):
        return _render_unavailable(request)
    if _is_program_call(request):
        return problems.outside(problems.not_taken(exception))
    return bad_request(request, exception)


def _render_unavailable(request: HttpRequest) -> HttpResponse:
    if _is_program_call(request):
        return problems.outside(problems.away())
    page = render_to_string("503.html")
    return HttpResponse(page, status=503, headers={"Retry-After": AGAIN_IN})


def _is_program_call(request: HttpRequest) -> bool:
    return request.path.startswith(FOR_PROGRAMS)


def _is_database_trouble(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, DATABASE_TROUBLE):
            return True
        error = error.__cause__ or error.__context__
    return False
