"""Rehearsal: a dry run of a campaign, in which FCM checks messages and delivers none.

Its run, of the kind `rehearsal`, has the state machine, the recipients and FCM's answer to each.
The row here has the rest.
"""

from __future__ import annotations

from typing import Any

from django.db import models, transaction
from django.db.models import Q

from campaigns.runs.ledger import drop_partition
from campaigns.runs.run import Run
from notifications.people.project import OfProject

SAMPLE = 1_000  # devices: enough for ± 1.4 points where 5 % are dead
LEAST, MOST = 100, 100_000


class Rehearsal(OfProject):
    """What a rehearsal keeps beside its run: the sample, and the errors that were found."""

    run = models.OneToOneField(
        Run, on_delete=models.CASCADE, primary_key=True, related_name="rehearsal"
    )
    # How many devices of the audience are drawn, with the seed of the draw; empty: all devices.
    sample = models.PositiveIntegerField(null=True)
    seed = models.BigIntegerField()
    retires = models.BooleanField(help_text="Whether what FCM calls dead is retired.")
    # The audience from which the sample was drawn; known once it is drawn.
    devices = models.PositiveIntegerField(null=True)
    people = models.PositiveIntegerField(null=True)
    # {"platform": {"ios": [drawn, all], …}, "locale": {…}}, the largest groups of each.
    strata = models.JSONField(default=dict, db_default={})
    # Errors of messages, by field, once it has ended: the recipients' rows may be removed.
    errors = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(sample__isnull=True) | Q(sample__gte=LEAST, sample__lte=MOST),
                name="a_sample_says_something",
            )
        ]

    def __str__(self) -> str:
        return str(self.run)

    @property
    def is_sample(self) -> bool:
        """Whether fewer than all devices were tried: its shares then stand for the rest, too."""
        drawn = self.run.planned or 0
        return self.sample is not None and (self.devices is None or drawn < self.devices)

    @property
    def stands_for(self) -> int:
        """How many devices a launch would have had."""
        return self.run.planned or 0 if self.devices is None else self.devices


def of_campaign(campaign_id: int) -> models.QuerySet[Run]:
    """The rehearsals of a campaign, newest first."""
    runs = Run.rehearsals.filter(campaign=campaign_id)
    return runs.select_related("rehearsal", "project", "campaign").order_by("-pk")


def remove_all_of(campaign_id: int) -> None:
    """Remove the finished rehearsals of a campaign that is being deleted, which was never
    launched. An unfinished rehearsal keeps the campaign."""
    with transaction.atomic():
        for run in Run.rehearsals.filter(campaign=campaign_id, finished_at__isnull=False):
            if run.planned is not None and run.forgotten_at is None:
                for table in ("campaigns_recipient", "campaigns_delivery"):
                    drop_partition(table, run.pk)
            Run.rehearsals.filter(pk=run.pk).delete()


def create(project_id: int, **values: Any) -> Rehearsal:
    """Create a rehearsal and its run from the values that the campaign froze."""
    about = {name: values.pop(name) for name in ("sample", "seed", "retires")}
    with transaction.atomic():
        run = Run.rehearsals.create(
            project_id=project_id,
            kind=Run.Kind.REHEARSAL,
            state=Run.State.PREPARING,
            **values,
        )
        return Rehearsal.objects.create(run=run, project_id=project_id, **about)
