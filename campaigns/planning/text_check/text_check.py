"""TextCheck: one reading of a campaign's text for everybody in its audience, and what came of it.

Each move is one guarded UPDATE. Of a text at most one is under way, and the last whole one is kept
until the next is whole. A campaign with variants has one for each: who reads which is drawn at the
start of the run, so each is read as if everybody got it.
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

from campaigns.planning.campaign import Campaign
from campaigns.planning.variants import launching
from campaigns.runs.variants.group import MAIN
from notifications.people.project import OfProject

LEASE = timedelta(seconds=settings.LEASE_SECONDS)
MOST_DAYS = 90
MOST_PROBLEM = 500
UNDER_WAY = ("waiting", "reading")


class Fenced(Exception):
    """Another worker has taken it over, or it was cancelled: what we have must not be written."""


class TextCheck(OfProject):
    """What does this text say to all these people?"""

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        READING = "reading", _("Reading")
        FINISHED = "finished", _("Finished")
        CANCELLED = "cancelled", _("Cancelled")
        FAILED = "failed", _("Failed")

    # PostgreSQL removes them with their campaign, for the sake of a release that does not know
    # them: the migration has the key.
    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="text_checks")
    variant = models.SmallIntegerField(default=MAIN, db_default=MAIN)  # whose text it reads
    state = models.CharField(max_length=9, choices=State, default=State.WAITING)
    by = models.CharField(max_length=200)
    language = models.CharField(max_length=10, default="en")  # of `problem`
    problem = models.CharField(max_length=MOST_PROBLEM, blank=True)  # why it failed
    tries_links = models.BooleanField(default=False)
    # Whether a run said the same to the same people within so many days. 0: not looked for.
    days = models.PositiveSmallIntegerField(default=7, validators=[MaxValueValidator(MOST_DAYS)])

    # What is read, as a launch at the moment of asking would freeze it.
    content = models.JSONField()
    rules = models.JSONField()
    asks = models.JSONField()  # of people's consent, as standing.py wants it

    # Settled by the first worker, so that all parts agree: see working.py. `position`: the first
    # device that nobody has looked at.
    plan = models.JSONField(null=True)
    position = models.BigIntegerField(default=0)
    tally = models.JSONField(default=dict)
    links = models.JSONField(default=list)  # what was tried, and what came of it
    # Codes, counts, and the numbers of a few people; nothing of what these people are called.
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
    def seen(self) -> int:
        """Devices read so far."""
        return int(self.tally.get("seen", 0))

    @property
    def percent(self) -> int:
        """By the numbers of devices, which others of the project may share: about right."""
        if self.state == self.State.FINISHED:
            return 100
        if self.plan is None:
            return 0
        begin, end = int(self.plan["begin"]), int(self.plan["end"])
        done = (self.position - begin) / max(1, end - begin)
        return min(99, round(100 * done))


def newest(campaign: Campaign) -> dict[int, TextCheck]:
    """Of each text that it has now, by variant; whatever came of it."""
    return _newest(campaign, TextCheck.objects.all())


def newest_whole(campaign: Campaign) -> dict[int, TextCheck]:
    return _newest(campaign, TextCheck.objects.filter(state="finished"))


def _newest(campaign: Campaign, checks: models.QuerySet[TextCheck]) -> dict[int, TextCheck]:
    numbers = [one.number for one in launching.wordings(campaign)]
    found = checks.filter(campaign=campaign.pk, variant__in=numbers)
    return {one.variant: one for one in found.order_by("variant", "-pk").distinct("variant")}


def unfinished() -> list[int]:
    """For the sweep: nobody has begun them, or the worker that read has died."""
    idle = Q(leased_until=None) | Q(leased_until__lt=Now())
    found = TextCheck.objects.filter(idle, state__in=UNDER_WAY, pk=_its_turn()).order_by("pk")
    return list(found.values_list("pk", flat=True))


def _its_turn() -> models.Subquery:
    """The texts of one campaign are read one after the other: each holds a worker."""
    going = TextCheck.objects.filter(campaign=OuterRef("campaign"), state__in=UNDER_WAY)
    return Subquery(going.order_by("variant").values("pk")[:1])


def following(check_id: int) -> int | None:
    """The next text of the same campaign, once this one is over."""
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
    """Progress, and all that was found on the way to it, in one guarded UPDATE. Raises Fenced.

    Also if a crash of PostgreSQL undid the progress that this worker relies on.
    """
    mine = TextCheck.objects.filter(
        pk=check.pk, lease=check.lease, state="reading", position=check.position
    )
    if not mine.update(leased_until=now + lease, **values):
        raise Fenced
    for name, value in values.items():
        setattr(check, name, value)


def release(check: TextCheck) -> None:
    """So that the next worker need not wait for the lease to end."""
    TextCheck.objects.filter(pk=check.pk, lease=check.lease).update(leased_until=None)


def finish(check: TextCheck, report: dict[str, Any], *, now: datetime) -> None:
    """With it go those before. Raises Fenced."""
    with transaction.atomic():
        ended: dict[str, Any] = {"state": "finished", "finished_at": now, "report": report}
        keep(check, now=now, **ended, plan=None, tally={})
        before = TextCheck.objects.filter(campaign=check.campaign_id, variant=check.variant)
        before.filter(pk__lt=check.pk).delete()


def give_up(check_id: int, problem: str, *, now: datetime) -> None:
    """Its page says why; nobody comes back to it by himself."""
    going = TextCheck.objects.filter(pk=check_id, state__in=UNDER_WAY)
    said = problem.replace("\x00", "")[:MOST_PROBLEM] or "?"
    going.update(state="failed", problem=said, finished_at=now, lease=F("lease") + 1)


def cancel(campaign: Campaign, *, now: datetime) -> bool:
    """Whoever reads can write nothing more. Whether there was anything to cancel."""
    going = TextCheck.objects.filter(campaign=campaign.pk, state__in=UNDER_WAY)
    return bool(going.update(state="cancelled", finished_at=now, lease=F("lease") + 1))
