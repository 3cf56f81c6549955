"""Dialogs shown before an action on a run."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from django import forms
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminRadioSelectWidget

from campaigns.canary import winner
from campaigns.canary.in_words import chosen_by
from campaigns.canary.winner import best
from campaigns.corrections import draft_correction
from campaigns.engine import cancelling, unknowns
from campaigns.forecast import rate_forecast
from campaigns.planning import local
from campaigns.results import reports
from campaigns.runs import series, sums
from campaigns.runs.policy import BY_FIELD, MAX_RATE
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.runs.series import ONCE
from campaigns.runs.variants.group import in_words
from campaigns.verbs import SEND_AGAIN
from notifications.admin.ui.dialogs import Dialog
from notifications.pacing.gate import full_rate
from notifications.people import device
from notifications.values.shares import share


class RunDialog(Dialog):
    """A dialog of one run. `arguments`: the action's arguments. `follows`: what happens next."""

    @cached_property
    def run(self) -> Run:
        return Run.objects.select_related("campaign", "project").get(pk=self.object_id or 0)

    @property
    def arguments(self) -> dict[str, Any]:
        return {}

    @property
    def follows(self) -> str:
        return ""


class RateDialog(RunDialog):
    template = "admin/campaigns/run/change_rate.html"

    rate = forms.IntegerField(
        label=BY_FIELD["rate_per_second"].words,
        required=False,
        min_value=1,
        max_value=MAX_RATE,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=BY_FIELD["rate_per_second"].hint,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["rate"].initial = self.run.rate_per_second

    @property
    def arguments(self) -> dict[str, Any]:
        return {"rate_per_second": self.cleaned_data["rate"]}

    def context(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "quota": full_rate(self.run.project),
            "fleet": rate_forecast.forecast_rate(self.run.project, None),
        }


class GoOnDialog(RunDialog):
    """Continue a run. If the rest gets the best variant, the user may choose another one."""

    variant = forms.TypedChoiceField(
        label=gettext_lazy("The rest gets"),
        required=False,
        coerce=int,
        empty_value=None,
        widget=UnfoldAdminRadioSelectWidget,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.run.tries_variants:
            del self.fields["variant"]
            return
        tried = winner.tried(self.run)
        field = cast(forms.TypedChoiceField, self.fields["variant"])
        if tried is None:
            numbers = range(len(self.run.split["weights"]))
            field.choices = [(number, in_words(number)) for number in numbers]
            field.required = True
            return
        of_chance = _("The best one so far: %(variant)s") % {"variant": in_words(best(tried))}
        field.choices = [
            ("", of_chance),
            *((variant.number, self._words(variant)) for variant in tried),
        ]

    def _words(self, variant: winner.Tried) -> str:
        goal = self.run.winner_by == Run.WinnerBy.GOAL
        words = {
            "variant": in_words(variant.number),
            "share": share(variant.count, variant.people),
            "goal": self.run.goal_event,
            "people": f"{variant.people:,}",
        }
        if goal:
            return _("%(variant)s: “%(goal)s” from %(share)s %% of its %(people)s people") % words
        return _("%(variant)s: opened by %(share)s %% of its %(people)s people") % words

    @property
    def arguments(self) -> dict[str, Any]:
        return {"variant": self.cleaned_data.get("variant")}


class CancelDialog(RunDialog):
    template = "admin/campaigns/run/cancel.html"

    @cached_property
    def last(self) -> Run | None:
        """The latest run of this run's series, unless the series was stopped."""
        return None if self.run.occurrence == ONCE else self.run.campaign.series

    @cached_property
    def next_at(self) -> datetime | None:
        if self.last is None:
            return None
        return series.next_due(self.last, timezone.now(), without=self.run)

    @property
    def title(self) -> str | None:
        leaves_out = self.next_at and self.run.started_at is None
        return _("Cancel only this run?") if leaves_out else None

    @property
    def follows(self) -> str:
        if self.next_at is None:
            return ""
        when = local.in_words(self.run.campaign, self.next_at, self.run.project.timezone)
        return _("The next one is due %(when)s.") % {"when": when}

    def context(self) -> dict[str, Any]:
        totals = sums.totals_of(self.run)
        held_back = reports.held_back(self.run)
        waiting = totals.waiting - reports.held_back_and_waiting(self.run)
        may_have_it = min(waiting, cancelling.may_have_it(self.run))
        return {
            "run": self.run,
            "totals": totals,
            "held_back": held_back,
            "meant": totals.planned - held_back,
            "without": waiting - may_have_it,
            "may_have_it": may_have_it,
            "zone": self.run.project.timezone,
            "next_at": self.next_at,
            "ends_series": self.last == self.run and self.next_at is None,
        }


class RestoreDialog(RunDialog):
    template = "admin/campaigns/run/restore_devices.html"

    def context(self) -> dict[str, Any]:
        return {"devices": device.retired_by(self.run.reference).count()}


class ResumeDialog(RunDialog):
    template = "admin/campaigns/run/resume.html"

    def context(self) -> dict[str, Any]:
        return {
            "list_is_old": self.run.cause == Cause.DEAD_ADDRESSES,
            "rest_gets": self._rest_gets,
        }

    @property
    def _rest_gets(self) -> str:
        if not self.run.asks_for_a_winner:
            return ""
        if self.run.no_winner == Run.NoWinner.ASK:
            return _("The rest gets the best variant so far. “Go on now” offers each of them.")
        return chosen_by(self.run)


class SendAgainDialog(RunDialog):
    template = "admin/campaigns/run/send_again.html"

    @property
    def possible(self) -> bool:
        return SEND_AGAIN.in_time(self.run, timezone.now())

    def context(self) -> dict[str, Any]:
        return {
            "undecided": unknowns.undecided(self.run),
            "refused": unknowns.refused_for_the_moment(self.run),
            "corrections": draft_correction.corrections_of(self.run),
            "expired": not self.possible,
        }


class KeepUnknownDialog(RunDialog):
    template = "admin/campaigns/run/keep_unknown.html"

    def context(self) -> dict[str, Any]:
        return {"undecided": unknowns.undecided(self.run)}
