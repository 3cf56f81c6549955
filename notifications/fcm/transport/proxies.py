"""The proxy in between, if this machine has to ask one. Companies require it."""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass


def proxy_to(endpoint: str) -> str:
    """Its address as HTTPS_PROXY and NO_PROXY say; empty: none. A password may stand in it."""
    address = urlsplit(endpoint)
    if proxy_bypass(address.netloc):
        return ""
    proxy = getproxies().get(address.scheme, "")
    return proxy if "://" in proxy or not proxy else f"http://{proxy}"


def shown(proxy: str) -> str:
    """Host and port: what a page and a log may say of it."""
    return urlsplit(proxy).netloc.rpartition("@")[2]
