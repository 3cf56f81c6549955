"""The web's application: the product's own, with the bug that CHAOS_PLANTED names."""

from __future__ import annotations

import os

from config.asgi import application

__all__ = ["application"]

if planted := os.environ.get("CHAOS_PLANTED"):
    from tests.chaos.planted import plant

    plant(planted)
