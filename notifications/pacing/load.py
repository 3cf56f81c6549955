"""Load: how busy are a project's own servers, as they said last, and how fast may we send by that?

Its row is the truth: it is handed along with each question to the gate, so that a Redis that
forgets changes nothing. Only a report may raise the rate: whoever falls silent keeps the last one.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from notifications.people.project import Project

SILENT = timedelta(seconds=30)  # without a report: then the last rate is only the last safe one


class Load(models.Model):
    """How busy are the project's own servers? No row: nobody reports it."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, primary_key=True)
    level = models.FloatField(validators=[MinValueValidator(0.0), MaxValueValidator(1.0)])
    # Messages a second, of everything that is sent to many.
    safe_rate = models.FloatField()
    reported_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(level__gte=0, level__lte=1), name="a_load_in_range"),
            models.CheckConstraint(condition=Q(safe_rate__gt=0), name="a_safe_rate_sends"),
        ]

    def __str__(self) -> str:
        return f"{self.level:.0%}"

    def is_silent(self, now: datetime) -> bool:
        return now - self.reported_at > SILENT


def newest_report(project: Project) -> Load | None:
    return getattr(project, "load", None)


def report(project: Project, level: float, *, plan: float) -> Load:
    """From now on, between the project's floor and what is planned. Of two reports at once, the one
    that is written last counts."""
    values = {"level": level, "safe_rate": between(project.floor_per_second, plan, level)}
    load, _ = Load.objects.update_or_create(
        project=project, defaults={**values, "reported_at": Now()}
    )
    load.refresh_from_db()
    return load


def forget(project_id: int) -> None:
    """What was said last: nobody is to say it any more."""
    Load.objects.filter(project=project_id).delete()


def forget_silent(project_id: int) -> bool:
    """Nobody reports any more, until somebody does. False: somebody does."""
    silent = Load.objects.filter(project=project_id, reported_at__lt=Now() - SILENT)
    return silent.delete()[0] > 0


def between(floor: float, plan: float, level: float) -> float:
    """A plan below the floor stays as it is."""
    return min(plan, floor + (1 - level) * max(0.0, plan - floor))
