"""Verbs: the actions on a run, each declared once, with its permission, condition and texts.

The run's page takes its buttons and dialogs from here, the API its paths, `config/doors.py` the
permissions. `control.py` does the work. Actions on a campaign (launch, stop, duplicate) are not
verbs of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from campaigns import control
from campaigns.canary import first_part
from campaigns.engine import unknowns
from campaigns.planning import moving
from campaigns.runs.reasons import Cause
from campaigns.runs.run import MOVES, Run
from notifications.pacing import load
from notifications.people import device
from notifications.staff.api_key import Scope
from notifications.staff.team import ROLE_OF_SCOPE, Role

Words = str | Promise

STATE = Run.State


@dataclass(frozen=True, kw_only=True)
class Verb:
    """One action on a run, for its page and for the API."""

    name: str  # of its page; the API's name has hyphens
    does: Callable[..., object]  # called with the run, `by`, and the values of the dialog or call
    fits: Callable[[Run], bool]  # whether it makes sense in the run's present state
    # False: too late, or not possible for this run; the dialog says what to do instead.
    in_time: Callable[[Run, datetime], bool] = lambda run, now: True
    scope: Scope = Scope.LAUNCH  # the permission to launch runs

    label: Words
    question: Words
    text: Words = ""  # empty: the dialog needs more than a sentence
    button: Words
    danger: bool = False
    done_text: Words  # the message afterwards
    cancelled: Words = ""  # the refusal for a cancelled run; empty: it is allowed
    nobody: Words = ""  # the refusal if there is nothing to act on: `does` returned 0 or False
    # What to do first, if the verb would fit after that.
    first: Callable[[Run], Words] = lambda run: ""
    reference: str  # its text in the API's reference

    @property
    def path(self) -> str:
        return self.name.replace("_", "-")

    @property
    def page(self) -> str:
        return f"campaigns_run_{self.name}"

    @property
    def role(self) -> Role:
        return ROLE_OF_SCOPE[self.scope]

    def do(self, run: Run, *, by: str, **arguments: object) -> object:
        """Run the verb and return its result. Raises Run.InvalidMove; then nothing has changed."""
        if self.cancelled and run.state == STATE.CANCELLED:
            raise Run.InvalidMove(str(self.cancelled))
        if self.nobody and not self.fits(run):
            raise Run.InvalidMove(str(self.first(run) or self.nobody))
        came_of = self.does(run, by=by, **arguments)
        if self.nobody and not came_of:  # another call was faster
            raise Run.InvalidMove(str(self.nobody))
        return came_of

    def message(self, run: Run, came_of: object) -> str:
        count = came_of if isinstance(came_of, int) else 0
        return self.done_text % {"number": run.pk, "many": count, "count": f"{count:,}"}


def offered(run: Run) -> list[Verb]:
    """The verbs to show for a run. If one would be refused, its dialog says what to do instead."""
    return [verb for verb in VERBS if verb.fits(run)]


def possible(run: Run, now: datetime) -> list[Verb]:
    """The verbs that would be accepted now."""
    return [verb for verb in offered(run) if verb.in_time(run, now)]


def _moves_to(state: Run.State) -> Callable[[Run], bool]:
    return lambda run: run.state in MOVES[state]


def _undecided(run: Run) -> bool:
    return run.forgotten_at is None and unknowns.undecided(run) > 0


def _sends_again(run: Run) -> bool:
    if run.state not in (STATE.SENDING, STATE.PAUSED, STATE.FINISHED) or run.forgotten_at:
        return False
    return bool(unknowns.undecided(run) or unknowns.refused_for_the_moment(run))


def _holds_a_rest(run: Run) -> bool:
    """Whether the rest may be sent at once. A run paused for another cause is resumed instead."""
    goes = run.state == STATE.SENDING or run.asks_for_a_winner
    return goes and first_part.held(run) is not None


def _resume_first(run: Run) -> Words:
    if run.state != STATE.PAUSED or first_part.held(run) is None:
        return ""
    if run.cause == Cause.FIRST_PART:
        return _("This run is paused. Resume it: then the rest goes.")
    return _("This run is paused. Resume it first.")


def _misses_reports(run: Run) -> bool:
    """Whether the run may be slower than needed, because load reports have stopped."""
    if run.state != STATE.SENDING or (reported := load.newest_report(run.project)) is None:
        return False
    return reported.is_silent(timezone.now())


PAUSE = Verb(
    name="pause",
    does=control.pause,
    fits=_moves_to(STATE.PAUSED),
    label=_("Pause"),
    question=_("Pause this run?"),
    text=_(
        "Sending stops within two seconds. When you resume, it continues where it stopped; "
        "pausing sends nothing twice."
    ),
    button=_("Pause"),
    done_text=_("Run %(number)d is paused."),
    reference="Pause the run: within two seconds, sending stops until it is resumed.",
)
RESUME = Verb(
    name="resume",
    does=control.resume,
    fits=lambda run: run.state == STATE.PAUSED,
    label=_("Resume"),
    question=_("Resume this run?"),
    button=_("Resume"),
    done_text=_("Run %(number)d was resumed."),
    reference="Resume the run where it stopped. What it paused for will not pause it again.",
)
GO_ON = Verb(
    name="go_on",
    does=control.go_on,
    fits=_holds_a_rest,
    label=_("Go on now"),
    question=_("Go on with the rest now?"),
    text=_("Nothing more is waited for, and the first part is not judged: the rest goes now."),
    button=_("Go on now"),
    done_text=ngettext_lazy(
        "It goes to the rest now: %(count)s device.",
        "It goes to the rest now: %(count)s devices.",
        "many",
    ),
    cancelled=_("This run was cancelled: the rest gets nothing."),
    nobody=_("Nobody in this run waits for its first part."),
    first=_resume_first,
    reference="Send to the rest without waiting for what comes of the first part. If the run "
    "paused because that was not good enough, `resume` does it. Where the rest gets the variant "
    "that did best (`winner_by`), name another with `variant`, also if the run paused to ask you.",
)
CHANGE_RATE = Verb(
    name="change_rate",
    does=control.change_rate,
    fits=lambda run: run.unfinished and run.state != STATE.CANCELLED,
    label=_("Change the rate"),
    question=_("Change the rate?"),
    button=_("Change it"),
    done_text=_("The rate of run %(number)d was changed."),
    reference="Change how fast the rest is sent; workers use the new rate within a second.",
)
IGNORE_LOAD = Verb(
    name="ignore_load",
    does=control.ignore_load,
    fits=_misses_reports,
    label=_("Go on without reports"),
    question=_("Go on without reports of your servers?"),
    text=_(
        "They have not said for 30 seconds how busy they are, so everything stays at the last safe "
        "rate. Without them, all runs of this project go on as planned, until they report again."
    ),
    button=_("Go on without them"),
    done_text=_("Run %(number)d goes on as planned, until your servers report again."),
    cancelled=_("This run was cancelled: it sends nothing any more."),
    nobody=_("Your servers report how busy they are, or never did: nothing waits for a report."),
    reference="Where your servers have not reported for 30 seconds how busy they are, everything "
    "stays at the last safe rate: send as planned without reports, in all runs of the project, "
    "until the next one (`POST backpressure`).",
)
CHANGE_TEXT = Verb(
    name="change_text",
    does=control.change_text,
    fits=lambda run: run.unfinished and run.state != STATE.CANCELLED,
    label=_("Change the text"),
    question=_("Change the text for those who still wait?"),
    button=_("Look at the change"),
    done_text=_("People who still wait in run %(number)d get the new text."),
    reference="Change the text for whoever still waits; whoever has it keeps what they got, and "
    "`runs/{id}/correct` writes to them once the run has ended. What you leave out stays as it is, "
    "in each language, too; snippets are taken as they read now. Give the `revision` you have "
    "seen: if somebody changed the text since, this answers 409. So it does if some who wait would "
    "be skipped because the new text asks for a value they lack, unless `accept_skips` is true. "
    "Requests that are leaving at that moment still carry the old text: each delivery names its "
    "revision.",
)
MOVE = Verb(
    name="move",
    does=control.move,
    fits=lambda run: run.state == STATE.SCHEDULED,
    in_time=lambda run, now: not moving.fixed(run),
    label=_("Move to another time"),
    question=_("Move “%(campaign)s”?"),
    button=_("Move"),
    done_text=_("“%(campaign)s” moved to %(when)s."),
    reference="Move a scheduled run to another time. What it sends does not change. In a series, "
    "it must stay before the next run. One that goes by each reader's clock stays where it is.",
)
CANCEL = Verb(
    name="cancel",
    does=control.cancel,
    fits=_moves_to(STATE.CANCELLED),
    label=_("Cancel"),
    question=_("Cancel this run?"),
    button=_("Cancel the run"),
    danger=True,
    done_text=_("Run %(number)d is cancelled."),
    reference="Cancel the run: people not sent to yet get nothing. This cannot be undone. If a run "
    "of a series is cancelled before it starts, the series goes on with the next one; "
    "`campaigns/{id}/stop` ends the series.",
)
RESTORE_DEVICES = Verb(
    name="restore_devices",
    does=control.restore_devices,
    fits=lambda run: device.retired_by(run.reference).exists(),
    label=_("Take back retired devices"),
    question=_("Take back retired devices?"),
    button=_("Take them back"),
    done_text=ngettext_lazy(
        "%(count)s device receives pushes again.", "%(count)s devices receive pushes again.", "many"
    ),
    nobody=_("This run has retired no device."),
    reference="Restore the devices that this run retired because FCM called them dead: they "
    "receive pushes again.",
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
    done_text=_("Run %(number)d sends to them once more."),
    cancelled=_("This run was cancelled: it cannot send again."),
    nobody=_("There is nobody in this run to send to again."),
    reference="Send once more to recipients whose outcome is unknown, and to those FCM refused for "
    "a temporary reason. Some phones may ring twice.",
)
KEEP_UNKNOWN = Verb(
    name="keep_unknown",
    does=control.keep_unknown,
    fits=_undecided,
    label=_("Keep as unknown"),
    question=_("Keep them as unknown?"),
    button=_("Keep as unknown"),
    done_text=_("The unknown outcomes of run %(number)d are kept as unknown."),
    cancelled=_("This run was cancelled: its unknown outcomes stay unknown."),
    nobody=_("This run has no unknown outcomes to decide on."),
    reference="Keep the unknown outcomes: these recipients stay unknown in every total and are not "
    "sent to again.",
)

# In the order of the buttons on the page.
VERBS = (
    *(PAUSE, RESUME, GO_ON, CHANGE_RATE, IGNORE_LOAD, CHANGE_TEXT, MOVE, CANCEL),
    *(RESTORE_DEVICES, SEND_AGAIN, KEEP_UNKNOWN),
)
