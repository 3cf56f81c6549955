"""Beat's own start; what its ticks do is asked where they do it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from celery.beat import Service

from config.celery import app, tick_at_once


def test_beat_ticks_as_soon_as_it_starts(tmp_path: Path) -> None:
    beat = Service(app=app, schedule_filename=str(tmp_path / "schedule"))
    with app.connection() as broker:
        channel: Any = broker.default_channel  # its length is of all priorities together
        before = channel._size("control")
        tick_at_once(sender=beat)
        assert channel._size("control") == before + 1
