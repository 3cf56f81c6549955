"""Time that passed while nothing ran."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F
from django.utils import timezone

from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Window
from campaigns.runs.run import Run
from campaigns.runs.tick import Tick
from campaigns.runs.wave import Wave

NIGHT = timedelta(hours=7)


def tick(ago: timedelta) -> None:
    Tick.record(timezone.now() - ago)


def age(by: timedelta) -> None:
    """All that says when something happened, as if it were that much longer ago."""
    moments = ("launched_at", "scheduled_at", "started_at", "resumed_at", "reopened_at")
    Run.objects.update(**{name: F(name) - by for name in moments})
    Chunk.objects.update(queued_at=F("queued_at") - by)
    Window.objects.update(opened_at=F("opened_at") - by)
    Wave.objects.update(rung_at=F("rung_at") - by)
    Tick.objects.update(**{name: F(name) - by for name in ("at", "left_at", "back_at")})
