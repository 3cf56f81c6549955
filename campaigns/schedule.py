"""Schedule: which runs are due, and which are due too late to start without asking."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models, transaction

from campaigns.reasons import Cause
from campaigns.run import Run

AT_ONCE = 20


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


def start_due(now: datetime) -> list[int]:
    """Move due runs to preparing; two sweeps at once share them, none starts twice.

    If the process dies here: nothing is committed, the next sweep starts them.
    """
    due = Run.objects.filter(state=Run.State.SCHEDULED, scheduled_at__lte=now)
    with transaction.atomic():
        runs = list(due.order_by("scheduled_at").select_for_update(skip_locked=True)[:AT_ONCE])
        return [run.pk for run in runs if _start(run, now)]


def _start(run: Run, now: datetime) -> bool:
    late = now - run.scheduled_at
    if late > timedelta(seconds=run.max_lateness_seconds):
        run.pause(Cause.LATE, f"It was due {_in_words(late)} ago.")
        return False
    run.move_to(Run.State.PREPARING)
    return True


def _in_words(duration: timedelta) -> str:
    minutes = int(duration.total_seconds() // 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
