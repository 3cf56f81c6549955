"""Wave: which chunks were rung together, and what did the chord bring back?"""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from campaigns.runs.run import Run


class Wave(models.Model):
    """Which chunks were rung together as one chord, and what did its callback bring back?"""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="waves")
    number = models.PositiveIntegerField()
    chunks = models.PositiveIntegerField()
    rung_at = models.DateTimeField()
    # Empty when the callback was lost: the sweep went on without it.
    called_back_at = models.DateTimeField(null=True)
    tally = models.JSONField(default=dict, help_text=_("Sums of what the chord's tasks returned."))

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="one_wave_per_number")
        ]

    def __str__(self) -> str:
        return f"wave {self.number} of run {self.run_id}"
