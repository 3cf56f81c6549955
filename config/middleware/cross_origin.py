"""Middleware: lets pages of other sites call the API of a person's inbox token (CORS).

A browser asks before it sends the token, so the token's project is still unknown. The answer is yes
if any project allows the page's origin. The endpoint then checks the token's own project, and does
nothing for any other page. It never accepts a cookie.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

from notifications.people.origins import is_one
from notifications.people.project import Project
from notifications.requests.origin import is_beside

PLACE = "/api/v1/me/"
ANSWER = {"Access-Control-Expose-Headers": "Retry-After, X-Request-ID"}
PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE",
    "Access-Control-Allow-Headers": "authorization, content-type, last-event-id, x-request-id",
    "Access-Control-Max-Age": "7200",  # the longest a browser takes
}


class CrossOrigin:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(PLACE):
            return self.get_response(request)
        origin, asks = request.headers.get("Origin", ""), _is_preflight(request)
        welcome = is_one(origin) and (is_beside(request, origin) or Project.any_allows(origin))
        response = HttpResponse(status=204) if asks else self.get_response(request)
        patch_vary_headers(response, ["Origin"])
        if welcome:
            headers = {**(PREFLIGHT if asks else ANSWER), "Access-Control-Allow-Origin": origin}
            for name, value in headers.items():
                response[name] = value
        return response


def _is_preflight(request: HttpRequest) -> bool:
    return request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers
