"""What can be done with a run, each verb once: who may, when it makes sense, in which words.

The run's page draws its buttons and dialogs from here, the API its addresses, `config/doors.py`
who may; `control.py` does it. What changes a campaign (launch, stop, duplicate) is not a verb of
a run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from campaigns import control
from campaigns.engine import unknowns
from campaigns.runs.run import MOVES, Run
from notifications.people import device
from notifications.staff.access import Scope
from notifications.staff.team import ROLE_OF_SCOPE, Role

Words = str | Promise

STATE = Run.State


@dataclass(frozen=True, kw_only=True)
class Verb:
    """One thing that a person or a program does with a run."""

    name: str  # of its page; what it is called in the API has hyphens
    does: Callable[..., object]  # with the run, `by` whom, and what it asks for
    fits: Callable[[Run], bool]  # whether it makes sense as the run stands
    in_time: Callable[[Run, datetime], bool] = lambda run, now: True  # false: too late for it
    scope: Scope = Scope.LAUNCH  # who may launch a run may steer it

    label: Words
    question: Words
    text: Words = ""  # empty: its dialog has more to say than a sentence
    button: Words
    danger: bool = False
    said: Words  # afterwards
    cancelled: Words = ""  # why not, of a cancelled run; empty: that is no reason
    nobody: Words = ""  # where `does` counts whom it does it to: there was nobody
    reference: str  # what the API's reference says of it

    @property
    def path(self) -> str:
        return self.name.replace("_", "-")

    @property
    def page(self) -> str:
        return f"campaigns_run_{self.name}"

    @property
    def role(self) -> Role:
        return ROLE_OF_SCOPE[self.scope]

    def do(self, run: Run, *, by: str, **asked: object) -> object:
        """What came of it. Raises Run.InvalidMove; then nothing was changed."""
        if self.cancelled and run.state == STATE.CANCELLED:
            raise Run.InvalidMove(str(self.cancelled))
        if self.nobody and not self.fits(run):
            raise Run.InvalidMove(str(self.nobody))
        came_of = self.does(run, by=by, **asked)
        if self.nobody and not came_of:  # somebody else was faster
            raise Run.InvalidMove(str(self.nobody))
        return came_of

    def told(self, run: Run, came_of: object) -> str:
        count = came_of if isinstance(came_of, int) else 0
        return self.said % {"number": run.pk, "many": count, "count": f"{count:,}"}


def offered(run: Run) -> list[Verb]:
    """What makes sense now; for one that comes too late, its dialog says what to do instead."""
    return [verb for verb in VERBS if verb.fits(run)]


def possible(run: Run, now: datetime) -> list[Verb]:
    """What would be done if it was asked for now."""
    return [verb for verb in offered(run) if verb.in_time(run, now)]


def _moves_to(state: Run.State) -> Callable[[Run], bool]:
    return lambda run: run.state in MOVES[state]


def _undecided(run: Run) -> bool:
    return run.forgotten_at is None and unknowns.undecided(run) > 0


def _sends_again(run: Run) -> bool:
    if run.state not in (STATE.SENDING, STATE.PAUSED, STATE.FINISHED) or run.forgotten_at:
        return False
    return bool(unknowns.undecided(run) or unknowns.refused_for_the_moment(run))


PAUSE = Verb(
    name="pause",
    does=control.pause,
    fits=_moves_to(STATE.PAUSED),
    label=_("Pause"),
    question=_("Pause this run?"),
    text=_(
        "Nothing new leaves within two seconds. It goes on where it stopped when you "
        "resume it; nobody is sent to twice by pausing."
    ),
    button=_("Pause"),
    said=_("Run %(number)d is paused."),
    reference="Pause it: nothing new leaves within two seconds, until it is resumed.",
)
RESUME = Verb(
    name="resume",
    does=control.resume,
    fits=lambda run: run.state == STATE.PAUSED,
    label=_("Resume"),
    question=_("Resume this run?"),
    button=_("Resume"),
    said=_("Run %(number)d is on its way again."),
    reference="Resume it where it stopped. What it was paused for does not pause it again.",
)
CHANGE_RATE = Verb(
    name="change_rate",
    does=control.change_rate,
    fits=lambda run: run.unfinished and run.state != STATE.CANCELLED,
    label=_("Change the rate"),
    question=_("Change the rate?"),
    button=_("Change it"),
    said=_("Run %(number)d is at its new rate."),
    reference="Send the rest faster or slower; workers take it up within a second.",
)
MOVE = Verb(
    name="move",
    does=control.move,
    fits=lambda run: run.state == STATE.SCHEDULED,
    label=_("Move to another time"),
    question=_("Move “%(campaign)s”?"),
    button=_("Move"),
    said=_("“%(campaign)s” moved to %(when)s."),
    reference="Let one that waits for its time start at another. What it sends stays as it was "
    "launched; of a series, the next run has to be later.",
)
CANCEL = Verb(
    name="cancel",
    does=control.cancel,
    fits=_moves_to(STATE.CANCELLED),
    label=_("Cancel"),
    question=_("Cancel this run?"),
    button=_("Cancel the run"),
    danger=True,
    said=_("Run %(number)d is cancelled."),
    reference="Cancel it: whoever was not sent to gets nothing, and it cannot be undone. A run of "
    "a series that is cancelled before it began is left out: the next one takes its place. What "
    "ends the series is `campaigns/{id}/stop`.",
)
RESTORE_DEVICES = Verb(
    name="restore_devices",
    does=control.restore_devices,
    fits=lambda run: device.retired_by(run.reference).exists(),
    label=_("Take back retired devices"),
    question=_("Take back retired devices?"),
    button=_("Take them back"),
    said=ngettext_lazy(
        "%(count)s device receives pushes again.", "%(count)s devices receive pushes again.", "many"
    ),
    nobody=_("No device is retired by this run."),
    reference="Let the devices receive pushes again that this run retired because FCM called them "
    "dead.",
)
SEND_AGAIN = Verb(
    name="send_again",
    does=control.send_again,
    fits=_sends_again,
    in_time=lambda run, now: now <= run.deadline,
    label=_("Send again"),
    question=_("Send to them again?"),
    button=_("Send again"),
    danger=True,
    said=_("Run %(number)d sends to them once more."),
    cancelled=_("This run was cancelled: it sends to nobody again."),
    nobody=_("There is nobody in this run to send to again."),
    reference="Send once more to everybody of whom nobody knows whether the phone rang, and to "
    "whom FCM refused for a passing reason. Some phones may ring twice.",
)
KEEP_UNKNOWN = Verb(
    name="keep_unknown",
    does=control.keep_unknown,
    fits=_undecided,
    label=_("Keep as unknown"),
    question=_("Keep them as unknown?"),
    button=_("Keep as unknown"),
    said=_("The unknown of run %(number)d stay as they are."),
    cancelled=_("This run was cancelled: its unknown stay as they are."),
    nobody=_("There is nobody in this run to decide about."),
    reference="Leave those as they are of whom nobody knows whether the phone rang: they stay "
    "unknown in every total, and are not sent to again.",
)

# In the order of the page's buttons.
VERBS = (PAUSE, RESUME, CHANGE_RATE, MOVE, CANCEL, RESTORE_DEVICES, SEND_AGAIN, KEEP_UNKNOWN)
