"""Automation: the model of a message that is sent to a person after an event of theirs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator
from django.db import connection, models, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns.audiences.behavior.event import where_problem
from campaigns.texts.template import Template
from notifications.people.events.names import validate_event_name
from notifications.people.project import OfProject
from notifications.people.retention import days_of

A_DAY = 86_400
LONGEST_DELAY = 28 * A_DAY
LONGEST_WINDOW = 365 * A_DAY
# How late after its due time an event is still answered. An import of last year's events must send
# nothing; a phone that was offline for a while may still cause a message.
TOO_OLD_SECONDS = 3_600
MAX_LISTENING = 50  # per project: each adds to the cost of an event
# The fields that define what it does, unlike its name and state.
MEANT = ("event_name", "where", "template_id", "category_id", "delay_seconds", "once_in_seconds",
         "unless_name", "unless_where")  # fmt: skip


class Automation(OfProject):
    """A template to send, the event that causes it, and the delay between them."""

    class State(models.TextChoices):
        DRAFT = "draft", gettext_lazy("Draft")
        ON = "on", gettext_lazy("On")
        PAUSED = "paused", gettext_lazy("Paused")
        ARCHIVED = "archived", gettext_lazy("Archived")

    name = models.CharField(max_length=100)
    event_name = models.CharField(max_length=64, validators=[validate_event_name])
    where = models.JSONField(default=list, blank=True)
    template = models.ForeignKey(Template, on_delete=models.PROTECT, related_name="automations")
    category = models.ForeignKey(
        "notifications.Category",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="automations",
    )
    delay_seconds = models.PositiveIntegerField(
        default=0, blank=True, validators=[MaxValueValidator(LONGEST_DELAY)]
    )
    # 0: a message after every event.
    once_in_seconds = models.PositiveIntegerField(
        default=A_DAY, blank=True, validators=[MaxValueValidator(LONGEST_WINDOW)]
    )
    unless_name = models.CharField(max_length=64, blank=True, validators=[validate_event_name])
    unless_where = models.JSONField(default=list, blank=True)
    state = models.CharField(max_length=8, choices=State, default=State.DRAFT, editable=False)
    on_since = models.DateTimeField(null=True, editable=False)  # the last time it was turned on
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["draft", "on", "paused", "archived"]),
                name="an_automation_state_we_know",
            ),
            models.CheckConstraint(
                condition=Q(state="draft") | Q(on_since__isnull=False) | Q(state="archived"),
                name="who_is_on_knows_since_when",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "-id"], name="automation_of_project"),
            models.Index(
                fields=["project", "event_name"],
                condition=Q(state__in=["on", "paused"]),
                name="automations_that_listen",
            ),
        ]

    class InvalidMove(Exception):
        """This is not possible in the automation's state; the message says why."""

    class NotReady(Exception):
        """It cannot be turned on yet; `problems` says by field why, and what to do."""

        def __init__(self, problems: dict[str, str]) -> None:
            super().__init__(" ".join(problems.values()))
            self.problems = problems

    def __str__(self) -> str:
        return self.name

    @property
    def delay(self) -> timedelta:
        return timedelta(seconds=self.delay_seconds)

    @property
    def window(self) -> timedelta:
        return timedelta(seconds=self.once_in_seconds)

    @property
    def may_change(self) -> bool:
        return self.state in (self.State.DRAFT, self.State.PAUSED)

    def clean(self) -> None:
        problems = {
            "where": where_problem(self.where),
            "unless_where": where_problem(self.unless_where),
        }
        if self.unless_where and not self.unless_name:
            problems["unless_name"] = _("Conditions need the name of an event.")
        if self.name and not self.name.strip():
            problems["name"] = _("Write more than spaces.")
        if message := self.unless_unseen():
            problems["delay_seconds"] = message
        problems |= self._foreign_row_problems()
        if errors := {field: words for field, words in problems.items() if words}:
            raise ValidationError(errors)
        if refusal := self.held():
            raise ValidationError(refusal)

    def _foreign_row_problems(self) -> dict[str, str]:
        """Problems, by field, of chosen rows that belong to another project."""
        words = {
            "template": _("There is no such template in this project."),
            "category": _("There is no such category in this project."),
        }
        chosen = {name: getattr(self, name) for name in words if getattr(self, f"{name}_id")}
        return {
            name: words[name] for name, row in chosen.items() if row.project_id != self.project_id
        }

    def unless_unseen(self, days: int | None = None) -> str:
        """Why the “unless” event could be deleted before the delay ends; empty if it cannot.

        `days`: how long events are kept, if not as long as the project's setting says.
        """
        days = days or days_of(self.project_id, "events")
        longest = self.delay_seconds + TOO_OLD_SECONDS
        if not self.unless_name or days is None or longest <= days * A_DAY:
            return ""
        text = ngettext(
            "The delay is too long for “unless”: events are kept for %(days)s day only. Shorten "
            "the delay, or keep events for longer.",
            "The delay is too long for “unless”: events are kept for %(days)s days only. Shorten "
            "the delay, or keep events for longer.",
            days,
        )
        return text % {"days": f"{days:,}"}

    def held(self) -> str:
        """Why what it does may not change now; empty if it has not changed, or may change.

        The person who turned it on has approved what it does: an editor must not change that.
        """
        stored = Automation.objects.filter(pk=self.pk).values("state", *MEANT).first()
        if stored is None or stored["state"] in (self.State.DRAFT, self.State.PAUSED):
            return ""
        if all(getattr(self, name) == stored[name] for name in MEANT):
            return ""
        on = stored["state"] == self.State.ON
        return _("It is on. Pause it, then change it.") if on else _("It is archived.")

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save all but its state: a row that was read a while ago must not turn it on or off."""
        if not self._state.adding and kwargs.get("update_fields") is None:
            fields = (field.name for field in self._meta.concrete_fields if not field.primary_key)
            kwargs["update_fields"] = [name for name in fields if name not in ("state", "on_since")]
        super().save(*args, **kwargs)

    # --- State changes, each one guarded UPDATE ---------------------------------------------------

    def turn_on(self) -> None:
        """Turn it on: from now on, its events create triggers. Raises NotReady or InvalidMove."""
        with transaction.atomic():
            one_at_a_time(self.project_id)  # the limit counts all automations of the project
            locked = Automation.objects.select_for_update(no_key=True).get(pk=self.pk)
            if locked.may_change and (problems := locked.problems()):
                raise Automation.NotReady(problems)
            self._move(self.State.ON, on_since=Now())

    def pause(self) -> None:
        """Pause it. Messages that come due meanwhile are never sent. Raises InvalidMove."""
        self._move(self.State.PAUSED)

    def archive(self) -> None:
        """Archive it for good. Raises InvalidMove."""
        self._move(self.State.ARCHIVED)

    def _move(self, new: State, **more: Any) -> None:
        movable = Automation.objects.filter(pk=self.pk, state__in=MOVES[new])
        moved = movable.update(state=new, **more)
        self.refresh_from_db(fields=["state", "on_since"])
        if not moved:
            raise Automation.InvalidMove(str(REFUSED[new]))

    def problems(self) -> dict[str, str]:
        """The problems that prevent turning it on, by field."""
        problems: dict[str, str] = {}
        try:
            self.template.clean()
        except ValidationError as error:
            problems["template"] = f"{self.template}: {' '.join(error.messages)}"
        if not (self.template.title or self.template.body):
            problems["template"] = _("The text is empty: write a title and a text.")
        if message := self.unless_unseen():
            problems["delay_seconds"] = message
        listening = Automation.objects.filter(project=self.project_id, state__in=LISTENING).exclude(
            pk=self.pk
        )
        if listening.count() >= MAX_LISTENING:
            message = _(
                "A project has at most %(most)s automations that are on or paused. Archive one "
                "first."
            )
            problems["state"] = message % {"most": MAX_LISTENING}
        return problems


def one_at_a_time(project_id: int) -> None:
    """Lock the project's automations: until the transaction ends, no other can be turned on."""
    with connection.cursor() as cursor:
        key = f"automations of project {project_id}"
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])


State = Automation.State
LISTENING = (State.ON, State.PAUSED)
MOVES = {
    State.ON: (State.DRAFT, State.PAUSED),
    State.PAUSED: (State.ON,),
    State.ARCHIVED: (State.DRAFT, State.ON, State.PAUSED),
}
REFUSED = {
    State.ON: gettext_lazy("Only a draft or a paused automation can be turned on."),
    State.PAUSED: gettext_lazy("Only an automation that is on can be paused."),
    State.ARCHIVED: gettext_lazy("It is archived already."),
}
