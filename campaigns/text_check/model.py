"""TextCheck: one reading of a campaign's text for everybody in its audience, and its report.

Each change of state is one guarded UPDATE. A text has at most one check under way. Its last
complete check is kept until the next one is complete. A campaign with variants has a check for each
variant. Who reads which is drawn at the start of the run, so each is read as if everybody got it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.validators import MaxValueValidator
from django.db import models, transaction
from django.db.models import F, OuterRef, Q, Subquery
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from campaigns.planning import campaign_variants
from campaigns.planning.campaign import Campaign
from campaigns.runs.variants.group import MAIN
from notifications.people.project import OfProject

LEASE = timedelta(seconds=settings.LEASE_SECONDS)
MAX_DAYS = 90
MAX_PROBLEM = 500
UNDER_WAY = ("waiting", "reading")


class Fenced(Exception):
    """Another worker has taken over the check, or it was cancelled: its results must not be written
    here."""


class TextCheck(OfProject):
    """A check of one text of a campaign for everybody in its audience."""

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        READING = "reading", _("Reading")
        FINISHED = "finished", _("Finished")
        CANCELLED = "cancelled", _("Cancelled")
        FAILED = "failed", _("Failed")

    # PostgreSQL removes checks with their campaign, for an older release that does not know them.
    # The migration has the key.
    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="text_checks")
    variant = models.SmallIntegerField(default=MAIN, db_default=MAIN)  # whose text it reads
    state = models.CharField(max_length=9, choices=State, default=State.WAITING)
    by = models.CharField(max_length=200)
    language = models.CharField(max_length=10, default="en")  # of `problem`
    problem = models.CharField(max_length=MAX_PROBLEM, blank=True)  # why it failed
    tries_links = models.BooleanField(default=False)
    # Look for runs of this many days that sent the same text to the same people. 0: do not look.
    days = models.PositiveSmallIntegerField(default=7, validators=[MaxValueValidator(MAX_DAYS)])

    # What is read, as a launch would have frozen it when the check was requested.
    content = models.JSONField()
    rules = models.JSONField()
    asks = models.JSONField()  # of people's consent, as standing.py wants it

    # The first worker settles the plan, so that all parts agree: see working.py. `position`: the
    # first device that has not been read.
    plan = models.JSONField(null=True)
    position = models.BigIntegerField(default=0)
    tally = models.JSONField(default=dict)
    links = models.JSONField(default=list)  # links tried, and their results
    # Codes, counts, and the numbers of a few people; nothing about what these people are called.
    report = models.JSONField(null=True)

    # Who works on it: only the worker that knows the lease's number may write.
    lease = models.IntegerField(default=0)
    leased_until = models.DateTimeField(null=True)
    asked_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "variant"],
                condition=Q(state__in=UNDER_WAY),
                name="one_check_of_a_text_at_a_time",
            ),
            models.CheckConstraint(
                condition=~Q(state="finished") | Q(report__isnull=False),
                name="a_finished_text_check_has_a_report",
            ),
            models.CheckConstraint(
                condition=~Q(state="failed") | ~Q(problem=""),
                name="a_failed_text_check_says_why",
            ),
        ]
        indexes = [
            models.Index(fields=["campaign", "-id"], name="text_checks_of_campaign"),
            models.Index(
                fields=["project"], condition=Q(state__in=UNDER_WAY), name="text_checks_under_way"
            ),
        ]

    def __str__(self) -> str:
        return f"text check {self.pk}"

    @property
    def under_way(self) -> bool:
        return self.state in UNDER_WAY

    @property
    def devices_read(self) -> int:
        """Devices read so far."""
        return int(self.tally.get("seen", 0))

    @property
    def percent(self) -> int:
        """The progress by device ids. Other projects may share the id range: about right."""
        if self.state == self.State.FINISHED:
            return 100
        if self.plan is None:
            return 0
        begin, end = int(self.plan["begin"]), int(self.plan["end"])
        done = (self.position - begin) / max(1, end - begin)
        return min(99, round(100 * done))


def newest(campaign: Campaign) -> dict[int, TextCheck]:
    """Return the newest check of each current text, by variant, in any state."""
    return _newest_by_variant(campaign, TextCheck.objects.all())


def newest_whole(campaign: Campaign) -> dict[int, TextCheck]:
    return _newest_by_variant(campaign, TextCheck.objects.filter(state="finished"))


def _newest_by_variant(
    campaign: Campaign, checks: models.QuerySet[TextCheck]
) -> dict[int, TextCheck]:
    numbers = [wording.number for wording in campaign_variants.wordings(campaign)]
    matching = checks.filter(campaign=campaign.pk, variant__in=numbers)
    return {
        check.variant: check for check in matching.order_by("variant", "-pk").distinct("variant")
    }


def unfinished() -> list[int]:
    """Return checks for the sweep: not begun yet, or their worker has died."""
    idle = Q(leased_until=None) | Q(leased_until__lt=Now())
    idle_checks = TextCheck.objects.filter(idle, state__in=UNDER_WAY, pk=_its_turn()).order_by("pk")
    return list(idle_checks.values_list("pk", flat=True))


def _its_turn() -> models.Subquery:
    """Select the check whose turn it is. The texts of one campaign are read one after the other:
    each holds a worker."""
    going = TextCheck.objects.filter(campaign=OuterRef("campaign"), state__in=UNDER_WAY)
    return Subquery(going.order_by("variant").values("pk")[:1])


def following(check_id: int) -> int | None:
    """Return the next check of the same campaign, once this one is over."""
    of_it = TextCheck.objects.filter(pk=check_id).values("campaign")
    going = TextCheck.objects.filter(campaign__in=of_it, state__in=UNDER_WAY)
    return going.order_by("variant").values_list("pk", flat=True).first()


# --- Who works on it ------------------------------------------------------------------------------


def claim(check_id: int, *, now: datetime) -> TextCheck | None:
    """Take it for the length of a lease; None if there is nothing to do for this worker."""
    idle = Q(leased_until=None) | Q(leased_until__lt=now)
    turn = TextCheck.objects.filter(pk=_its_turn()).values("pk")
    mine = TextCheck.objects.filter(idle, pk=check_id, state__in=UNDER_WAY, pk__in=turn)
    if not mine.update(state="reading", lease=F("lease") + 1, leased_until=now + LEASE):
        return None
    TextCheck.objects.filter(pk=check_id, started_at=None).update(started_at=now)
    return TextCheck.objects.select_related("project", "campaign").get(pk=check_id)


def keep(check: TextCheck, *, now: datetime, lease: timedelta = LEASE, **values: Any) -> None:
    """Save the progress and its findings in one guarded UPDATE. Raises Fenced.

    It also raises Fenced if a crash of PostgreSQL undid the progress that this worker relies on.
    """
    mine = TextCheck.objects.filter(
        pk=check.pk, lease=check.lease, state="reading", position=check.position
    )
    if not mine.update(leased_until=now + lease, **values):
        raise Fenced
    for name, value in values.items():
        setattr(check, name, value)


def release(check: TextCheck) -> None:
    """End the lease, so that the next worker need not wait for it."""
    TextCheck.objects.filter(pk=check.pk, lease=check.lease).update(leased_until=None)


def finish(check: TextCheck, report: dict[str, Any], *, now: datetime) -> None:
    """Save the report and delete earlier checks of this text. Raises Fenced."""
    with transaction.atomic():
        ended: dict[str, Any] = {"state": "finished", "finished_at": now, "report": report}
        keep(check, now=now, **ended, plan=None, tally={})
        before = TextCheck.objects.filter(campaign=check.campaign_id, variant=check.variant)
        before.filter(pk__lt=check.pk).delete()


def give_up(check_id: int, problem: str, *, now: datetime) -> None:
    """Mark the check as failed. Its page says why; it is not retried by itself."""
    going = TextCheck.objects.filter(pk=check_id, state__in=UNDER_WAY)
    text = problem.replace("\x00", "")[:MAX_PROBLEM] or "?"
    going.update(state="failed", problem=text, finished_at=now, lease=F("lease") + 1)


def cancel(campaign: Campaign, *, now: datetime) -> bool:
    """Cancel the campaign's checks: their worker can write nothing more. Return whether there was
    anything to cancel."""
    going = TextCheck.objects.filter(campaign=campaign.pk, state__in=UNDER_WAY)
    return bool(going.update(state="cancelled", finished_at=now, lease=F("lease") + 1))
