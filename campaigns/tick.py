"""Tick: is beat alive?"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models

LONG = timedelta(minutes=15)  # without a tick: a person is asked before anything is sent again


class Tick(models.Model):
    """When did beat last reach us? One row; readiness and the metrics ask it."""

    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"last tick at {self.at}"

    @classmethod
    def record(cls, now: datetime) -> None:
        cls.objects.update_or_create(pk=1, defaults={"at": now})

    @classmethod
    def age(cls, now: datetime) -> timedelta | None:
        tick = cls.objects.filter(pk=1).first()
        return now - tick.at if tick else None
