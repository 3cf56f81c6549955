"""Run: one launch of a campaign with its frozen settings, and the table of its state changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from django.contrib.postgres.fields import ArrayField, BigIntegerRangeField
from django.db import models, transaction
from django.db.models import Case, F, Func, Q, Value, When
from django.db.models.functions import Now
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from campaigns.runs import details, local_time
from campaigns.runs.details import Detail
from campaigns.runs.local_time import LocalTime
from campaigns.runs.policy import LIVE, slowest
from campaigns.runs.reasons import Cause
from notifications.pacing import load
from notifications.people.consent import caps, eligibility, quiet_hours
from notifications.people.consent.caps import Caps
from notifications.people.consent.hours import QuietHours
from notifications.people.project import OfProject
from notifications.values.registry import Registry

KNOWN_STATES = [
    "scheduled", "preparing", "sending", "rehearsing", "paused", "finished", "cancelled", "open",
]  # fmt: skip
# The only states of a rehearsal: no release sends a run that is not `sending` or `open`.
STATES_OF_REHEARSALS = ["preparing", "rehearsing", "paused", "finished", "cancelled"]

# Called inside the transaction that changes a run's state.
on_run_moved = Registry[Callable[["Run"], object]]()
# The run has not begun, and its recipients are not being chosen yet.
WAITS = Q(state="scheduled") | Q(state="paused", planned__isnull=True)
# A run cancelled before anything left gives its occurrence back.
HOLDS = ~Q(state="cancelled", started_at__isnull=True)


class Of(models.Manager["Run"]):
    """A manager of runs of certain kinds: code that reads runs names the kinds that it means.

    A rehearsal sends nothing to anybody, so only code that drives, shows or removes rehearsals
    reads them.
    """

    kinds: tuple[str, ...] = ()  # on the class: Django makes the managers of relations from it

    def get_queryset(self) -> models.QuerySet[Run]:
        return super().get_queryset().filter(kind__in=self.kinds)


class OfCampaigns(Of):
    kinds = ("campaign",)


class OfEveryKindSent(Of):
    kinds = ("campaign", "messages")


class OfEveryKindDriven(Of):
    kinds = ("campaign", "rehearsal")


class OfRehearsals(Of):
    kinds = ("rehearsal",)


class Run(OfProject):
    """One launch of a campaign: its frozen settings, its state and its totals.

    A run of the kind `messages` has a project's messages of one day. A run of the kind `rehearsal`
    says what would happen: FCM was only asked to check the messages.
    """

    class Kind(models.TextChoices):
        CAMPAIGN = "campaign", _("Campaign")
        MESSAGES = "messages", _("Messages")
        REHEARSAL = "rehearsal", _("Rehearsal")

    class State(models.TextChoices):
        SCHEDULED = "scheduled", _("Scheduled")
        PREPARING = "preparing", _("Preparing")
        SENDING = "sending", _("Sending")
        REHEARSING = "rehearsing", _("Rehearsing")  # FCM checks each message and delivers none
        PAUSED = "paused", _("Paused")
        FINISHED = "finished", _("Finished")
        CANCELLED = "cancelled", _("Cancelled")
        OPEN = "open", _("Open")  # takes messages; its day may go on

    class OnUnknown(models.TextChoices):
        RESEND = "resend", _("Send again (a phone shows one)")
        HOLD = "hold", _("Never send twice")

    class Precedence(models.TextChoices):
        LOW = "low", _("Low")
        NORMAL = "normal", _("Normal")
        HIGH = "high", _("High")

    class GoalAfter(models.TextChoices):
        OPENED = "opened", _("Opened")
        RECEIVED = "received", _("Received")

    class WinnerBy(models.TextChoices):
        OWN = "own", _("Each a variant of their own")
        OPENED = "opened", _("The variant that more people opened")
        GOAL = "goal", _("The variant that brought the goal about from more people")

    class NoWinner(models.TextChoices):
        ASK = "ask", _("Ask me")
        FIRST = "first", _("Send variant A to the rest")
        SPLIT = "split", _("Split the rest among the variants")

    named_after = "campaign"  # in the audit trail: “run 12 of Spring sale”
    kind = models.CharField(max_length=9, choices=Kind, default="campaign", db_default="campaign")
    # Nullable, but typed as if not: code that reads runs of campaigns need not check for None.
    campaign: models.ForeignKey[Any, Any] = models.ForeignKey(
        "campaigns.Campaign", null=True, on_delete=models.PROTECT, related_name="runs"
    )
    occurrence = models.CharField(max_length=40, help_text=_("“once”, or the instant it was due."))
    state = models.CharField(max_length=10, choices=State)
    # Work in flight carries the epoch in which it was queued; a pause or cancel makes it stale.
    epoch = models.PositiveIntegerField(default=0)
    cause = models.CharField(max_length=20, choices=Cause, blank=True)
    detail_code = models.CharField(max_length=20, blank=True, default="", db_default="")
    detail_args = models.JSONField(null=True, editable=False)

    # Platforms whose key Firebase lacks; the run goes on without them.
    held_platforms = ArrayField(models.CharField(max_length=7), default=list)
    # Causes from which a person resumed: such a cause does not stop the run again.
    overruled = ArrayField(models.CharField(max_length=20), default=list)

    # Frozen at launch: edits of the campaign, template or audience do not reach a run. Its content
    # never changes: a person who changes the text for recipients who still wait adds a revision.
    content = models.JSONField()
    revision = models.SmallIntegerField(default=1, db_default=1, editable=False)  # the newest
    rules = models.JSONField()
    on_unknown = models.CharField(max_length=6, choices=OnUnknown)
    # See `caps/reserved_places.py`.
    precedence = models.CharField(
        max_length=6,
        choices=Precedence,
        default=Precedence.NORMAL,
        db_default=Precedence.NORMAL.value,
    )
    rate_per_second = models.PositiveIntegerField(null=True)
    spread_seconds = models.PositiveIntegerField(null=True)  # empty: not spread
    # Opens a second at most; and the rate that keeps to it, computed when its people are chosen.
    opens_per_second = models.PositiveIntegerField(null=True)
    opens_rate = models.FloatField(null=True, editable=False)
    ttl_seconds = models.PositiveIntegerField()
    analytics_label = models.CharField(max_length=50, blank=True)
    max_lateness_seconds = models.PositiveIntegerField()
    category = models.ForeignKey(
        "notifications.Category", null=True, on_delete=models.PROTECT, related_name="runs"
    )
    # Its kind at the launch: edits of the category do not reach a run. Empty: marketing.
    category_kind = models.CharField(max_length=13, blank=True, default="", db_default="")

    inbox = models.BooleanField(default=False, db_default=False)
    # For a correction: on devices, its messages replace the messages of that run.
    corrects = models.ForeignKey(
        "self", null=True, editable=False, on_delete=models.PROTECT, related_name="corrected_by"
    )
    # Empty: no goal. See `engagement/goal.py`.
    goal_event = models.CharField(max_length=64, blank=True, default="", db_default="")
    goal_within_seconds = models.PositiveIntegerField(default=86_400, db_default=86_400)
    goal_after = models.CharField(
        max_length=8, choices=GoalAfter, default="opened", db_default="opened"
    )
    goal_value = models.CharField(max_length=64, blank=True, default="", db_default="")

    # Empty: all go at once. See `campaigns/canary/`.
    first_percent = models.PositiveSmallIntegerField(null=True)
    first_least = models.PositiveIntegerField(default=500, db_default=500)
    first_wait_seconds = models.PositiveIntegerField(default=900, db_default=900)
    first_most_rejected = models.PositiveSmallIntegerField(default=5, db_default=5)
    first_most_dead = models.PositiveSmallIntegerField(default=10, db_default=10)
    first_least_received = models.PositiveSmallIntegerField(default=30, db_default=30)
    # How a variant is chosen for the rest, after the first part tried them all.
    winner_by = models.CharField(max_length=6, choices=WinnerBy, default="own", db_default="own")
    # What happens if no variant is clearly better.
    no_winner = models.CharField(max_length=5, choices=NoWinner, default="ask", db_default="ask")
    winner = models.SmallIntegerField(null=True, editable=False)  # once it is chosen, for good
    # Percent of the people who get nothing, to measure the effect of the text on the others.
    control_percent = models.PositiveSmallIntegerField(default=0, db_default=0)
    past_holdout = models.BooleanField(default=False, db_default=False)
    past_caps = models.BooleanField(default=False, db_default=False)
    # Only to people who have not got its campaign yet: see `prior_recipients.py`.
    once_each = models.BooleanField(default=False, db_default=False)
    # How its people are split into groups; empty: all get the same text. See `variants/split.py`.
    split: models.JSONField[Any, Any] = models.JSONField(
        default=dict, db_default={}, editable=False
    )

    scheduled_at = models.DateTimeField()
    # The local time at which each person gets it; empty: all at once. See `hours/local_time.py`.
    hour: models.JSONField[Any, Any] = models.JSONField(null=True, editable=False)
    launched_by = models.CharField(max_length=200)
    launched_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)  # when its first recipients were frozen
    # The start of its last pause, which may be earlier than the moment when it was noticed.
    paused_at = models.DateTimeField(null=True)
    resumed_at = models.DateTimeField(null=True)
    # The end of the last earlier pause that was longer than its lateness.
    resumed_late_at = models.DateTimeField(null=True, editable=False)
    finished_at = models.DateTimeField(null=True)
    reopened_at = models.DateTimeField(null=True, editable=False)  # to send again to the unknown
    # For a day of messages: when a worker last took messages to single people.
    taken_at = models.DateTimeField(null=True, editable=False)
    # When its series was stopped with this as the last run; no run follows it.
    series_stopped_at = models.DateTimeField(null=True, editable=False)
    # When its recipients were erased; its outcomes stay in the totals.
    forgotten_at = models.DateTimeField(null=True, editable=False)

    planned = models.PositiveIntegerField(
        null=True, help_text=_("Recipients; grows while they are being frozen.")
    )
    people = models.PositiveIntegerField(null=True)
    # Devices that were not seen since then are left out: the project's policy at the moment when
    # the freezing began.
    seen_since = models.DateTimeField(null=True, editable=False)
    # When the last recipient was chosen, and a fingerprint of all recipients; see `freezing`.
    # Empty until then.
    evaluated_at = models.DateTimeField(null=True, editable=False)
    recipients_hash = models.CharField(
        max_length=32, blank=True, default="", db_default="", editable=False
    )
    # Ids of the devices that are not evaluated yet; empty before the first part and after the last.
    unfrozen = BigIntegerRangeField(null=True, editable=False)
    accepted = models.PositiveIntegerField(default=0)
    rejected = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    unknown = models.PositiveIntegerField(default=0)

    objects = OfCampaigns()
    every = OfEveryKindSent()
    driven = OfEveryKindDriven()  # in waves, by `engine.advance`
    rehearsals = OfRehearsals()
    kept = models.Manager()  # runs of all kinds

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind="messages") | Q(campaign__isnull=False),
                name="launched_of_a_campaign",
            ),
            models.UniqueConstraint(
                fields=["project", "occurrence"],
                condition=Q(kind="messages"),
                name="one_run_of_messages_a_day",
            ),
            # Refuses the second click, the second beat and the second hour of a DST night.
            models.UniqueConstraint(
                fields=["campaign", "occurrence"], condition=HOLDS, name="one_run_per_occurrence"
            ),
            models.CheckConstraint(condition=Q(state__in=KNOWN_STATES), name="a_run_state_we_know"),
            models.CheckConstraint(
                condition=~Q(kind="rehearsal") | Q(state__in=STATES_OF_REHEARSALS),
                name="a_rehearsal_never_sends",
            ),
            models.CheckConstraint(
                condition=~Q(state="rehearsing") | Q(kind="rehearsal"),
                name="only_a_rehearsal_rehearses",
            ),
            models.UniqueConstraint(
                fields=["campaign"],
                condition=Q(kind="rehearsal", finished_at=None),
                name="one_rehearsal_at_a_time",
            ),
            models.CheckConstraint(
                condition=~Q(state="paused") | ~Q(cause=""), name="a_pause_has_a_cause"
            ),
            models.CheckConstraint(
                condition=~Q(state="finished") | Q(finished_at__isnull=False),
                name="a_finished_run_has_an_end",
            ),
            models.CheckConstraint(
                condition=~Q(state="finished") | Q(unfrozen__isnull=True),
                name="a_finished_run_left_no_device_out",
            ),
            models.CheckConstraint(
                condition=~Q(state="finished")
                | Q(planned=F("accepted") + F("rejected") + F("skipped") + F("unknown")),
                name="a_finished_run_balances",
            ),
        ]
        indexes = [
            models.Index(
                fields=["scheduled_at"], condition=Q(state="scheduled"), name="runs_to_start"
            ),
            models.Index(
                fields=["id"], condition=Q(finished_at__isnull=True), name="unfinished_runs"
            ),
            models.Index(fields=["project", "-id"], name="run_of_project"),
            models.Index(fields=["id"], condition=Q(state="open"), name="open_runs"),
            models.Index(
                fields=["project", "goal_event"],
                condition=~Q(goal_event=""),
                name="runs_with_goals",
            ),
        ]

    class InvalidMove(Exception):
        """The run's state does not allow this change; the message says which state."""

    def __str__(self) -> str:
        if self.kind == Run.Kind.MESSAGES:
            return f"messages of {self.occurrence}"
        text = gettext("%(campaign)s · run %(number)d")
        if self.is_rehearsal:
            text = gettext("%(campaign)s · rehearsal %(number)d")
        return text % {"campaign": self.campaign, "number": self.pk}

    @property
    def as_user(self) -> str:
        """The run's name in an error that says who uses a list."""
        return str(self) if self.kind == Run.Kind.MESSAGES else f"run {self.pk}"

    @property
    def asks(self) -> dict[str, Any]:
        """The parameters of its category with which standing.py finds the people who are out."""
        return eligibility.skip_reason_params(
            self.category_kind, self.category.slug if self.category else ""
        )

    @property
    def quiet_hours(self) -> QuietHours | None:
        """The quiet hours that it keeps to; None: it may be sent at any hour."""
        return quiet_hours.for_category(
            self.project, self.category_kind, self.category.slug if self.category else ""
        )

    @property
    def caps(self) -> Caps | None:
        """The frequency caps that it keeps to, or for which it counts; None: neither."""
        return None if self.is_rehearsal else self.caps_to_foresee

    @property
    def caps_to_foresee(self) -> Caps | None:
        """The same caps, also for a rehearsal: it skips people by them, though it counts nobody."""
        slug = self.category.slug if self.category else ""
        return caps.for_category(self.project, self.category_kind, slug, past=self.past_caps)

    @property
    def local_time(self) -> LocalTime | None:
        """The local time at which each person gets it; None: all at once."""
        if self.hour is None:
            return None
        return local_time.from_settings(self.hour, begins=self.scheduled_at, lateness=self.lateness)

    @property
    def lateness(self) -> timedelta:
        """How much later than planned it may still be sent."""
        return timedelta(seconds=self.max_lateness_seconds)

    @property
    def went_on_late_at(self) -> datetime | None:
        """When it was last resumed after a pause longer than its lateness; None: never."""
        if self.paused_at and self.resumed_at and self.resumed_at > self.paused_at + self.lateness:
            return self.resumed_at
        return self.resumed_late_at

    @property
    def on_every_clock(self) -> str:
        """When it is due in each person's local time, in words; empty: for all at once."""
        return local_time.on_every_clock(self.local_time.wall) if self.local_time else ""

    @property
    def is_rehearsal(self) -> bool:
        return self.kind == Run.Kind.REHEARSAL

    @property
    def leaves_as(self) -> State:
        """Its state while requests are sent."""
        return Run.State.REHEARSING if self.is_rehearsal else Run.State.SENDING

    @property
    def deadline(self) -> datetime:
        """The time after which nothing is sent: the last person's instant plus the time to live."""
        local = self.local_time
        begins = local.last if local else self.started_at or self.scheduled_at
        return begins + timedelta(seconds=self.ttl_seconds)

    @property
    def waiting(self) -> int:
        return (self.planned or 0) - self.accepted - self.rejected - self.skipped - self.unknown

    @property
    def tries_variants(self) -> bool:
        """Whether the first part tries the variants, and the rest gets the best one."""
        return self.winner_by != self.WinnerBy.OWN

    @property
    def asks_for_a_winner(self) -> bool:
        """Whether a person has to choose the variant for the rest, or let the rest go at all."""
        pauses = self.state == self.State.PAUSED and self.cause in (
            Cause.FIRST_PART,
            Cause.NO_WINNER,
        )
        return pauses and self.tries_variants

    @property
    def unfinished(self) -> bool:
        return self.finished_at is None or self.state == Run.State.OPEN

    @property
    def freezing(self) -> bool:
        """Whether it has begun while the rest of its audience is still being frozen.

        A pause does not stop the freezing: the launch decides who is in, not the length of a pause.
        """
        has_begun = self.state in (*LEAVING, Run.State.PAUSED)
        return has_begun and self.unfrozen is not None and self.cause != Cause.BROKEN

    @property
    def own_rate(self) -> float | None:
        """The rate that its settings ask for, in messages a second. While its people are being
        frozen, it spreads only those known so far."""
        pace = slowest(self)
        return pace[0] if pace else None

    @property
    def safe_rate(self) -> float | None:
        """The rate in messages a second, for all runs of campaigns together, by the last report of
        the project's own servers; None: they do not report, or this is no campaign."""
        reports = load.newest_report(self.project) if self.kind == Run.Kind.CAMPAIGN else None
        return reports.safe_rate if reports else None

    @property
    def reference(self) -> str:
        """The run's name for pacing and devices, which do not know what a run is."""
        return f"{'rehearsal' if self.is_rehearsal else 'run'}:{self.pk}"

    @property
    def collapse_id(self) -> str:
        """The id by which a second copy on a phone replaces the first. A correction has the id of
        the run that it corrects."""
        return self.corrects.collapse_id if self.corrects else f"carillon-{self.pk}"

    def text_family(self) -> list[int]:
        """Return the first run with the wrong text and all its corrections, also corrections of
        corrections, in the order of their launches. An inbox shows only the newest of them."""
        first: Run = self
        while first.corrects:
            first = first.corrects
        return sorted([first.pk, *first.all_corrections()])

    def all_corrections(self) -> list[int]:
        """Return the launched corrections of this run, and the corrections of those."""
        found: list[int] = []
        newest = [self.pk]
        while newest:
            direct = Run.objects.filter(corrects__in=newest)
            newest = list(direct.values_list("pk", flat=True))
            found += newest
        return found

    @property
    def detail(self) -> str:
        return details.in_words(self.detail_code, self.detail_args)

    @property
    def detail_for_programs(self) -> dict[str, Any]:
        text = details.in_english(self.detail_code, self.detail_args)
        return {"code": self.detail_code, "args": self.detail_args, "text": text}

    def move_to(self, state: State, *, of_epoch: int | None = None, **values: Any) -> None:
        """Change the state by one guarded UPDATE: of all processes that try, only one succeeds."""
        if state in STOPS_WORK:
            values["epoch"] = F("epoch") + 1
        what = gettext("become %(state)s") % {"state": gettext(state)}
        self._move(MOVES[state], what, of_epoch=of_epoch, state=state, **values)

    def _move(
        self, sources: Iterable[State], what: str, *, of_epoch: int | None = None, **values: Any
    ) -> None:
        movable = Run.driven.filter(pk=self.pk, state__in=sources)
        if of_epoch is not None:
            movable = movable.filter(epoch=of_epoch)
        while not self._move_and_tell(movable, values):
            self.refresh_from_db()
            # If it can move by now, try again: the refusal would name a state that allows it.
            if of_epoch is not None or STATE(self.state) not in sources:
                raise Run.InvalidMove(self._cannot(what))

    def _move_and_tell(self, movable: models.QuerySet[Run], values: dict[str, Any]) -> bool:
        with transaction.atomic():
            if not movable.update(**values):
                return False
            self.refresh_from_db()
            self.tell()
        return True

    def tell(self) -> None:
        """Call the listeners, inside the transaction that changed the state. Not for rehearsals."""
        if self.is_rehearsal:
            return
        for listener in on_run_moved:
            listener(self)

    def refused(self, what: str) -> Run.InvalidMove:
        return Run.InvalidMove(self._cannot(what))

    def _cannot(self, what: str) -> str:
        text = gettext("A %(state)s run cannot %(what)s.")
        return text % {"state": gettext(self.state), "what": what}

    def pause(
        self,
        cause: Cause,
        detail: Detail | str = "",
        *,
        epoch: int | None = None,
        since: datetime | None = None,
    ) -> None:
        """Pause the run. With an epoch: only if it was not paused and resumed since.

        `since` is when it had stopped already, although no process was there to pause it.
        """
        before = When(resumed_at__gt=F("paused_at") + self.lateness, then=F("resumed_at"))
        values = {
            "cause": cause,
            "paused_at": since or Now(),
            "resumed_late_at": Case(before, default=F("resumed_late_at")),
        }
        self.move_to(Run.State.PAUSED, of_epoch=epoch, **values, **details.columns(detail))

    def stop_for(self, cause: Cause, detail: Detail) -> None:
        """Pause the run; if it is paused already, replace the cause for which it waits."""
        if self.state == Run.State.PAUSED:
            what = gettext("become %(state)s") % {"state": gettext(Run.State.PAUSED)}
            self._move((Run.State.PAUSED,), what, cause=cause, **details.columns(detail))
        else:
            self.pause(cause, detail)

    def block(self, cause: Cause, detail: Detail | str) -> bool:
        """Record why none of a day's messages leaves now. Returns whether the cause is new.

        Messages are not paused: they wait for no person.
        """
        columns = details.columns(detail)
        days = Run.every.filter(pk=self.pk, state=Run.State.OPEN)
        args = columns["detail_args"]
        same_args = Q(detail_args__isnull=True) if args is None else Q(detail_args=args)
        changed = days.exclude(same_args, cause=cause, detail_code=columns["detail_code"])
        return self._move_and_tell(changed, {"cause": cause, **columns})

    def unblock(self) -> None:
        days = Run.every.filter(pk=self.pk, state=Run.State.OPEN).exclude(cause="")
        days.update(cause="", **details.columns(""))
        self.cause = ""

    def resume(self) -> None:
        """Go back to the state before the pause: to sending, to waiting for its time, or to the
        snapshot."""
        # The statement decides: the snapshot may commit between our reading and our writing, and
        # the cause that we overrule is the row's, not the one on a person's page.
        back_to = Case(
            When(planned__isnull=False, then=Value(self.leaves_as)),
            When(scheduled_at__gt=Now(), then=Value(Run.State.SCHEDULED)),
            default=Value(Run.State.PREPARING),
        )
        others = Func(F("overruled"), F("cause"), function="array_remove")
        self._move(
            (Run.State.PAUSED,),
            gettext("be resumed"),
            state=back_to,
            cause="",
            **details.columns(""),
            held_platforms=[],
            resumed_at=Now(),
            overruled=Func(others, F("cause"), function="array_append"),
        )

    def reopen(self) -> None:
        """Let the run send again to recipients whose outcome is unknown, as a person decided.

        An unfinished run just goes on. It runs inside the caller's transaction: until that commits,
        no other process can change the run's state, for example finish it.
        """
        self.refresh_from_db(from_queryset=Run.objects.select_for_update(no_key=True))
        if not self.unfinished:
            self.move_to(Run.State.SENDING, finished_at=None, reopened_at=Now())
        elif self.state not in (Run.State.SENDING, Run.State.PAUSED):
            raise Run.InvalidMove(self._cannot(gettext("send again")))

    def change(self, setting: str, value: Any, what: str) -> Any:
        """Change a live setting for the messages left to send. Returns the previous value."""
        if setting not in LIVE:
            raise ValueError(f"{setting} was frozen by the launch.")
        unfinished = Run.objects.select_for_update().filter(pk=self.pk, finished_at__isnull=True)
        row = unfinished.exclude(state=Run.State.CANCELLED).values_list(setting).first()
        if row is None:
            self.refresh_from_db()
            raise Run.InvalidMove(self._cannot(what))
        Run.objects.filter(pk=self.pk).update(**{setting: value})
        setattr(self, setting, value)
        return row[0]

    def hold_back(self, platform: str) -> None:
        """Go on without a platform whose key Firebase lacks, until a person resumes."""
        current = Run.driven.filter(pk=self.pk, epoch=self.epoch)
        if not current.exists():
            return  # resumed since: the next claim finds it out again
        current.exclude(held_platforms__contains=[platform]).update(
            held_platforms=Func(F("held_platforms"), Value(platform), function="array_append")
        )
        self.held_platforms = sorted({*self.held_platforms, platform})

    def cancel(self, *, left_out: Detail | None = None) -> None:
        """Cancel the run: nothing new starts, and `advance` closes the remaining recipients as
        skipped.

        With the detail `left_out`, a run that has not begun is left out of its series.
        """
        unbegun = Q(planned__isnull=True)
        values: dict[str, Any] = {"finished_at": Case(When(unbegun, then=Now()), default=None)}
        if left_out:
            for name, value in {"cause": "", **details.columns(left_out)}.items():
                new_value = Value(value, Run._meta.get_field(name))  # type: ignore[arg-type]
                values[name] = Case(When(unbegun, then=new_value), default=F(name))
        self.move_to(Run.State.CANCELLED, **values)


STATE = Run.State
MOVES: dict[Run.State, tuple[Run.State, ...]] = {
    STATE.SCHEDULED: (STATE.PAUSED,),
    STATE.PREPARING: (STATE.SCHEDULED, STATE.PAUSED),
    STATE.SENDING: (STATE.PREPARING, STATE.PAUSED, STATE.FINISHED),  # the last: see `reopen`
    STATE.REHEARSING: (STATE.PREPARING, STATE.PAUSED),
    STATE.PAUSED: (STATE.SCHEDULED, STATE.PREPARING, STATE.SENDING, STATE.REHEARSING),
    STATE.FINISHED: (STATE.SENDING, STATE.REHEARSING),
    STATE.CANCELLED: (
        STATE.SCHEDULED, STATE.PREPARING, STATE.SENDING, STATE.REHEARSING, STATE.PAUSED,
    ),
    STATE.OPEN: (),  # made so, by `messages/day.py`, which also ends it
}  # fmt: skip
LEAVING = (STATE.SENDING, STATE.REHEARSING)  # its requests may leave
STOPS_WORK = (STATE.PAUSED, STATE.CANCELLED)


def messages_leave() -> bool:
    """Whether a run is sending or about to: then less urgent work takes fewer resources."""
    leaving = (Run.State.PREPARING, Run.State.SENDING)
    return Run.objects.filter(finished_at=None, state__in=leaving).exists()
