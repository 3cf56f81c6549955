"""Middleware: answers three addresses for machines, before all else and under any host name.

Kubernetes and Prometheus call by an IP address or a service's name, which ALLOWED_HOSTS cannot
know. No answer here builds a link from that name. This module also decides who may read the
metrics, because they show how much is sent.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from http import HTTPStatus
from secrets import compare_digest

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from django.http.request import split_domain_port, validate_host
from django.utils import translation

from config.health import health
from notifications.requests.origin import INSIDE

FORWARDED = ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via")


class Probes:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = ANSWERS.get(request.path_info)
        if answer is not None:
            with translation.override(settings.LANGUAGE_CODE):
                return answer(request)
        if INSIDE in request.META:
            return HttpResponseNotFound(f"Only {', '.join(ANSWERS)} are here.\n")
        return self.get_response(request)


def metrics(request: HttpRequest) -> HttpResponse:
    if INSIDE in request.META or _is_authorised(request) or _is_at_the_keyboard(request):
        return health.metrics(request)
    if settings.METRICS_TOKEN:
        status, text = HTTPStatus.UNAUTHORIZED, "Send METRICS_TOKEN: “Authorization: Bearer …”."
    elif settings.METRICS_PORT:
        status, text = HTTPStatus.FORBIDDEN, f"Port {settings.METRICS_PORT} has the numbers."
    else:
        status, text = HTTPStatus.FORBIDDEN, "Set METRICS_PORT, or METRICS_TOKEN, to scrape this."
    refusal = HttpResponse(f"{text}\n", status=status, content_type="text/plain; charset=utf-8")
    if status == HTTPStatus.UNAUTHORIZED:
        refusal.headers["WWW-Authenticate"] = "Bearer"
    return refusal


def _is_authorised(request: HttpRequest) -> bool:
    if not settings.METRICS_TOKEN:
        return False
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    is_right = compare_digest(token.encode(), settings.METRICS_TOKEN.encode())
    return is_right and scheme.lower() == "bearer"


def _is_at_the_keyboard(request: HttpRequest) -> bool:
    """Whether the caller is on this machine, with `make run`.

    Where SERVED, a proxy on this machine calls from the same address.
    """
    if settings.SERVED or settings.METRICS_TOKEN:
        return False
    if any(name in request.headers for name in FORWARDED):
        return False
    return _is_loopback(request.META.get("REMOTE_ADDR", "")) and _is_called_by_our_name(request)


def _is_called_by_our_name(request: HttpRequest) -> bool:
    """Whether the Host header is ours.

    A foreign web page can point its own name here, and then its browser calls from this machine.
    """
    ours = ["localhost", *settings.ALLOWED_HOSTS]
    name, _ = split_domain_port(request.META.get("HTTP_HOST", request.META["SERVER_NAME"]))
    return _is_loopback(name.strip("[]")) or validate_host(name, ours)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


ANSWERS: dict[str, Callable[[HttpRequest], HttpResponse]] = {
    "/healthz": health.healthz,
    "/readyz": health.readyz,
    "/metrics": metrics,
}
