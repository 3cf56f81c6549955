"""Probes of the stack's processes: each checks from outside, as a user would, that one answers."""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Callable

Probe = Callable[[], bool]


def http(url: str) -> Probe:
    def answers() -> bool:
        try:
            with urllib.request.urlopen(url, timeout=5) as response:
                return bool(response.status == 200)
        except OSError:  # refused, timed out, or an HTTP status of 400 and above
            return False

    return answers


def tcp(port: int) -> Probe:
    def answers() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True

    return answers


def celery_worker(broker_url: str, node: str) -> Probe:
    """Celery's own ping: true once the worker takes tasks, which is later than its start."""

    def answers() -> bool:
        from celery import Celery  # 20 MB, which only `make run` needs

        with Celery(broker=broker_url, set_as_current=False) as app:
            return bool(app.control.ping([node], timeout=0.5, limit=1))

    return answers


def nothing_to_ask() -> bool:
    return True
