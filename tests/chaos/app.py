"""The workers' Celery application: the product's own, with the bug that CHAOS_PLANTED names."""

from __future__ import annotations

import os

import django

from config.celery import app

__all__ = ["app"]

if planted := os.environ.get("CHAOS_PLANTED"):
    django.setup()
    from tests.chaos.planted import plant  # it needs the applications

    plant(planted)
