"""Traces of requests: each is a span, in the trace that the caller's `traceparent` names."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from notifications.requests import request_id
from notifications.tracing import tracing

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
# A route with a regular expression catches unknown addresses, so its pattern is no useful name.
NO_ROUTE = re.compile(r"[\^$(]")


class Traced:
    """Middleware, installed only if traces are wanted.

    A span names the route and not the address, which may name a person.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        carried = {tracing.PARENT: request.META.get("HTTP_TRACEPARENT", "")}
        method = request.method if request.method in METHODS else "_OTHER"
        attributes = {"http.request.method": method, "request_id": request_id.current()}
        with tracing.span(str(method), "server", carried=carried, **attributes) as span:
            request.META[tracing.IN_META] = span.place
            response = self.get_response(request)
            route = request.resolver_match.route if request.resolver_match else ""
            if route and not NO_ROUTE.search(route):
                span.rename(f"{method} {route}")
                span.tell(**{"http.route": route})
            span.tell(**{"http.response.status_code": response.status_code})
        return response
