"""Waterfall: from the people of an audience to the messages that leave, loss by loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.audiences.reach import Reach
from campaigns.forecast.course import Course
from campaigns.runs.reasons import Reason

TOO_LATE = (Reason.QUIET_HOURS, Reason.EXPIRED)  # the audience's losses have the other reasons


class Lost(Protocol):
    """Devices that would get nothing, and why."""

    @property
    def reason(self) -> Reason: ...
    @property
    def variable(self) -> str: ...
    @property
    def short(self) -> str: ...
    @property
    def devices(self) -> int | None: ...
    @property
    def exact(self) -> bool: ...


@dataclass(frozen=True)
class Step:
    words: str
    count: int
    is_sum: bool = False  # what is left, not a loss
    exact: bool = True
    # Set for a loss whose people can be shown.
    reason: str = ""
    variable: str = ""

    @property
    def number(self) -> str:
        number = f"{self.count:,}" if self.is_sum or self.count < 0 else f"−{self.count:,}"
        number = f"+{-self.count:,}" if self.count < 0 else number
        return number if self.exact else _("about %(number)s") % {"number": number}


def steps(found: Reach, losses: Sequence[Lost], sent_to: int, course: Course) -> list[Step]:
    """Return the steps of the waterfall; the last one is what is left of the others."""
    exact = found.exact
    early_steps = [Step(_("People in the audience"), found.people, is_sum=True, exact=exact)]
    if found.unreachable_people:
        early_steps.append(Step(_("without a device"), found.unreachable_people, exact=exact))
    early_steps.append(Step(_("Devices"), found.devices, is_sum=True, exact=exact))
    early_steps += [_loss_step(loss) for loss in losses]
    if twice := sum(loss.devices or 0 for loss in losses) - (found.devices - sent_to):
        early_steps.append(Step(_("counted under several reasons"), -twice, exact=exact))
    late = [*_too_late(course)]
    remaining = sent_to - sum(step.count for step in late)
    sure = exact and all(step.exact for step in [*early_steps, *late])
    return [*early_steps, *late, Step(_("Messages that leave"), remaining, is_sum=True, exact=sure)]


def _loss_step(loss: Lost) -> Step:
    count = loss.devices or 0
    return Step(loss.short, count, exact=loss.exact, reason=loss.reason, variable=loss.variable)


def too_late_because(reason: str) -> str:
    words = {
        Reason.QUIET_HOURS: _("it expires during their quiet hours"),
        Reason.EXPIRED: _("it expires before their turn"),
    }
    return words[Reason(reason)]


def _too_late(course: Course) -> Iterator[Step]:
    for reason in TOO_LATE:
        if count := course.skipped.get(reason):
            yield Step(too_late_because(reason), count, exact=course.exact, reason=reason)


def in_vain(course: Course | None) -> str:
    """Describe devices that it is sent to but that still get nothing; empty if there are none."""
    return " ".join(_describe_loss(step) for step in _too_late(course)) if course else ""


def _describe_loss(step: Step) -> str:
    text = ngettext(
        "%(count)s of them gets nothing: %(why)s.",
        "%(count)s of them get nothing: %(why)s.",
        step.count,
    )
    number = f"{step.count:,}"
    number = number if step.exact else _("about %(number)s") % {"number": number}
    return capfirst(text % {"count": number, "why": step.words})
