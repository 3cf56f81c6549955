"""Beat's own start; what its ticks do is asked where they do it."""

from __future__ import annotations

from pathlib import Path

from celery.beat import Service

from config.celery import app, tick_at_once


def test_beat_ticks_as_soon_as_it_starts(tmp_path: Path) -> None:
    beat = Service(app=app, schedule_filename=str(tmp_path / "schedule"))
    with app.connection() as broker:
        control = broker.SimpleQueue("control")
        before = control.qsize()
        tick_at_once(sender=beat)
        assert control.qsize() == before + 1
