"""Which way the requests to an endpoint take. TRANSPORT says it; else a proxy in between does."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from notifications.fcm.fcm import FcmGateway
from notifications.fcm.transport.over_aiohttp import AiohttpGateway
from notifications.fcm.transport.pool import WireGateway
from notifications.fcm.transport.proxies import proxy_to, shown

GATEWAYS: dict[str, type[FcmGateway]] = {"wire": WireGateway, "aiohttp": AiohttpGateway}


@dataclass(frozen=True)
class Chosen:
    name: str  # in GATEWAYS
    by_setting: bool
    proxy: str  # host and port that this machine sends such requests through; empty: none

    @property
    def gateway(self) -> type[FcmGateway]:
        return GATEWAYS[self.name]

    @property
    def passes_proxy_by(self) -> bool:
        """Only aiohttp knows proxies."""
        return bool(self.proxy) and self.name != "aiohttp"

    def __str__(self) -> str:
        """For the log."""
        if self.passes_proxy_by:
            return f"{self.name}, as TRANSPORT says; the proxy {self.proxy} is not used"
        if self.proxy:
            return f"{self.name}, through the proxy {self.proxy}"
        return f"{self.name}, as TRANSPORT says" if self.by_setting else self.name


def chosen(endpoint: str) -> Chosen:
    proxy, asked = shown(proxy_to(endpoint)), settings.TRANSPORT
    return Chosen(asked or ("aiohttp" if proxy else "wire"), by_setting=bool(asked), proxy=proxy)
