"""Middleware: what came from a page is read without the NUL characters in it.

PostgreSQL can neither store one nor look for one, so each place that reads an address or a form
would have to refuse it. Nobody typed it: a paste brought it along, or somebody tries the doors.
The API, which programs write to, refuses it in words instead.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, QueryDict

from config.middleware.language import FOR_PEOPLE

NUL = "\x00"


class Typed:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith(FOR_PEOPLE):
            request.GET = without_nul(request.GET)  # type: ignore[assignment]  # as Django's own
            request.POST = without_nul(request.POST)  # type: ignore[assignment]
        return self.get_response(request)


def without_nul(given: QueryDict) -> QueryDict:
    """The same one, unless there is something to leave out."""
    pairs = [(name, value) for name, values in given.lists() for value in values]
    if not any(NUL in text for pair in pairs for text in pair):
        return given
    clean = QueryDict(mutable=True, encoding=given.encoding)
    for name, value in pairs:
        clean.appendlist(name.replace(NUL, ""), value.replace(NUL, ""))
    return clean
