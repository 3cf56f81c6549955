"""Addresses: where we may call. Checked when an endpoint is saved, and again at each call.

A stranger's URL must not lead into our own network. So the name is resolved once, and every address
it has must be a public one. The connection is made to a checked address, never to the name: a name
that changes in between (DNS rebinding) is of no use. With `OUTGOING_ALLOWED`, an operator allows
hosts and networks of their own.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

LONGEST = 2_048
OWN_MACHINE = ("127.0.0.1", "::1", "localhost")
PORTS = (443, 80)  # with and without TLS
A_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
IP = ipaddress.IPv4Address | ipaddress.IPv6Address

# Refused besides what `is_global` refuses. It has changed between releases of Python, so what
# matters here is listed here.
NOT_PUBLIC = [
    ipaddress.ip_network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
        *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"),
        "168.63.129.16/32",  # Azure's own, for every machine there
        # Within 2000::/3: Teredo and others that carry an IPv4 address inside, documentation.
        *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
]
PUBLIC_IPV6 = ipaddress.ip_network("2000::/3")  # no mapped IPv4, no NAT64, no local, no multicast


@dataclass(frozen=True)
class CallTarget:
    """The parts of a URL that a call needs."""

    host: str
    port: int
    path: str  # with its query
    without_tls: bool = False  # only for our own machine, during development

    @property
    def netloc(self) -> str:
        """The value of the Host header."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == PORTS[self.without_tls] else f"{name}:{self.port}"


class Forbidden(Exception):
    """The URL leads to an address that we must not call."""


def parse(url: str) -> CallTarget:
    """Parse a URL. Raises ValidationError, which says what to write instead."""
    if len(url) > LONGEST:
        raise ValidationError(_("A URL has at most %(most)s characters.") % {"most": "2,048"})
    if not url.isascii() or not url.isprintable() or set(url) & set(' \\"<>^`{|}'):
        raise ValidationError(_("Write the URL in plain ASCII, without spaces."))
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValidationError(_("This is not a URL.")) from None
    _judge(parts, port)
    host = parts.hostname or ""
    query = f"?{parts.query}" if parts.query else ""
    without_tls = parts.scheme == "http"
    return CallTarget(host, port or PORTS[without_tls], f"{parts.path or '/'}{query}", without_tls)


def _judge(parts: SplitResult, port: int | None) -> None:
    own = parts.scheme == "http" and parts.hostname in settings.OUTGOING_ALLOWED.without_tls
    if parts.scheme != "https" and not own:
        raise ValidationError(_needs_tls(parts.hostname or ""))
    if "@" in parts.netloc:
        raise ValidationError(_("The URL must not hold a user name or password."))
    if parts.fragment:
        raise ValidationError(_("Leave out what follows “#”: it is never sent."))
    if port == 0:
        raise ValidationError(_("This is not a URL."))
    host = parts.hostname or ""
    if _as_ip(host) is None and not _is_a_name(host):
        raise ValidationError(
            _("“%(host)s” is not the name of a host. Write it such as hooks.example.com.")
            % {"host": host[:100]}
        )


def _needs_tls(host: str) -> str:
    if settings.SERVED or host not in OWN_MACHINE:
        return _("The URL must begin with https://.")
    return _(
        "The URL must begin with https://. To call your own machine without TLS while you develop, "
        "start Carillon with OUTGOING_ALLOWED=%(place)s."
    ) % {"place": f"http://[{host}]" if ":" in host else f"http://{host}"}


def _is_a_name(host: str) -> bool:
    """Whether the host is a name.

    One with a last label of digits is an address in disguise (decimal, octal or hexadecimal). One
    that ends in a dot is another spelling of the same name.
    """
    last = host.rpartition(".")[2]
    return len(host) <= 253 and bool(A_NAME.fullmatch(host)) and not last[:1].isdigit()


def _as_ip(host: str) -> IP | None:
    """The host as an IP address in its usual spelling, without an interface of ours (%)."""
    if "%" in host:
        return None
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def resolve(place: CallTarget) -> list[str]:
    """The addresses to connect to. Raises OSError if the name is not found, or Forbidden."""
    found = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    # All of them must be allowed: a private address beside a public one is no accident.
    if not addresses or not all(_may_be_called(place, text) for text in addresses):
        raise Forbidden(f"{place.host} is not a public address")
    return addresses


def validate(url: str) -> None:
    """Check a URL when it is saved. Raises ValidationError, also if its name is not found now."""
    place = parse(url)
    try:
        resolve(place)
    except OSError:
        raise ValidationError(
            _("The host “%(host)s” was not found. Check how it is spelled.")
            % {"host": place.host[:100]}
        ) from None
    except Forbidden:
        raise ValidationError(
            _(
                "“%(host)s” is not a public address, so nothing is sent there. For a host of your "
                "own network, an operator adds it to OUTGOING_ALLOWED."
            )
            % {"host": place.host[:100]}
        ) from None


def _may_be_called(place: CallTarget, text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    if place.without_tls:
        return address.is_loopback
    if place.host in settings.OUTGOING_ALLOWED.hosts:
        return True
    return is_public(address) or any(
        address in network for network in settings.OUTGOING_ALLOWED.networks
    )


def is_public(address: IP) -> bool:
    if any(address in network for network in NOT_PUBLIC if network.version == address.version):
        return False
    if isinstance(address, ipaddress.IPv6Address):
        return address in PUBLIC_IPV6 and address.is_global
    return address.is_global
