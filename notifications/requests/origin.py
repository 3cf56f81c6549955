"""Request origin: address and API key, for the audit trail, lockouts and rate limits."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from contextvars import ContextVar
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse

# Keys of the WSGI environment, which no header can set. The request came to the internal port.
INSIDE = "carillon.inside"
# The request came to the feed, which keeps streams open.
FEED = "carillon.feed"

_address: ContextVar[str | None] = ContextVar("address", default=None)
_program: ContextVar[str] = ContextVar("program", default="carillon")


def address() -> str | None:
    """Return the client's address in the current request. None outside of one, as in a command or a
    worker."""
    return _address.get()


def program() -> str:
    """Return the API key of the current request, as the audit trail names it."""
    return _program.get()


def set_program(name: str) -> None:
    """Set the API key until the request is answered."""
    _program.set(name)


def address_of(request: HttpRequest, *_: object) -> str | None:
    """Return the client's address. Behind PROXIES proxies of ours, it is the last address in
    X-Forwarded-For that is not one of ours. Clients can forge all addresses to the left of it."""
    forwarded = request.headers.get("X-Forwarded-For", "")
    return address_from(forwarded, request.META.get("REMOTE_ADDR", ""))


def address_from(forwarded: str, peer: str) -> str | None:
    """Return the client's address from X-Forwarded-For and the socket's peer."""
    named = [*filter(None, (forwarded if settings.PROXIES else "").split(",")), peer]
    address_text = named[-1 - settings.PROXIES] if len(named) > settings.PROXIES else named[0]
    try:
        parsed = ipaddress.ip_address(_without_port(address_text.strip()))
    except ValueError:
        return None
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)  # ::ffff:192.0.2.1 is 192.0.2.1


def is_beside(request: HttpRequest, page: str) -> bool:
    """Whether a request to the feed comes from a page on the same host. With `make run`, pages and
    feed have different ports; in production, one proxy serves both."""
    if settings.SERVED or FEED not in request.META:
        return False
    return urlsplit(page).hostname == urlsplit(f"//{request.get_host()}").hostname


def feed_beside(request: HttpRequest) -> str:
    """Return the address of the feed if it differs from the pages': with `make run` it has its own
    port."""
    if settings.FEED_URL or settings.SERVED:
        return str(settings.FEED_URL)
    host = urlsplit(f"//{request.get_host()}").hostname or "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.FEED_PORT}"


def _without_port(host: str) -> str:
    """Remove the port: some load balancers write 203.0.113.9:51234 and [2001:db8::1]:443."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


def neighbourhood(address: str | None) -> str:
    """Return the network of one caller. For IPv6 it is a /64, such as 2001:db8::/64, since a caller
    can change the second half of the address at will."""
    if address is None:
        return "nowhere"
    if ":" not in address:
        return address
    return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))


class Origin:
    """Middleware that remembers the client's address for everything recorded in this request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        address, program = _address.set(address_of(request)), _program.set(_program.get())
        try:
            return self.get_response(request)
        finally:
            _address.reset(address)
            _program.reset(program)
