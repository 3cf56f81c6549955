"""What one can make from a run's outcome: a list of some of its people, and a new campaign to the
rest."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldBooleanWidget

from campaigns import tasks
from campaigns.admin.run.dialogs import RunDialog
from campaigns.audiences.audience import Audience
from campaigns.audiences.lists import filling, outcomes
from campaigns.runs import reasons
from campaigns.runs.reasons import Reason
from campaigns.runs.run import Run
from notifications.admin.furniture.dialogs import ask, done, refused
from notifications.admin.furniture.page import page_url
from notifications.admin.furniture.unfolded import action

REST = gettext_lazy("Send to the rest")
MAKE_LIST = gettext_lazy("Make a list")


def is_known(run: Run) -> bool:
    """Whether the outcome of each recipient is known."""
    return run.finished_at is not None and bool(run.planned) and run.forgotten_at is None


def leaves_a_rest(run: Run) -> bool:
    return is_known(run) and run.accepted < (run.planned or 0)


class RestDialog(RunDialog):
    template = "admin/campaigns/run/rest.html"

    unknown = forms.BooleanField(
        label=gettext_lazy("Also those whose outcome is unknown"),
        required=False,
        widget=UnfoldBooleanWidget,
        help_text=gettext_lazy("Some of them already got it, and would get it twice."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.run.unknown:
            del self.fields["unknown"]

    @cached_property
    def found(self) -> tuple[int, int] | None:
        return outcomes.count_rest(self.run) if self.possible else None

    @cached_property
    def reachable(self) -> outcomes.Reachable | None:
        return outcomes.reachable(self.run) if self.possible else None

    @property
    def possible(self) -> bool:
        return leaves_a_rest(self.run)

    @property
    def advised(self) -> bool:
        return self.reachable is None or self.reachable.people > 0

    def context(self) -> dict[str, Any]:
        found, run = self.found, self.run
        devices = (run.planned or 0) - run.accepted
        counts = (
            {"rest": found[0], "unknown": found[1], "sure": found[0] - found[1]} if found else {}
        )
        return {
            "run": run,
            "counted": found is not None,
            "devices": devices,
            **counts,
            **_now(self.reachable),
        }


def _now(reachable: outcomes.Reachable | None) -> dict[str, Any]:
    """How many of the rest can be reached now, and why not the others."""
    if reachable is None:
        return {"uncounted": True}
    sure = reachable.people - reachable.unknown
    return {"reachable": reachable.people, "surely": sure, "kept_back": _kept_back(reachable)}


def _kept_back(reachable: outcomes.Reachable) -> str:
    """“2,504 unsubscribed, 3 suppressed”."""
    words = {
        "suppressed": _("%(count)s suppressed"),
        "unsubscribed": _("%(count)s unsubscribed"),
        "no_device": _("%(count)s without an active device"),
    }
    most_first = sorted(reachable.kept_back.items(), key=lambda one: -one[1])
    return ", ".join(words[why] % {"count": f"{people:,}"} for why, people in most_first)


class ListDialog(RunDialog):
    who = forms.ChoiceField(
        label=gettext_lazy("Who"),
        widget=UnfoldAdminSelectWidget,
        help_text=gettext_lazy(
            "Counts people: somebody reached on one of two phones counts as reached."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.possible:
            self.labels = dict(_choices(self.run))
            cast(forms.ChoiceField, self.fields["who"]).choices = [*self.labels.items()]
        else:
            del self.fields["who"]

    @property
    def possible(self) -> bool:
        return is_known(self.run)


def _choices(run: Run) -> list[tuple[str, Any]]:
    """`outcome`, `outcome:reason`, or `outcome:reason:variable`; only what this run has."""
    always = [("planned", _("All its recipients")), ("accepted", _("Accepted"))]
    missed = [("not_reached", _("Not reached: accepted on no device"))]
    return [*always, *(missed if run.accepted < (run.planned or 0) else []), *_by_reason(run)]


def _by_reason(run: Run) -> list[tuple[str, str]]:
    labels = {"rejected": _("Rejected"), "skipped": _("Skipped"), "unknown": _("Unknown")}
    counted = {status: getattr(run, status) for status in labels}
    whole = [(status, labels[status]) for status, count in counted.items() if count]
    each = [
        (f"{status}:{reason}", f"{labels[status]}: {reasons.in_words(reason)}")
        for status, reason in outcomes.reasons_of(run)
    ]
    lacking = [
        (
            f"skipped:{Reason.MISSING_VALUE}:{name}",
            _("Skipped for lack of “{name}”").format(name=name),
        )
        for name in outcomes.variables_missing(run)
    ]
    return [*whole, *each, *lacking]


def _rule(run: Run, chosen: str) -> dict[str, Any]:
    outcome, *more = chosen.split(":", 2)
    return outcomes.of_run(run, outcome, **dict(zip(("reason", "variable"), more, strict=False)))


class FromRuns:
    """The verbs of a run's page that create something new; the run itself does not change."""

    record: Any

    @action(
        description=REST,
        permissions=["view"],
        dialog=ask(REST, form=RestDialog, button=gettext_lazy("Make the campaign")),
    )
    def rest(self, request: HttpRequest, form: RestDialog, object_id: str) -> HttpResponse:
        """A copy of the campaign for people who were not reached."""
        run, unknown = form.run, bool(form.cleaned_data.get("unknown"))
        if not form.possible:
            return refused(request, form, _("Nobody is left to send to in this run."))
        if form.found and form.found[0] == form.found[1] and not unknown:
            return refused(request, form, _("Without the unknown outcomes nobody would get it."))
        name = _("Rest of run %(number)d") % {"number": run.pk}
        rest = self._listed(request, run, name, outcomes.rest(run, with_unknown=unknown))
        twin = run.campaign.duplicate_for(rest)
        self.record(request, "created", twin, copied_from=run.campaign_id, rest_of_run=run.pk)
        said = _("“{name}” goes to {who}. Look at it, then launch it.")
        return done(request, said.format(name=twin, who=_size(rest)), to=page_url(twin))

    @action(
        description=MAKE_LIST,
        permissions=["view"],
        dialog=ask(
            gettext_lazy("Make a list of people of this run"),
            form=ListDialog,
            button=gettext_lazy("Make the list"),
        ),
    )
    def make_list(self, request: HttpRequest, form: ListDialog, object_id: str) -> HttpResponse:
        if not form.possible:
            return refused(request, form, _("Its recipients are not available."))
        run, chosen = form.run, form.cleaned_data["who"]
        name = _("Run %(number)d: %(who)s") % {"number": run.pk, "who": form.labels[chosen]}
        made = self._listed(request, run, name, _rule(run, chosen))
        said = _("“{name}”: {who}.").format(name=made, who=_size(made))
        return done(request, said, to=page_url(made))

    def _listed(self, request: HttpRequest, run: Run, name: str, tree: dict[str, Any]) -> Audience:
        made = filling.begin(run.project_id, name, tree, run=run)
        self.record(request, "created", made, from_run=run.pk)
        if not filling.at_once(made):
            tasks.ring_list(made.pk)
        return made


def _size(made: Audience) -> str:
    if made.filling is not None:
        return _("a list that is still being filled")
    count = made.members.count()
    return ngettext("{count} person", "{count} people", count).format(count=f"{count:,}")
