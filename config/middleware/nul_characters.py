"""Middleware: removes NUL characters from what a page sends.

PostgreSQL can neither store one nor search for one, so every view that reads an address or a form
would have to refuse it. Nobody types one: it comes with a paste, or from an attacker. The API,
which programs call, refuses it with an error text instead.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, QueryDict

from config.middleware.language import FOR_PEOPLE

NUL = "\x00"


class StripNulCharacters:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith(FOR_PEOPLE):
            request.GET = without_nul(request.GET)  # type: ignore[assignment]  # as Django's own
            request.POST = without_nul(request.POST)  # type: ignore[assignment]
        return self.get_response(request)


def without_nul(given: QueryDict) -> QueryDict:
    """A copy without NUL characters; the same object if there are none."""
    pairs = [(name, value) for name, values in given.lists() for value in values]
    if not any(NUL in text for pair in pairs for text in pair):
        return given
    clean = QueryDict(mutable=True, encoding=given.encoding)
    for name, value in pairs:
        clean.appendlist(name.replace(NUL, ""), value.replace(NUL, ""))
    return clean
