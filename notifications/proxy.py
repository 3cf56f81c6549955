"""Proxy: the HTTP proxy for all requests to Google (messages, tokens, delivery figures).

HTTPS_PROXY names it, and NO_PROXY names the hosts it is not used for. We only use it as a tunnel:
TLS ends at Google, so the proxy cannot read a request.
"""

from __future__ import annotations

import ipaddress
from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from django.conf import settings


@dataclass(frozen=True)
class Proxy:
    url: str = field(repr=False)  # http://host:port; it may contain a name and a password

    def __str__(self) -> str:
        """Host and port only: the password must not be shown."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 80

    @property
    def headers(self) -> dict[str, str]:
        """The Proxy-Authorization header, if the address has a name and a password."""
        login, at, _ = urlsplit(self.url).netloc.rpartition("@")
        if not at:
            return {}
        name, _, password = login.partition(":")
        plain = f"{unquote(name)}:{unquote(password)}".encode()
        return {"Proxy-Authorization": f"Basic {b64encode(plain).decode()}"}


def proxy_to(url: str) -> Proxy | None:
    """Return the proxy for requests to this address, or None if they go there directly."""
    address = urlsplit(url)
    host, proxy = address.hostname or "", settings.HTTPS_PROXY
    goes_alone = _is_this_machine(host) or _is_excepted(host, address.port or 443)
    return None if address.scheme != "https" or goes_alone else proxy


def on_the_way(said: str, proxy: object) -> str:
    """Append the proxy to an error message, if there is one."""
    return f"{said} (through the proxy {proxy})" if proxy else said


def _is_excepted(host: str, port: int) -> bool:
    """Whether NO_PROXY lists this host: by its name or its domain, each with or without a port."""
    for entry in settings.NO_PROXY.lower().split(","):
        name = entry.strip().removesuffix(f":{port}")
        if name == "*" or (name and f".{host}".endswith(f".{name.lstrip('*.')}")):
            return True
    return False


def _is_this_machine(host: str) -> bool:
    """Whether the host is this machine, such as the FCM emulator. A proxy cannot reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
