"""The proxy between this machine and Google, for all who ask Google: messages, tokens, figures.

HTTPS_PROXY names it, NO_PROXY whom it is not for. A tunnel is all that is asked of it: TLS is
spoken with Google, and nothing of a request can be read in between.
"""

from __future__ import annotations

import ipaddress
from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from django.conf import settings


@dataclass(frozen=True)
class Proxy:
    url: str = field(repr=False)  # http://host:port; a name and a password may stand in it

    def __str__(self) -> str:
        """Host and port: all that is shown of it."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 80

    @property
    def headers(self) -> dict[str, str]:
        """What is said to it besides where to."""
        login, at, _ = urlsplit(self.url).netloc.rpartition("@")
        if not at:
            return {}
        name, _, password = login.partition(":")
        plain = f"{unquote(name)}:{unquote(password)}".encode()
        return {"Proxy-Authorization": f"Basic {b64encode(plain).decode()}"}


def proxy_to(url: str) -> Proxy | None:
    """Through which a request to this address goes. None: it goes there by itself."""
    address = urlsplit(url)
    host, proxy = address.hostname or "", settings.HTTPS_PROXY
    goes_alone = _is_this_machine(host) or _is_excepted(host, address.port or 443)
    return None if address.scheme != "https" or goes_alone else proxy


def on_the_way(said: str, proxy: object) -> str:
    """What went wrong on the way, and which that was."""
    return f"{said} (through the proxy {proxy})" if proxy else said


def _is_excepted(host: str, port: int) -> bool:
    """NO_PROXY: hosts, and domains with all that is in them; behind each a port may stand."""
    for said in settings.NO_PROXY.lower().split(","):
        name = said.strip().removesuffix(f":{port}")
        if name == "*" or (name and f".{host}".endswith(f".{name.lstrip('*.')}")):
            return True
    return False


def _is_this_machine(host: str) -> bool:
    """Where no proxy leads back to: our stand-in for FCM."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
