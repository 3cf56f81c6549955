"""Where a request comes from: for the audit trail, the lock against guessing, the rate limits."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from contextvars import ContextVar
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse

# Of the WSGI environment, where no header gets to: it came by the port for one's own network.
INSIDE = "carillon.inside"
# And here: it came to the feed, which keeps a stream open.
FEED = "carillon.feed"

_address: ContextVar[str | None] = ContextVar("address", default=None)
_program: ContextVar[str] = ContextVar("program", default="carillon")


def address() -> str | None:
    """Of the request being answered; None outside of one, as in a command or a worker."""
    return _address.get()


def program() -> str:
    """The API key at work, as the audit trail names it."""
    return _program.get()


def is_program(name: str) -> None:
    """Until the answer is given."""
    _program.set(name)


def address_of(request: HttpRequest, *_: object) -> str | None:
    """The caller's address. Behind proxies of ours (PROXIES of them) the last of them that is not
    ours names it; what stands further left in the header, anybody may have written."""
    forwarded = request.headers.get("X-Forwarded-For", "")
    return address_from(forwarded, request.META.get("REMOTE_ADDR", ""))


def address_from(forwarded: str, peer: str) -> str | None:
    """Likewise, of the header and the other end of the socket."""
    named = [*filter(None, (forwarded if settings.PROXIES else "").split(",")), peer]
    found = named[-1 - settings.PROXIES] if len(named) > settings.PROXIES else named[0]
    try:
        parsed = ipaddress.ip_address(_without_port(found.strip()))
    except ValueError:
        return None
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)  # ::ffff:192.0.2.1 is 192.0.2.1


def is_beside(request: HttpRequest, page: str) -> bool:
    """With `make run` its pages stand at another port than its feed; served, one proxy has both."""
    if settings.SERVED or FEED not in request.META:
        return False
    return urlsplit(page).hostname == urlsplit(f"//{request.get_host()}").hostname


def feed_beside(request: HttpRequest) -> str:
    """Where the streams are, if not where the pages are: with `make run` at another port."""
    if settings.FEED_URL or settings.SERVED:
        return str(settings.FEED_URL)
    host = urlsplit(f"//{request.get_host()}").hostname or "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.FEED_PORT}"


def _without_port(found: str) -> str:
    """Some load balancers write 203.0.113.9:51234 and [2001:db8::1]:443."""
    if found.startswith("["):
        return found[1:].partition("]")[0]
    return found.partition(":")[0] if found.count(":") == 1 else found


def neighbourhood(address: str | None) -> str:
    """What one caller may change at will: of an IPv6 address the second half, as 2001:db8::/64."""
    if address is None:
        return "nowhere"
    if ":" not in address:
        return address
    return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))


class Origin:
    """Middleware: remembers the address for whatever is recorded while answering."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        address, program = _address.set(address_of(request)), _program.set(_program.get())
        try:
            return self.get_response(request)
        finally:
            _address.reset(address)
            _program.reset(program)
