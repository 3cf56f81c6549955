"""Wiring: settings, URLs, Celery and the one-command stack. Rules of the product live elsewhere."""

from __future__ import annotations

# Tasks find their application through this import, in the web process as in the workers.
from config.celery import app as celery_app

__all__ = ["celery_app"]
