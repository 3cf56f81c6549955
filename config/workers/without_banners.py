"""Celery without the banners that it prints, for a log in which each line is a JSON object."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

from celery import Celery
from celery.apps import worker
from celery.apps.beat import Beat
from celery.signals import celeryd_init

from notifications.requests.log_lines import Json


class QuietBeat(Beat):
    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "quiet": True})


def quiet(app: Celery) -> None:
    setattr(app, "Beat", app.subclass_with_self(QuietBeat, name="Beat"))  # noqa: B010  # a property
    celeryd_init.connect(_quiet_worker, weak=False)
    setattr(worker, "safe_say", _say)  # noqa: B010  # unknown to its stubs


def _quiet_worker(instance: Any, **signal: Any) -> None:
    instance.quiet = True


def _say(text: str, file: Any = sys.__stderr__) -> None:
    """Write a line from a signal's handler, where a logger might wait for a lock."""
    record = logging.LogRecord(worker.__name__, logging.INFO, "", 0, text, (), None)
    os.write(file.fileno(), f"{Json().format(record)}\n".encode())
