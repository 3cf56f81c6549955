"""Recount: when were a run's sums last compared with its rows, and did they differ?"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models
from django.db.models import Sum

A_DAY = timedelta(days=1)


class Recount(models.Model):
    """When was this run counted again, and how many of its sums were wrong, and put right?"""

    run_id = models.BigIntegerField(primary_key=True)
    at = models.DateTimeField()
    differences = models.IntegerField(default=0)
    # Whether all of it was counted. A run that takes too long is tried again the next day.
    whole = models.BooleanField(default=True)
    # Some of them: [of, by, value, kept, counted].
    detail = models.JSONField(default=list)

    class Meta:
        indexes = [models.Index(fields=["at"], name="recounts_by_time")]

    def __str__(self) -> str:
        return f"recount of run {self.run_id}"


def differences_lately(now: datetime) -> int:
    """In a day's recounts. Each was put right; there should be none."""
    found = Recount.objects.filter(at__gt=now - A_DAY).aggregate(all=Sum("differences"))
    return found["all"] or 0
