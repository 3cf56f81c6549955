"""Tick: the last sign of life of Celery beat, and its last long absence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, models

LONG_SILENCE = timedelta(minutes=15)  # after this without a tick, a person decides on sending


@dataclass(frozen=True)
class Away:
    """An absence of beat: from the last tick before a long silence to the first one after it, or to
    now."""

    since: datetime
    until: datetime

    @property
    def lasted(self) -> timedelta:
        return self.until - self.since


# One statement: the process that ticks first after an absence records the absence.
RECORD = """
INSERT INTO campaigns_tick AS tick (id, at) VALUES (1, %(now)s)
ON CONFLICT (id) DO UPDATE SET
    at = EXCLUDED.at,
    left_at = CASE WHEN EXCLUDED.at - tick.at >= %(long)s THEN tick.at ELSE tick.left_at END,
    back_at = CASE WHEN EXCLUDED.at - tick.at >= %(long)s THEN EXCLUDED.at ELSE tick.back_at END
"""


class Tick(models.Model):
    """The last tick of beat, in one row; readiness and the metrics read it.

    It keeps the last long absence: a run that went on during it may read it after the next tick.
    """

    at = models.DateTimeField()
    left_at = models.DateTimeField(null=True)
    back_at = models.DateTimeField(null=True)
    judged_at = models.DateTimeField(null=True)  # the last check for alerts

    def __str__(self) -> str:
        return f"last tick at {self.at}"

    @classmethod
    def record(cls, now: datetime) -> None:
        values: dict[str, Any] = {"now": now, "long": LONG_SILENCE}
        with connection.cursor() as cursor:
            cursor.execute(RECORD, values)

    @classmethod
    def age(cls, now: datetime) -> timedelta | None:
        tick = cls.objects.filter(pk=1).first()
        return now - tick.at if tick else None

    @classmethod
    def away(cls, now: datetime) -> Away | None:
        """The last long absence, which may not be over."""
        tick = cls.objects.filter(pk=1).first()
        if tick is None:
            return None
        if now - tick.at >= LONG_SILENCE:
            return Away(tick.at, now)
        return Away(tick.left_at, tick.back_at) if tick.left_at and tick.back_at else None
