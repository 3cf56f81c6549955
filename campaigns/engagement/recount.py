"""Recount: the record of the last comparison of a run's sums with its rows."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models
from django.db.models import Sum

A_DAY = timedelta(days=1)


class Recount(models.Model):
    """When a run was last counted again, and how many of its sums were wrong and corrected."""

    run_id = models.BigIntegerField(primary_key=True)
    at = models.DateTimeField()
    differences = models.IntegerField(default=0)
    # Whether the whole run was counted. If it takes too long, it is tried again the next day.
    whole = models.BooleanField(default=True)
    # Some differences: the key (of, by, value), then what was added to each number.
    detail = models.JSONField(default=list)

    class Meta:
        indexes = [models.Index(fields=["at"], name="recounts_by_time")]

    def __str__(self) -> str:
        return f"recount of run {self.run_id}"


def differences_lately(now: datetime) -> int:
    """The wrong sums found in the last day's recounts. Each was corrected; there should be none."""
    total = Recount.objects.filter(at__gt=now - A_DAY).aggregate(all=Sum("differences"))
    return total["all"] or 0
