"""What `/metrics` shows of it: all files of this machine, added up."""

from __future__ import annotations

import logging

from django.conf import settings
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector

from notifications.measures.place import folder

OURS = CollectorRegistry()

log = logging.getLogger(__name__)


def register(registry: CollectorRegistry) -> None:
    """Without a folder, this process knows of itself only."""
    if not settings.METRICS_DIR:
        registry.register(OURS)
        return
    try:
        MultiProcessCollector(registry, str(folder()))  # type: ignore[no-untyped-call]
    except OSError as error:
        log.warning("nothing that was measured is shown: METRICS_DIR: %s", error)
