"""Load: how busy a project's own servers are by their last report, and the safe send rate.

The row is the truth: each question to the gate carries its rate, so a Redis that loses its data
changes nothing. Only a report may raise the rate. Without new reports, the last rate stays.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from notifications.people.project import Project

SILENT = timedelta(seconds=30)  # without a report for so long, the last rate may be out of date


class Load(models.Model):
    """The last report of how busy the project's own servers are. No row: nothing reports it."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, primary_key=True)
    level = models.FloatField(validators=[MinValueValidator(0.0), MaxValueValidator(1.0)])
    # Messages per second, for everything that is sent to many people.
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
    """Store a report. The rate lies between the project's floor and the planned rate. Of two
    reports at once, the one that is written last counts."""
    values = {"level": level, "safe_rate": between(project.floor_per_second, plan, level)}
    load, _ = Load.objects.update_or_create(
        project=project, defaults={**values, "reported_at": Now()}
    )
    load.refresh_from_db()
    return load


def forget(project_id: int) -> None:
    """Delete the last report, when the project's servers are to report no more."""
    Load.objects.filter(project=project_id).delete()


def forget_silent(project_id: int) -> bool:
    """Delete the last report if it is too old. Returns False if the servers still report."""
    silent = Load.objects.filter(project=project_id, reported_at__lt=Now() - SILENT)
    return silent.delete()[0] > 0


def between(floor: float, plan: float, level: float) -> float:
    """Return a rate from the floor (level 1) to the plan (level 0). A plan below the floor stays as
    it is."""
    return min(plan, floor + (1 - level) * max(0.0, plan - floor))
