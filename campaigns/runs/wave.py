"""Wave: a group of chunks that is queued as one Celery chord, and the results of its tasks."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from campaigns.runs.run import Run


class Wave(models.Model):
    """Chunks of a run that were queued together as one Celery chord, and what its tasks
    returned."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="waves")
    number = models.PositiveIntegerField()
    chunks = models.PositiveIntegerField()
    rung_at = models.DateTimeField()
    # Empty if the callback was lost: the sweep went on without it.
    called_back_at = models.DateTimeField(null=True)
    tally = models.JSONField(default=dict, help_text=_("Sums of what the chord's tasks returned."))

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="one_wave_per_number")
        ]

    def __str__(self) -> str:
        return f"wave {self.number} of run {self.run_id}"
