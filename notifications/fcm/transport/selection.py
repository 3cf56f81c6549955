"""Choosing a transport: TRANSPORT names it. Without it, aiohttp is used if there is a proxy."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from notifications.fcm.fcm import FcmGateway
from notifications.fcm.transport.aiohttp_transport import AiohttpGateway
from notifications.fcm.transport.pool import WireGateway
from notifications.proxy import Proxy, proxy_to

GATEWAYS: dict[str, type[FcmGateway]] = {"wire": WireGateway, "aiohttp": AiohttpGateway}


@dataclass(frozen=True)
class TransportChoice:
    name: str  # a key of GATEWAYS
    by_setting: bool
    proxy: Proxy | None  # the proxy for this endpoint

    @property
    def gateway(self) -> type[FcmGateway]:
        return GATEWAYS[self.name]

    @property
    def through(self) -> Proxy | None:
        """The proxy that is really used: only aiohttp supports proxies."""
        return self.proxy if self.name == "aiohttp" else None

    @property
    def passes_proxy_by(self) -> bool:
        return self.proxy is not self.through

    def __str__(self) -> str:
        """Describe the choice for the log."""
        if self.passes_proxy_by:
            return f"{self.name}, as TRANSPORT says; the proxy {self.proxy} is not used"
        if self.proxy:
            return f"{self.name}, through the proxy {self.proxy}"
        return f"{self.name}, as TRANSPORT says" if self.by_setting else self.name


def choose_transport(endpoint: str) -> TransportChoice:
    proxy, configured = proxy_to(endpoint), settings.TRANSPORT
    return TransportChoice(
        configured or ("aiohttp" if proxy else "wire"), by_setting=bool(configured), proxy=proxy
    )
