"""Canary progress: the phase, wait and figures of a first part, for pages and the API."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.canary.figures import figures_of
from campaigns.canary.first_part import FirstPart, part_of
from campaigns.canary.in_words import chosen_by
from campaigns.canary.judgement import ENOUGH, Figures, Missed, Terms, missed
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.runs.variants import group
from notifications.values.shares import share


class Phase(TextChoices):
    """How far the first part is."""

    SENDING = "sending", gettext_lazy("The first part is being sent")
    WAITING = "waiting", gettext_lazy("The rest waits for what comes of the first part")
    ASKS = "asks", gettext_lazy("The rest waits for you")
    WENT_ON = "went_on", gettext_lazy("The rest was let go")
    STOPPED = "stopped", gettext_lazy("The rest got nothing")


@dataclass(frozen=True)
class Row:
    """One figure and its limit."""

    name: str
    value: str  # in percent, or a number
    of: str
    bound: str
    missed: bool


@dataclass(frozen=True)
class CanaryProgress:
    part: FirstPart
    phase: Phase
    figures: Figures
    terms: Terms

    @property
    def rest(self) -> int:
        return (self.part.run.planned or 0) - self.part.devices

    @property
    def missed(self) -> list[Missed]:
        """The limits not met so far; empty until the first request was sent."""
        return missed(self.figures, self.terms) if self.figures.sent else []

    @property
    def chosen_by(self) -> str:
        """How the variant is chosen, while the rest waits for it; else empty."""
        waits = self.part.run.tries_variants and self.part.went_on_at is None
        return chosen_by(self.part.run) if waits else ""

    @property
    def winner(self) -> str:
        """The variant that the rest gets; empty until it is chosen."""
        number = self.part.run.winner
        return "" if number is None else group.in_words(number)

    @property
    def gets(self) -> str:
        """Which text the rest gets, once decided; empty: the run tries no variants."""
        run = self.part.run
        if not run.tries_variants or self.part.went_on_at is None:
            return ""
        if run.winner is None:
            return _("The rest is split among the variants.")
        return _("It gets %(variant)s.") % {"variant": self.winner}

    @property
    def decided_by(self) -> str:
        if self.part.decision == FirstPart.Decision.GOOD:
            return _("It was good enough.")
        if self.part.decision == FirstPart.Decision.UNSURE:
            return _("No variant was clearly better by then.")
        return _("A person decided that.") if self.part.decision else ""

    @property
    def rows(self) -> list[Row]:
        return [self._accepted_row, self._rejected_row, self._dead_row, self._received_row]

    @property
    def _accepted_row(self) -> Row:
        figures = self.figures
        return Row(
            _("Accepted"),
            f"{figures.accepted:,}",
            _("of %(count)s in the first part") % {"count": f"{self.part.devices:,}"},
            "",
            Missed.ACCEPTED in self.missed,
        )

    @property
    def _rejected_row(self) -> Row:
        bound = _("at most %(percent)s %%") % {"percent": self.terms.most_rejected}
        figures = self.figures
        return self._row_of_sent(_("Rejected"), figures.rejected, bound, Missed.REJECTED)

    @property
    def _dead_row(self) -> Row:
        bound = _("at most %(percent)s %%") % {"percent": self.terms.most_dead}
        return self._row_of_sent(_("Dead addresses"), self.figures.dead, bound, Missed.DEAD)

    def _row_of_sent(self, name: str, count: int, bound: str, about: Missed) -> Row:
        sent = self.figures.sent
        value = f"{share(count, sent)} %" if sent else "–"
        of_all = _("%(count)s of %(all)s") % {"count": f"{count:,}", "all": f"{sent:,}"}
        return Row(name, value, of_all if sent else "", bound, about in self.missed)

    @property
    def _received_row(self) -> Row:
        figures, bound = self.figures, _("not judged")
        if self.terms.least_received:
            bound = _("at least %(percent)s %%") % {"percent": self.terms.least_received}
        if figures.able is None:
            return Row(_("Received"), "–", _("counted once all are sent to"), bound, False)
        if not figures.able:
            return Row(
                _("Received"), "–", _("none of the devices can tell"), _("not judged"), False
            )
        words = {"count": f"{figures.received:,}", "all": f"{figures.able:,}"}
        of_able = _("%(count)s of %(all)s that can tell") % words
        if figures.able < ENOUGH:
            bound = _("not judged: fewer than %(least)s can tell") % {"least": ENOUGH}
        value = f"{share(figures.received, figures.able)} %"
        return Row(_("Received"), value, of_able, bound, Missed.RECEIVED in self.missed)


def load_progress(run: Run) -> CanaryProgress | None:
    """The run's first part as it is shown; None: it has none, or none was drawn."""
    part = part_of(run)
    if part is None:
        return None
    return CanaryProgress(part, phase_of(run, part), figures_of(part), Terms.of_run(run))


def phase_of(run: Run, part: FirstPart) -> Phase:
    if part.went_on_at:
        return Phase.WENT_ON
    if run.state == Run.State.CANCELLED:
        return Phase.STOPPED
    if run.state == Run.State.PAUSED and run.cause in (Cause.FIRST_PART, Cause.NO_WINNER):
        return Phase.ASKS
    return Phase.WAITING if part.sent_at else Phase.SENDING


def wait_left(part: FirstPart, now: datetime) -> Any:
    """The time left of the wait; None: it has not begun or is over."""
    until = part.judges_at
    return until - now if until and until > now else None
