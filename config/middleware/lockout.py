"""Middleware: shows the lock-out page after too many wrong guesses, and marks known browsers."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from notifications.admin import locked_out
from notifications.staff import known_browser
from notifications.staff.login_throttle import LockedOut


class Guard:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        known_browser.remember(request, response)
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return locked_out.page(request, error) if isinstance(error, LockedOut) else None
