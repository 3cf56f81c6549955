"""Allowed origins: the web pages that may use a person's inbox token, as a browser names them.

There is no wildcard. With `*.example.com`, an attacker who takes over one page below it, such as a
forgotten blog, would get the tokens of everybody who opens it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import AddressValueError, IPv6Address

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

MOST = 20
LONGEST = 255
LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
ORIGIN = re.compile(
    rf"(?P<scheme>https?)://(?P<host>(?:{LABEL}\.)*{LABEL}|\[[0-9a-f:]+\])"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?"
)
USUAL = {"https": "443", "http": "80"}  # a browser leaves these out
ON_THIS_MACHINE = ("localhost", "127.0.0.1", "[::1]")


def in_order(origins: Iterable[str]) -> list[str]:
    """The origins as stored, and as a browser sends them. A ValidationError names a wrong one."""
    stored = list(dict.fromkeys(_normalize(origin.strip()) for origin in origins if origin.strip()))
    if len(stored) > MOST:
        raise ValidationError(_("At most %(most)s origins.") % {"most": MOST})
    return stored


def _normalize(origin: str) -> str:
    parts = ORIGIN.fullmatch(origin.lower()) if len(origin) <= LONGEST else None
    if parts is None or int(parts["port"] or 0) > 65_535:
        text = _(
            "“%(origin)s” is not an origin: write https://shop.example.com, with a port if it has "
            "one of its own, and nothing behind it. Each name is listed by itself, without *."
        )
        raise ValidationError(text % {"origin": origin[:100]})
    scheme, host, port = parts["scheme"], _host(parts["host"], origin), parts["port"]
    if scheme == "http" and host not in ON_THIS_MACHINE:
        text = _(
            "“%(origin)s” must begin with https://: a page that comes by http can be changed on "
            "its way, and the token taken. For tests, http://localhost is accepted."
        )
        raise ValidationError(text % {"origin": origin[:100]})
    return f"{scheme}://{host}" + (f":{port}" if port not in (None, USUAL[scheme]) else "")


def _host(host: str, origin: str) -> str:
    if not host.startswith("["):
        return host
    try:
        return f"[{IPv6Address(host[1:-1])}]"
    except AddressValueError as error:
        text = _("“%(origin)s” is not an origin: its address is none.")
        raise ValidationError(text % {"origin": origin[:100]}) from error


def is_one(given: str) -> bool:
    """Whether this is an origin that may be listed, spelled as a browser sends it."""
    try:
        return _normalize(given) == given
    except ValidationError:
        return False
