"""What one can make from a run's outcome: a list of some of its people, a new campaign to the rest,
and one to everybody else of the audience of which it took a share."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldBooleanWidget

from campaigns import tasks
from campaigns.admin.run.dialogs import RunDialog
from campaigns.audiences import reach
from campaigns.audiences.audience import Audience, validate_rules
from campaigns.audiences.lists import filling, outcomes, share
from campaigns.audiences.words import sentence
from campaigns.planning.campaign import Campaign
from campaigns.runs import reasons
from campaigns.runs.reasons import Reason
from campaigns.runs.run import Run
from notifications.admin.furniture.dialogs import ask, done, refused
from notifications.admin.furniture.page import page_url
from notifications.admin.furniture.unfolded import action

REST = gettext_lazy("Send to the rest")
EVERYBODY_ELSE = gettext_lazy("Send to everybody else")
MAKE_LIST = gettext_lazy("Make a list")


def is_known(run: Run) -> bool:
    """Whether the outcome of each recipient is known."""
    return run.finished_at is not None and bool(run.planned) and run.forgotten_at is None


def leaves_a_rest(run: Run) -> bool:
    return is_known(run) and run.accepted < (run.planned or 0)


def offers_the_rest(run: Run) -> bool:
    """A next step is not one if it would be sent to nobody."""
    if not leaves_a_rest(run):
        return False
    found = outcomes.reachable(run, seconds=outcomes.LOOKING_SECONDS)
    return found is None or found.people > 0


def offers_everybody_else(run: Run) -> bool:
    others = share.everybody_else(run) if is_known(run) else None
    return others is not None and share.is_there_anybody(run.project_id, others)


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
        return outcomes.count_rest(self.run) if self.left else None

    @cached_property
    def reachable(self) -> outcomes.Reachable | None:
        return outcomes.reachable(self.run) if self.left else None

    @property
    def left(self) -> bool:
        return leaves_a_rest(self.run)

    @property
    def possible(self) -> bool:
        return self.left and (self.reachable is None or self.reachable.people > 0)

    def problem(self, *, with_unknown: bool) -> str:
        """Why nobody would get it."""
        if not self.left:
            return _("Nobody is left to send to in this run.")
        if not self.possible:
            return _("None of them can be reached now.")
        if with_unknown:
            return ""
        none_known = self.found is not None and self.found[0] == self.found[1]
        none_surely = self.reachable is not None and self.reachable.people == self.reachable.unknown
        if none_known or none_surely:
            return _("Without the unknown outcomes nobody would get it.")
        return ""

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


class EverybodyElseDialog(RunDialog):
    template = "admin/campaigns/run/everybody_else.html"

    @cached_property
    def rules(self) -> dict[str, Any] | None:
        return share.everybody_else(self.run) if is_known(self.run) else None

    @cached_property
    def _counted(self) -> tuple[reach.Reach | None, str]:
        """How many they are, or why that cannot be said."""
        run = self.run
        if self.rules is None:
            return None, _("This run took no share of its audience: there is nobody else.")
        try:
            validate_rules(self.rules, project_id=run.project_id)
            found = reach.quick(run.project_id, self.rules, asks=run.campaign.asks)
        except reach.Uncountable:
            return None, ""
        except ValidationError as error:
            return None, error.messages[0]
        nobody = _("Nobody else of this audience can be reached now.")
        return found, "" if found.reachable else nobody

    @property
    def problem(self) -> str:
        return self._counted[1]

    @property
    def possible(self) -> bool:
        return not self.problem

    def context(self) -> dict[str, Any]:
        said = sentence(self.rules, project_id=self.run.project_id) if self.rules else ""
        return {"reach": self._counted[0], "problem": self.problem, "said": said}


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
        if problem := form.problem(with_unknown=unknown):
            return refused(request, form, problem)
        name = _("Rest of run %(number)d") % {"number": run.pk}
        rest = self._listed(request, run, name, outcomes.rest(run, with_unknown=unknown))
        twin = run.campaign.duplicate_for(rest, named=_("%(name)s (rest)"))
        self.record(request, "created", twin, copied_from=run.campaign_id, rest_of_run=run.pk)
        return _made(request, twin, _size(rest))

    @action(
        description=EVERYBODY_ELSE,
        permissions=["view"],
        dialog=ask(
            gettext_lazy("Send to everybody else of the audience"),
            form=EverybodyElseDialog,
            button=gettext_lazy("Make the campaign"),
        ),
    )
    def everybody_else(
        self, request: HttpRequest, form: EverybodyElseDialog, object_id: str
    ) -> HttpResponse:
        """A copy of the campaign for those who were not in the share that this run took."""
        run = form.run
        if form.problem or form.rules is None:
            return refused(request, form, form.problem)
        name = _("Everybody else of run %(number)d") % {"number": run.pk}
        others = Audience.objects.create(
            project_id=run.project_id,
            name=filling.free_name(run.project_id, name),
            rules=form.rules,
        )
        self.record(request, "created", others, from_run=run.pk)
        twin = run.campaign.duplicate_for(others, named=_("%(name)s (everybody else)"))
        about = {"copied_from": run.campaign_id, "everybody_else_of_run": run.pk}
        self.record(request, "created", twin, **about)
        return _made(request, twin, f"“{others}”")

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


def _made(request: HttpRequest, twin: Campaign, goes_to: str) -> HttpResponse:
    said = _("“{name}” goes to {who}. Look at it, then launch it.")
    return done(request, said.format(name=twin, who=goes_to), to=page_url(twin))


def _size(made: Audience) -> str:
    if made.filling is not None:
        return _("a list that is still being filled")
    return _people(made.members.count())


def _people(count: int) -> str:
    return ngettext("{count} person", "{count} people", count).format(count=f"{count:,}")
