"""The four Redis databases that are ours, as the settings name them."""

from __future__ import annotations

from django.conf import settings

from config.redis_address import OURS


def our_databases() -> dict[str, str]:
    """The address of each, by what it is for."""
    cache = str(settings.CACHES["default"]["LOCATION"])
    addresses = (settings.BROKER_URL, settings.RESULTS_URL, settings.GATE_URL, cache)
    return dict(zip(OURS, addresses, strict=True))
