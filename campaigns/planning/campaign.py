"""Campaign: the editable plan of a push. A launch freezes it into a Run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models, transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.audiences.audience import Audience
from campaigns.planning import analytics_labels, campaign_problems, campaign_variants, local
from campaigns.planning.local import Passed, Zoneless
from campaigns.planning.repeats import cron, moved_occurrences, repeating, rhythm, weekdays
from campaigns.planning.repeats.cron import Cron
from campaigns.planning.repeats.moved_occurrences import Occurrence
from campaigns.planning.repeats.rhythm import Rhythm
from campaigns.runs import rehearsal, series
from campaigns.runs.policy import MAX_RATE, NEVER, POLICY
from campaigns.runs.run import HOLDS, Run
from campaigns.texts.content import in_place_of
from campaigns.texts.template import Template
from notifications.fcm.rules import MAX_TTL
from notifications.people.attributes import validate_attribute_name
from notifications.people.consent import caps, eligibility, quiet_hours
from notifications.people.consent.caps import Caps
from notifications.people.consent.hours import QuietHours
from notifications.people.events.names import validate_event_name
from notifications.people.project import OfProject
from notifications.values.copy_names import name_of_copy
from notifications.values.zones import validate_zone

MAX_EVERY = 365
MAX_WITHIN = 30 * 86_400
MAX_FIRST = 50  # percent: a larger first part is no trial
MAX_LEAST = 1_000_000
PERCENT = [MinValueValidator(0), MaxValueValidator(100)]
MAX_CONTROL = 90
MIN_SPREAD, MAX_SPREAD = 60, 7 * 86_400


class Campaign(OfProject):
    """A planned push: its audience, text, schedule and speed."""

    class Schedule(models.TextChoices):
        NOW = "now", gettext_lazy("As soon as it is launched")
        AT = "at", gettext_lazy("At a time")
        RECURRING = "recurring", gettext_lazy("Repeats")

    class Repeat(models.TextChoices):
        DAILY = "daily", gettext_lazy("Every day")
        WEEKLY = "weekly", gettext_lazy("Every week")
        MONTHLY = "monthly", gettext_lazy("Every month")
        CRON = "cron", gettext_lazy("By a cron expression")

    class OnDays(models.TextChoices):
        EACH = "", gettext_lazy("Each of them")
        WORKDAYS = rhythm.WORKDAYS, gettext_lazy("Only Monday to Friday")
        LAST_DAY = rhythm.LAST_DAY, gettext_lazy("On the month's last day")

    keeps_several: ClassVar = {"weekdays": weekdays.CHOICES}  # the audit trail shows these labels

    name = models.CharField(max_length=100)
    audience = models.ForeignKey(Audience, on_delete=models.PROTECT, related_name="campaigns")
    template = models.ForeignKey(Template, on_delete=models.PROTECT, related_name="campaigns")
    # How it is sent. People read the labels in policy.py. The labels of these columns appear only
    # in the migrations.
    schedule_kind = models.CharField("when", max_length=9, choices=Schedule, default=Schedule.NOW)
    at = models.DateTimeField(null=True, blank=True)
    repeat = models.CharField(max_length=7, choices=Repeat, blank=True)
    cron = models.CharField(max_length=cron.LONGEST, default="", db_default="", blank=True)
    every = models.PositiveSmallIntegerField(
        default=1, db_default=1, validators=[MinValueValidator(1), MaxValueValidator(MAX_EVERY)]
    )
    on_days = models.CharField(max_length=8, choices=OnDays, default="", db_default="", blank=True)
    weekdays = models.CharField(max_length=weekdays.LONGEST, default="", db_default="", blank=True)
    days_off = models.TextField(default="", db_default="", blank=True)  # one date per line
    holiday_names = models.JSONField(default=dict, db_default={}, blank=True)  # keyed by date
    until = models.DateTimeField("ends", null=True, blank=True)
    local_time = models.BooleanField(default=False, db_default=False)
    best_hour = models.BooleanField(default=False, db_default=False)
    passed = models.CharField(
        max_length=8, choices=Passed, default=Passed.NEXT_DAY, db_default=Passed.NEXT_DAY.value
    )
    zoneless = models.CharField(
        max_length=8, choices=Zoneless, default=Zoneless.PROJECT, db_default=Zoneless.PROJECT.value
    )
    timezone = models.CharField(
        "time zone", max_length=64, default="UTC", validators=[validate_zone]
    )
    max_lateness_seconds = models.PositiveIntegerField(
        default=900,
        validators=[MaxValueValidator(7 * 86_400)],
        help_text="If we could not start within this time, ask a person instead of sending late.",
    )
    on_unknown = models.CharField(
        "when an answer is lost",
        max_length=6,
        choices=Run.OnUnknown,
        default=Run.OnUnknown.RESEND,
    )
    rate_per_second = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_RATE)],
        help_text="Empty: as fast as the project's quota allows.",
    )
    spread_seconds = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(MIN_SPREAD), MaxValueValidator(MAX_SPREAD)],
    )
    opens_per_second = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_RATE)],
    )
    ttl_seconds = models.PositiveIntegerField(
        "worth showing for",
        default=86_400,
        validators=[MinValueValidator(60), MaxValueValidator(MAX_TTL)],
        help_text="Seconds from the start; a phone that comes online later shows nothing.",
    )
    analytics_label = models.CharField(
        max_length=50,
        blank=True,
        help_text="Names this campaign in Firebase's reports. Empty: made from its name.",
    )
    category = models.ForeignKey(
        "notifications.Category",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="campaigns",
    )
    inbox = models.BooleanField(default=False, db_default=False)
    # The weight of the main text; each variant has its own.
    weight = models.PositiveSmallIntegerField(
        default=campaign_variants.EVEN,
        db_default=campaign_variants.EVEN,
        validators=campaign_variants.IN_RANGE,
    )
    control_percent = models.PositiveSmallIntegerField(
        blank=True, default=0, db_default=0, validators=[MaxValueValidator(MAX_CONTROL)]
    )
    past_holdout = models.BooleanField(default=False, db_default=False)
    past_caps = models.BooleanField(default=False, db_default=False)
    once_each = models.BooleanField(default=False, db_default=False)
    precedence = models.CharField(
        max_length=6,
        choices=Run.Precedence,
        default=Run.Precedence.NORMAL,
        db_default=Run.Precedence.NORMAL.value,
    )
    # The run whose messages this campaign replaces; see `correcting.py`.
    corrects = models.ForeignKey(
        Run, null=True, editable=False, on_delete=models.PROTECT, related_name="corrections"
    )
    goal_event = models.CharField(
        max_length=64, blank=True, default="", db_default="", validators=[validate_event_name]
    )
    goal_within_seconds = models.PositiveIntegerField(
        default=86_400,
        db_default=86_400,
        validators=[MinValueValidator(60), MaxValueValidator(MAX_WITHIN)],
    )
    goal_after = models.CharField(
        max_length=8, choices=Run.GoalAfter, default=Run.GoalAfter.OPENED, db_default="opened"
    )
    goal_value = models.CharField(
        max_length=64, blank=True, default="", db_default="", validators=[validate_attribute_name]
    )
    first_percent = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_FIRST)],
    )
    first_least = models.PositiveIntegerField(
        default=500,
        db_default=500,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_LEAST)],
    )
    first_wait_seconds = models.PositiveIntegerField(
        default=900,
        db_default=900,
        validators=[MinValueValidator(60), MaxValueValidator(MAX_TTL // 2)],
    )
    first_most_rejected = models.PositiveSmallIntegerField(
        default=5, db_default=5, validators=PERCENT
    )
    first_most_dead = models.PositiveSmallIntegerField(
        default=10, db_default=10, validators=PERCENT
    )
    first_least_received = models.PositiveSmallIntegerField(
        default=30, db_default=30, validators=PERCENT
    )
    winner_by = models.CharField(
        max_length=6, choices=Run.WinnerBy, default=Run.WinnerBy.OWN, db_default="own"
    )
    no_winner = models.CharField(
        max_length=5, choices=Run.NoWinner, default=Run.NoWinner.ASK, db_default="ask"
    )
    # While this is set, runs of its series that come due are left out.
    series_paused_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Moved occurrences, by name; see `repeats/moved_occurrences.py`.
    moved: models.JSONField[Any, Any] = models.JSONField(
        default=dict, db_default={}, blank=True, editable=False
    )
    tags = ArrayField(models.CharField(max_length=30), default=list, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(schedule_kind="now") | Q(at__isnull=False),
                name="a_scheduled_campaign_has_a_time",
            ),
            models.CheckConstraint(
                condition=~Q(schedule_kind="recurring") | ~Q(repeat=""),
                name="a_recurring_campaign_repeats",
            ),
            models.CheckConstraint(
                condition=Q(rate_per_second__isnull=True) | Q(rate_per_second__gte=1),
                name="a_rate_is_at_least_one",
            ),
            models.CheckConstraint(
                condition=Q(spread_seconds__isnull=True)
                | Q(spread_seconds__gte=MIN_SPREAD, spread_seconds__lte=MAX_SPREAD),
                name="a_spread_in_range",
            ),
            models.CheckConstraint(
                condition=Q(opens_per_second__isnull=True) | Q(opens_per_second__gte=1),
                name="opens_are_at_least_one",
            ),
            models.CheckConstraint(
                condition=Q(ttl_seconds__gte=60, ttl_seconds__lte=MAX_TTL), name="a_ttl_fcm_takes"
            ),
        ]
        indexes = [models.Index(fields=["project", "-id"], name="campaign_of_project")]

    class NotReady(Exception):
        """The campaign cannot be launched now; `problems` says per field why and what to do."""

        def __init__(self, problems: dict[str, str]) -> None:
            super().__init__(" ".join(problems.values()))
            self.problems = problems

    class AlreadyLaunched(Exception):
        """Another person or an earlier click launched the campaign; `run` is that run."""

        def __init__(self, run: Run) -> None:
            text = _(
                "This campaign was already launched as run %(number)d. Duplicate the campaign to "
                "send it again."
            )
            super().__init__(text % {"number": run.pk})
            self.run = run

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def locked(pk: int) -> Campaign:
        """Load and lock the campaign: until the transaction ends, nobody else can change its
        series or delete it. Raises DoesNotExist if it was deleted."""
        return Campaign.objects.select_for_update(no_key=True).get(pk=pk)

    def clean(self) -> None:
        self.control_percent = self.control_percent or 0  # an empty field: no control group
        if problems := campaign_problems.problems(self):
            raise ValidationError(problems)
        if self.pk and campaign_problems.when_changed(self):
            self.moved = {}  # they belong to the old times

    @property
    def tries_variants(self) -> bool:
        """Whether the first part tries the variants, and the rest gets the best one."""
        return self.winner_by != Run.WinnerBy.OWN

    @property
    def label(self) -> str:
        """The analytics label under which Firebase's reports show it."""
        return self.analytics_label or analytics_labels.made_from(self.name, self.pk)

    @property
    def zone(self) -> str:
        """The time zone of its times. Sent now, it uses the project's: its own is a leftover."""
        return self.project.timezone if self.schedule_kind == self.Schedule.NOW else self.timezone

    @property
    def policy(self) -> dict[str, Any]:
        """The send settings that a launch now would freeze."""
        values = {name: getattr(self, name) for name in POLICY}
        return values | {"analytics_label": self.label, "category_kind": self.kind}

    @property
    def kind(self) -> str:
        """The kind of its category, which a run launched now would use. Empty: marketing."""
        return self.category.kind if self.category else ""

    @property
    def asks(self) -> dict[str, Any]:
        """What standing.py must know of its category to say who is unsubscribed or suppressed."""
        return eligibility.skip_reason_params(
            self.kind, self.category.slug if self.category else ""
        )

    @property
    def quiet_hours(self) -> QuietHours | None:
        """The quiet hours that it keeps to; None if it may be sent at any hour."""
        return quiet_hours.for_category(
            self.project, self.kind, self.category.slug if self.category else ""
        )

    @property
    def caps(self) -> Caps | None:
        """The frequency caps that it would keep to or count towards; None if neither."""
        slug = self.category.slug if self.category else ""
        return caps.for_category(self.project, self.kind, slug, past=self.past_caps)

    @property
    def series(self) -> Run | None:
        """The last run of its launched series; None if there is none or it was stopped."""
        last = series.last_run(self.pk)
        return None if last is None or series.stopped(last) else last

    @property
    def rhythm(self) -> Rhythm | Cron:
        return repeating.rhythm_of(self)

    @property
    def first(self) -> datetime | None:
        """The first of its times. In a series, the typed time may fall on none of its days."""
        if self.at is None or self.schedule_kind != self.Schedule.RECURRING:
            return self.at
        return self.rhythm.next_after(self.at - moved_occurrences.INSTANT)

    @property
    def how_often(self) -> str:
        return repeating.how_often(self)

    @property
    def how_often_in_full(self) -> str:
        return repeating.with_days_off(self.how_often, self)

    def coming(self, after: datetime, most: int) -> list[datetime]:
        """Return when the next occurrences without a run are due."""
        return [occurrence.due for occurrence in self.next_ones(after, most)]

    def following(self, after: datetime) -> Occurrence | None:
        """Return the next occurrence that has no run."""
        return next(iter(self.next_ones(after, 1)), None)

    def next_ones(self, after: datetime, most: int) -> list[Occurrence]:
        last = self.series if self.moved else None  # else none stands before it
        return list(islice(self.occurrences(after, last), most))

    def goes_at(self, now: datetime) -> datetime | None:
        """Return the time for which a launch now would make its run; None if it sends at once."""
        if self.schedule_kind == self.Schedule.NOW or self.at is None:
            return None
        if self.schedule_kind == self.Schedule.AT:
            return self.at
        occurrence = self.following(now)
        return occurrence.due if occurrence else None

    def starts_at(self, now: datetime) -> datetime:
        """Return when that run would start: now, if its time has passed or it has none."""
        at = self.goes_at(now)
        return max(self.begins(at), now) if at else now

    def begins(self, at: datetime) -> datetime:
        """Return when a run for that time begins: with local time earlier, in the first zone."""
        return local.begins(self, at)

    def occurrences(self, after: datetime, last: Run | None) -> Iterator[Occurrence]:
        """Yield the occurrences that have no run; one that was moved ahead may have been sent.
        A series that is launched again goes on after its run that still goes around the earth."""
        if last is None and self.local_time and (way := series.on_their_way(self.pk)):
            after = max(after, way)
        return (
            occurrence
            for occurrence in moved_occurrences.after(self, after, last)
            if not self._is_held(occurrence.instant)
        )

    def _is_held(self, at: datetime) -> bool:
        runs = Run.objects.filter(HOLDS, campaign=self.pk, occurrence=series.name_of(at))
        return runs.exists()

    def current_run(self) -> Run | None:
        """Return the run of this campaign's occurrence; of a series, its last run."""
        if self.schedule_kind == self.Schedule.RECURRING:
            return self.series
        return self.runs.filter(HOLDS).order_by("-id").first()

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete it with its rehearsals, from which nobody got anything. Raises ProtectedError
        while a rehearsal goes on, and once the campaign was launched."""
        with transaction.atomic():
            rehearsal.remove_all_of(self.pk)
            deleted = super().delete(*args, **kwargs)
            self.template.delete_if_empty()
            return deleted

    def duplicate(self) -> Campaign:
        copy = Campaign.objects.get(pk=self.pk)
        copy.pk, copy._state.adding = None, True
        names = Campaign.objects.filter(project=self.project_id).values_list("name", flat=True)
        copy.name, copy.archived_at = name_of_copy(self.name, set(names)), None
        copy.corrects = copy.series_paused_at = None
        copy.moved = {}
        with transaction.atomic():
            copy.save()
            campaign_variants.choose(
                copy, [(row.template, row.weight) for row in self.variants.all()]
            )
        return copy

    def duplicate_for(
        self, audience: Audience, *, named: str, corrects: Run | None = None
    ) -> Campaign:
        """Create a copy for another audience. A person launches it: its own time has passed."""
        copy = self.duplicate()
        copy.corrects = corrects
        copy.name = named % {"name": self.name[:80]}
        copy.audience = audience
        copy.control_percent = 0  # the control group is not among these people
        if corrects:
            copy.past_holdout = True  # all who got the wrong text get the right one
            campaign_variants.choose(copy, [])  # one text replaces them all
            copy.winner_by = Run.WinnerBy.OWN
        times = {**NEVER, "schedule_kind": self.Schedule.NOW, "timezone": self.project.timezone}
        for name, value in times.items():
            setattr(copy, name, value)
        copy.holiday_names = {}
        copy.save()
        return copy

    @property
    def content(self) -> dict[str, Any]:
        """The text that a launch now would freeze."""
        content = self.template.frozen()
        return in_place_of(self.corrects.content, content) if self.corrects else content
