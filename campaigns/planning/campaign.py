"""Campaign: what do we intend? Edited freely; launching freezes it into a Run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.audiences.audience import Audience
from campaigns.echo.opening import learned
from campaigns.planning import labels, local, outlook
from campaigns.planning.local import Passed, Zoneless
from campaigns.planning.repeats import cron, moved, repeating, rhythm, weekdays
from campaigns.planning.repeats.cron import Cron
from campaigns.planning.repeats.moved import Occurrence
from campaigns.planning.repeats.rhythm import Rhythm
from campaigns.planning.variants import launching, variant
from campaigns.runs import series
from campaigns.runs.policy import MAX_RATE, POLICY, TIMES
from campaigns.runs.rehearsals import rehearsal
from campaigns.runs.run import HOLDS, Run
from campaigns.runs.series import ONCE
from campaigns.runs.variants import split
from campaigns.texts.content import in_place_of
from campaigns.texts.rendering import Renderer
from campaigns.texts.template import Template
from notifications.fcm import rules
from notifications.fcm.rules import MAX_TTL
from notifications.people.attributes import validate_attribute_name
from notifications.people.consent import caps, quiet_hours, standing
from notifications.people.consent.caps import Caps
from notifications.people.consent.hours import QuietHours
from notifications.people.project import OfProject
from notifications.values.copies import name_of_copy
from notifications.values.moments import in_words
from notifications.values.zones import validate_zone

MOST_EVERY = 365
MOST_WITHIN = 30 * 86_400
MOST_FIRST = 50  # percent: more is no part to try it on
MAX_LEAST = 1_000_000
PERCENT = [MinValueValidator(0), MaxValueValidator(100)]
MOST_CONTROL = 90
LEAST_SPREAD, MOST_SPREAD = 60, 7 * 86_400


class Campaign(OfProject):
    """What do we intend: who, what, when, and how fast?"""

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

    name = models.CharField(max_length=100)
    audience = models.ForeignKey(Audience, on_delete=models.PROTECT, related_name="campaigns")
    template = models.ForeignKey(Template, on_delete=models.PROTECT, related_name="campaigns")
    # How it is sent: policy.py has the words that people read. Those of these columns stand in the
    # migrations, and nothing shows them.
    schedule_kind = models.CharField("when", max_length=9, choices=Schedule, default=Schedule.NOW)
    at = models.DateTimeField(null=True, blank=True)
    repeat = models.CharField(max_length=7, choices=Repeat, blank=True)
    cron = models.CharField(max_length=cron.LONGEST, default="", db_default="", blank=True)
    every = models.PositiveSmallIntegerField(
        default=1, db_default=1, validators=[MinValueValidator(1), MaxValueValidator(MOST_EVERY)]
    )
    on_days = models.CharField(max_length=8, choices=OnDays, default="", db_default="", blank=True)
    weekdays = models.CharField(max_length=weekdays.LONGEST, default="", db_default="", blank=True)
    days_off = models.TextField(default="", db_default="", blank=True)  # a date a line
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
        validators=[MinValueValidator(LEAST_SPREAD), MaxValueValidator(MOST_SPREAD)],
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
    # Of the main text, beside those of its variants.
    weight = models.PositiveSmallIntegerField(
        default=variant.EVEN, db_default=variant.EVEN, validators=variant.IN_RANGE
    )
    control_percent = models.PositiveSmallIntegerField(
        blank=True, default=0, db_default=0, validators=[MaxValueValidator(MOST_CONTROL)]
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
    # The run whose messages its own take the place of; see `correcting.py`.
    corrects = models.ForeignKey(
        Run, null=True, editable=False, on_delete=models.PROTECT, related_name="corrections"
    )
    goal_event = models.CharField(
        max_length=64, blank=True, default="", db_default="", validators=[validate_attribute_name]
    )
    goal_within_seconds = models.PositiveIntegerField(
        default=86_400,
        db_default=86_400,
        validators=[MinValueValidator(60), MaxValueValidator(MOST_WITHIN)],
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
        validators=[MinValueValidator(1), MaxValueValidator(MOST_FIRST)],
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
    # While it is, runs of its series that come due are left out.
    series_paused_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Occurrences that go at another time, by name: see `repeats/moved.py`.
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
                | Q(spread_seconds__gte=LEAST_SPREAD, spread_seconds__lte=MOST_SPREAD),
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
        """It cannot be launched as it stands; `problems` says per field why and what to do."""

        def __init__(self, problems: dict[str, str]) -> None:
            super().__init__(" ".join(problems.values()))
            self.problems = problems

    class AlreadyLaunched(Exception):
        """Somebody, or an earlier click, launched it; `run` is that run."""

        def __init__(self, run: Run) -> None:
            said = _(
                "This campaign was already launched as run %(number)d. Duplicate the campaign to "
                "send it again."
            )
            super().__init__(said % {"number": run.pk})
            self.run = run

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def locked(pk: int) -> Campaign:
        """As it is now; until the transaction ends its series is nobody else's to change, and
        nobody deletes it. Raises DoesNotExist when somebody did."""
        return Campaign.objects.select_for_update(no_key=True).get(pk=pk)

    def clean(self) -> None:
        problems: dict[str, str] = {}
        self.control_percent = self.control_percent or 0  # an empty field is nobody
        if self.schedule_kind == self.Schedule.AT and self.at is None:
            problems["at"] = _("Choose a time, or launch it now.")
        if self.schedule_kind == self.Schedule.RECURRING:
            problems |= repeating.problems(self)
        if self.pk and (last := self.series) and self._when_changed():
            goes_on = series.goes_on(last, timezone.now())
            problems["schedule_kind"] = str(STANDS if goes_on else ENDED)
        elif self.pk:
            problems |= self._when_is_held()
            self.moved = {} if self._when_changed() else self.moved  # of other times than these
        strangers = {
            "audience": _("There is no such audience in this project."),
            "template": _("There is no such template in this project."),
            "category": _("There is no such category in this project."),
        }
        for name in strangers:
            chosen = getattr(self, name, None) if getattr(self, f"{name}_id") else None
            if chosen is not None and chosen.project_id != self.project_id:
                problems[name] = strangers[name]
        problems |= self._time_problems() | self._winner_problems() | local.problems(self)
        if self.analytics_label and (words := rules.label(self.analytics_label)):
            problems["analytics_label"] = words
        if problems:
            raise ValidationError(problems)

    @property
    def tries_variants(self) -> bool:
        """The first part does, and the rest gets the one that did best."""
        return self.winner_by != Run.WinnerBy.OWN

    def _time_problems(self) -> dict[str, str]:
        """Who comes late must still find it worth showing."""
        most, problems = self.ttl_seconds // 2, {}
        words = {"most": in_words(most)}
        if self.first_percent is not None and self.first_wait_seconds > most:
            said = _("Wait at most %(most)s, half of “Expires after”: the rest is sent after it.")
            problems["first_wait_seconds"] = said % words
        if self.spread_seconds is not None and self.spread_seconds > most:
            said = _("At most %(most)s, half of “Expires after”, which goes on while it is spread.")
            problems["spread_seconds"] = said % words
        return problems

    def _winner_problems(self) -> dict[str, str]:
        if self.tries_variants and self.first_percent is None:
            return {"winner_by": _("Say above how many percent try the variants.")}
        if self.winner_by == Run.WinnerBy.GOAL and not self.goal_event:
            return {"winner_by": _("Name the goal's event, or choose by who opened it.")}
        return {}

    def _when_is_held(self) -> dict[str, str]:
        """A run that has not ended rings at the time that it was launched for, whatever we say."""
        going = self.runs.filter(HOLDS, occurrence=ONCE, finished_at=None)
        run = going.exclude(state=Run.State.CANCELLED).first()
        if run is None or not (changed := self._when_changed()):
            return {}
        said = MOVE_IT if run.state == Run.State.SCHEDULED else END_IT
        field = "schedule_kind" if "schedule_kind" in changed else "at"
        return {field: said % {"number": run.pk}}

    def _when_changed(self) -> set[str]:
        saved = Campaign.objects.values_list(*TIMES).get(pk=self.pk)
        return {name for name, was in zip(TIMES, saved, strict=True) if getattr(self, name) != was}

    @property
    def label(self) -> str:
        """What Firebase's reports call it."""
        return self.analytics_label or labels.made_from(self.name, self.pk)

    @property
    def zone(self) -> str:
        """In which its times are told. One chosen for a time that is asked for no more is void."""
        return self.project.timezone if self.schedule_kind == self.Schedule.NOW else self.timezone

    @property
    def policy(self) -> dict[str, Any]:
        """What a launch at this moment would freeze of how it is sent."""
        said = {name: getattr(self, name) for name in POLICY}
        return said | {"analytics_label": self.label, "category_kind": self.kind}

    @property
    def kind(self) -> str:
        """Of its category: what a run that is launched now goes by. Empty: marketing."""
        return self.category.kind if self.category else ""

    @property
    def asks(self) -> dict[str, Any]:
        """What standing.py must know of its category to say who would be out."""
        return standing.asked_of(self.kind, self.category.slug if self.category else "")

    @property
    def quiet_hours(self) -> QuietHours | None:
        """Those it keeps to; None: it may leave at any hour."""
        return quiet_hours.of(self.project, self.kind, self.category.slug if self.category else "")

    @property
    def caps(self) -> Caps | None:
        """Those it would keep to, or count for; None: neither."""
        slug = self.category.slug if self.category else ""
        return caps.of(self.project, self.kind, slug, past=self.past_caps)

    @property
    def series(self) -> Run | None:
        """The last run of a campaign that was launched to repeat, unless somebody stopped it."""
        last = series.last_run(self.pk)
        return None if last is None or series.stopped(last) else last

    @property
    def rhythm(self) -> Rhythm | Cron:
        return repeating.rhythm_of(self)

    @property
    def first(self) -> datetime | None:
        """The first of its times: what is typed as that may be none of its days."""
        if self.at is None or self.schedule_kind != self.Schedule.RECURRING:
            return self.at
        return self.rhythm.next_after(self.at - moved.INSTANT)

    @property
    def how_often(self) -> str:
        return repeating.how_often(self)

    @property
    def how_often_in_full(self) -> str:
        return repeating.with_days_off(self.how_often, self)

    def coming(self, after: datetime, most: int) -> list[datetime]:
        """When the next ones are due that no run holds."""
        return [one.due for one in self.next_ones(after, most)]

    def following(self, after: datetime) -> Occurrence | None:
        """The next one that no run holds."""
        return next(iter(self.next_ones(after, 1)), None)

    def next_ones(self, after: datetime, most: int) -> list[Occurrence]:
        last = self.series if self.moved else None  # else none stands before it
        return list(islice(self.occurrences(after, last), most))

    def goes_at(self, now: datetime) -> datetime | None:
        """The time for which a launch at this moment would make its run; None: at once."""
        if self.schedule_kind == self.Schedule.NOW or self.at is None:
            return None
        if self.schedule_kind == self.Schedule.AT:
            return self.at
        one = self.following(now)
        return one.due if one else None

    def starts_at(self, now: datetime) -> datetime:
        """Of that run; what has passed, or has no time, goes now."""
        at = self.goes_at(now)
        return max(self.begins(at), now) if at else now

    def begins(self, at: datetime) -> datetime:
        """A run for that time: by each reader's clock before it, in the first zone of all."""
        return local.begins(self, at)

    def occurrences(self, after: datetime, last: Run | None) -> Iterator[Occurrence]:
        """Those that no run holds: one that was moved ahead may have been sent. Launched again, a
        series goes on behind the run that is still on its way around the earth."""
        if last is None and self.local_time and (way := series.on_their_way(self.pk)):
            after = max(after, way)
        return (one for one in moved.after(self, after, last) if not self._is_held(one.instant))

    def _is_held(self, at: datetime) -> bool:
        held = Run.objects.filter(HOLDS, campaign=self.pk, occurrence=series.name_of(at))
        return held.exists()

    def current_run(self) -> Run | None:
        """The run that holds this campaign's occurrence, if it was launched."""
        if self.schedule_kind == self.Schedule.RECURRING:
            return self.series
        return self.runs.filter(HOLDS).order_by("-id").first()

    def launch(self, *, by: str, now: datetime) -> Run:
        """Freeze content and policy into a Run. Of any number of clicks, one makes it."""
        self._refuse_a_second_series()
        if problems := self.problems(now):
            raise Campaign.NotReady(problems)
        try:
            with transaction.atomic():
                self._refuse_what_changed_meanwhile(Campaign.locked(self.pk))
                self._refuse_a_second_series()
                return self._make_run(by, now)
        except IntegrityError as error:
            run = self.current_run()
            if run is None:
                raise
            raise Campaign.AlreadyLaunched(run) from error

    def _refuse_what_changed_meanwhile(self, locked: Campaign) -> None:
        """What was looked at is what goes out: not what somebody else saved a moment later."""
        if self._meant != locked._meant:
            said = _("It was changed a moment ago. Check it again, then launch it.")
            raise Campaign.NotReady({"campaign": said})

    @property
    def _meant(self) -> tuple[Any, ...]:
        """All that a launch goes by."""
        when = [getattr(self, name) for name in TIMES]
        texts = [(one.weight, one.template.frozen()) for one in launching.wordings(self)]
        who_and_what = (self.audience.frozen_rules(), texts)
        return (*who_and_what, self.policy, when, self.archived_at is None)

    def _refuse_a_second_series(self) -> None:
        """The unique key would let one through that begins with another occurrence."""
        if self.schedule_kind == self.Schedule.RECURRING and (run := self.series):
            raise Campaign.AlreadyLaunched(run)

    def problems(self, now: datetime) -> dict[str, str]:
        """What keeps it from being launched at this moment."""
        return self.unready(now) or self.hopeless(self.look()) or launching.hopeless(self)

    def unready(self, now: datetime) -> dict[str, str]:
        """What can be said of it without a look at anybody."""
        problems: dict[str, str] = {}
        if self.archived_at is not None:
            problems["campaign"] = _("It is archived. Bring it back first.")
        for name, checked in (("audience", self.audience), ("template", self.template)):
            try:
                checked.clean()
            except ValidationError as error:
                problems[name] = f"{checked}: {' '.join(error.messages)}"
        if self.schedule_kind == self.Schedule.AT and local.is_over(self, now):
            problems["at"] = _("This time has passed. Choose a later one, or launch it now.")
        if self.schedule_kind == self.Schedule.RECURRING and not self.coming(now, 1):
            problems |= repeating.none_left(self, now)
        if self.opens_per_second and not learned(self.project_id, now).known:
            problems["opens_per_second"] = str(UNKNOWN_OPENS)
        if not (self.template.title or self.template.body):
            problems["template"] = _("The text is empty: write a title and a text.")
        return problems | launching.unready(self)

    def hopeless(self, look: outlook.Look, template: Template | None = None) -> dict[str, str]:
        if not look.hopeless:
            return {}
        said = _("%(template)s: FCM would reject it for every person checked. %(detail)s")
        words = {"template": template or self.template, "detail": look.refused[0].detail}
        return {"template": said % words}

    def look(self, template: Template | None = None) -> outlook.Look:
        """How it would end for those whose message is likely to be the longest."""
        renderer = Renderer(
            (template or self.template).frozen(),
            collapse_id="carillon-0",
            analytics_label=self.label,
            asks_receipts=self.project.asks_receipts,
            counts_links=self.project.counts_links,
        )
        return outlook.look(self.project_id, self.audience.effective_rules, renderer)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Its rehearsals go with it: nobody got anything of them. Raises ProtectedError while one
        goes on, and once it was launched."""
        with transaction.atomic():
            rehearsal.remove_all_of(self.pk)
            return super().delete(*args, **kwargs)

    def duplicate(self) -> Campaign:
        copy = Campaign.objects.get(pk=self.pk)
        copy.pk, copy._state.adding = None, True
        taken = Campaign.objects.filter(project=self.project_id).values_list("name", flat=True)
        copy.name, copy.archived_at = name_of_copy(self.name, set(taken)), None
        copy.corrects = copy.series_paused_at = None
        copy.moved = {}
        with transaction.atomic():
            copy.save()
            variant.choose(copy, [(one.template, one.weight) for one in self.variants.all()])
        return copy

    def duplicate_for(
        self, audience: Audience, *, named: str, corrects: Run | None = None
    ) -> Campaign:
        """A draft of the same for others, to be launched by hand: its own time has passed."""
        copy = self.duplicate()
        copy.corrects = corrects
        copy.name = named % {"name": self.name[:80]}
        copy.audience = audience
        copy.control_percent = 0  # who was to get nothing is not among them
        if corrects:
            variant.choose(copy, [])  # one text takes the place of all
            copy.winner_by = Run.WinnerBy.OWN
        copy.schedule_kind, copy.at, copy.repeat, copy.until = self.Schedule.NOW, None, "", None
        copy.local_time = False
        copy.save()
        return copy

    def _make_run(self, by: str, now: datetime) -> Run:
        repeats = self.schedule_kind == self.Schedule.RECURRING
        first = self.following(now) if repeats else None
        at = first.due if first else self.goes_at(now)
        begins = self.begins(at) if at else now
        texts = launching.wordings(self)
        weights = [one.weight for one in texts]
        run = Run.objects.create(
            project_id=self.project_id,
            campaign=self,
            occurrence=series.name_of(first.instant) if first else ONCE,
            state=Run.State.SCHEDULED if begins > now else Run.State.PREPARING,
            content=self.content,
            corrects=self.corrects,
            split=split.launched(weights, control=self.control_percent),
            rules=self.audience.frozen_rules(),
            **self.policy,
            scheduled_at=max(begins, now),
            hour=local.hour_of(self, at),
            launched_by=by,
        )
        launching.freeze(run, texts)
        return run

    @property
    def content(self) -> dict[str, Any]:
        """What a launch at this moment would freeze of what it says."""
        content = self.template.frozen()
        return in_place_of(self.corrects.content, content) if self.corrects else content


# What a launch froze is not moved by an edit; whoever may launch stops the series first.
UNKNOWN_OPENS = gettext_lazy(
    "Nobody knows yet how many open a message of this project: that takes 1,000 sent a day ago or "
    "earlier to phones that report it (docs/receipts.md), and 20 who opened one. Set “At most, per "
    "second” instead."
)
STANDS = gettext_lazy("It already repeats. Stop it first, then change its times.")
MOVE_IT = gettext_lazy(
    "It was launched as run %(number)d. Move that run, or cancel it; then its time can be changed."
)
END_IT = gettext_lazy(
    "It was launched as run %(number)d. Cancel that run, or wait for its end; then its time can be "
    "changed."
)
# A later end would wake it up again, and nobody would have launched that.
ENDED = gettext_lazy("Its series has ended. Duplicate the campaign to start another.")
