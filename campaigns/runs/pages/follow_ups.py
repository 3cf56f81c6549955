"""Follow-ups to a run: a list of some of its people, or a new campaign.

The campaign goes to people who were not reached or have not opened it, or, if the run took a share
of its audience, to everybody else of that audience."""

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
from campaigns.audiences import reach
from campaigns.audiences.audience import Audience, validate_rules
from campaigns.audiences.lists import filling, outcomes, run_lists, share
from campaigns.audiences.lists.run_lists import is_known
from campaigns.audiences.words import sentence
from campaigns.corrections import draft_correction
from campaigns.planning.campaign import Campaign
from campaigns.runs.pages.dialogs import RunDialog
from campaigns.runs.run import Run
from notifications.admin.ui.dialogs import ask, close_dialog, refused
from notifications.admin.ui.page import page_url
from notifications.admin.ui.unfolded import action
from notifications.task_queue import enqueue_on_commit

REST = gettext_lazy("Send to the rest")
EVERYBODY_ELSE = gettext_lazy("Send to everybody else")
MAKE_LIST = gettext_lazy("Make a list")


def leaves_a_rest(run: Run) -> bool:
    return is_known(run) and run.accepted < (run.planned or 0)


def offers_the_rest(run: Run) -> bool:
    """Whether to offer a campaign to the rest: not if it would be sent to nobody."""
    is_offered = {outcomes.MISSED: leaves_a_rest(run), outcomes.UNOPENED: knows_who_opened(run)}
    return any(_reaches_anybody(run, group) for group, offered in is_offered.items() if offered)


def knows_who_opened(run: Run) -> bool:
    return is_known(run) and run_lists.has_told(run)


def _reaches_anybody(run: Run, group: str) -> bool:
    reached = outcomes.reachable(run, group, seconds=outcomes.LOOKING_SECONDS)
    return reached is None or reached.people > 0


def offers_everybody_else(run: Run) -> bool:
    rules = share.everybody_else(run) if is_known(run) else None
    return rules is not None and share.is_there_anybody(run.project_id, rules)


class RestDialog(RunDialog):
    template = "admin/campaigns/run/rest.html"

    whom = forms.ChoiceField(label=gettext_lazy("To whom"), widget=UnfoldAdminSelectWidget)
    unknown = forms.BooleanField(
        label=gettext_lazy("Also those whose outcome is unknown"),
        required=False,
        widget=UnfoldBooleanWidget,
        help_text=gettext_lazy("Some of them already got it, and would get it twice."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.asks_whom:
            cast(forms.ChoiceField, self.fields["whom"]).choices = _group_choices(self.left)
            none_missed = self.reachable is not None and not self.reachable.people
            self.fields["whom"].initial = run_lists.NOT_OPENED if none_missed else None
        else:
            del self.fields["whom"]
        if not self.run.unknown or not self.left:
            del self.fields["unknown"]

    @cached_property
    def missed(self) -> tuple[int, int] | None:
        return outcomes.count(self.run.pk, outcomes.MISSED) if self.left else None

    @cached_property
    def reachable(self) -> outcomes.Reachable | None:
        return outcomes.reachable(self.run, outcomes.MISSED) if self.left else None

    @cached_property
    def unopened(self) -> tuple[int, int] | None:
        """How many are not known to have opened it, and how many of these cannot report it."""
        return outcomes.count(self.run.pk, outcomes.UNOPENED)

    @cached_property
    def unopened_now(self) -> outcomes.Reachable | None:
        return outcomes.reachable(self.run, outcomes.UNOPENED)

    @property
    def left(self) -> bool:
        return leaves_a_rest(self.run)

    @property
    def asks_whom(self) -> bool:
        return knows_who_opened(self.run) and (self.unopened is None or self.unopened[0] > 0)

    @property
    def chosen(self) -> str:
        return str(self.cleaned_data.get("whom") or run_lists.NOT_REACHED)

    @property
    def possible(self) -> bool:
        counts = [self.reachable] if self.left else []
        counts += [self.unopened_now] if self.asks_whom else []
        return any(reached is None or reached.people > 0 for reached in counts)

    def problem(self) -> str:
        """Why the new campaign would reach nobody; empty if it would reach people."""
        if self.chosen != run_lists.NOT_REACHED:
            return self._problem_of_unopened()
        if not self.left:
            return _("Nobody is left to send to in this run.")
        if self.reachable is not None and not self.reachable.people:
            return _("None of them can be reached now.")
        if self.cleaned_data.get("unknown"):
            return ""
        none_known = self.missed is not None and self.missed[0] == self.missed[1]
        none_surely = self.reachable is not None and self.reachable.people == self.reachable.unsure
        if none_known or none_surely:
            return _("Without the unknown outcomes nobody would get it.")
        return ""

    def _problem_of_unopened(self) -> str:
        now = self.unopened_now
        if now is None:
            return ""
        if not now.people:
            return _("None of them can be reached now.")
        if self.chosen == run_lists.NOT_OPENED_FOR_SURE and now.people == now.unsure:
            return _("None of those whose phone can tell can be reached now.")
        return ""

    def context(self) -> dict[str, Any]:
        counted, run = self.missed, self.run
        devices = (run.planned or 0) - run.accepted
        counts = (
            {"rest": counted[0], "unknown": counted[1], "sure": counted[0] - counted[1]}
            if counted
            else {}
        )
        return {
            "run": run,
            "corrections": draft_correction.corrections_of(run),
            "counted": counted is not None,
            "devices": devices,
            **counts,
            **now_reached(self.reachable),
            "opening": self._opening_counts() if self.asks_whom else None,
        }

    def _opening_counts(self) -> dict[str, Any]:
        counts = dict(zip(("people", "silent"), self.unopened or (), strict=False))
        return {**counts, **now_reached(self.unopened_now)}


def _group_choices(has_rest: bool) -> list[tuple[str, Any]]:
    missed = [(run_lists.NOT_REACHED, _("Those who were not reached"))] if has_rest else []
    return [
        *missed,
        (run_lists.NOT_OPENED, _("Those who have not opened it, as far as anybody knows")),
        (
            run_lists.NOT_OPENED_FOR_SURE,
            _("Those who have not opened it, and whose phone can tell"),
        ),
    ]


def now_reached(reachable: outcomes.Reachable | None) -> dict[str, Any]:
    """How many of them can be reached now, and why the others cannot."""
    if reachable is None:
        return {"uncounted": True}
    sure = reachable.people - reachable.unsure
    return {
        "reachable": reachable.people,
        "surely": sure,
        "kept_back": _describe_kept_back(reachable),
    }


def _describe_kept_back(reachable: outcomes.Reachable) -> str:
    """Who cannot be reached, by reason: “2,504 unsubscribed, 3 suppressed”."""
    words = {
        "suppressed": _("%(count)s suppressed"),
        "unsubscribed": _("%(count)s unsubscribed"),
        "no_device": _("%(count)s without an active device"),
    }
    most_first = sorted(reachable.kept_back.items(), key=lambda item: -item[1])
    return ", ".join(words[why] % {"count": f"{people:,}"} for why, people in most_first)


class EverybodyElseDialog(RunDialog):
    template = "admin/campaigns/run/everybody_else.html"

    @cached_property
    def rules(self) -> dict[str, Any] | None:
        return share.everybody_else(self.run) if is_known(self.run) else None

    @cached_property
    def _counted(self) -> tuple[reach.Reach | None, str]:
        """How many people that is, or why it cannot be done."""
        run = self.run
        if self.rules is None:
            return None, _("This run took no share of its audience: there is nobody else.")
        try:
            validate_rules(self.rules, project_id=run.project_id)
            counted = reach.quick(run.project_id, self.rules, asks=run.campaign.asks)
        except reach.Uncountable:
            return None, ""
        except ValidationError as error:
            return None, error.messages[0]
        nobody = _("Nobody else of this audience can be reached now.")
        return counted, "" if counted.reachable else nobody

    @property
    def problem(self) -> str:
        return self._counted[1]

    @property
    def possible(self) -> bool:
        return not self.problem

    def context(self) -> dict[str, Any]:
        text = sentence(self.rules, project_id=self.run.project_id) if self.rules else ""
        corrections = draft_correction.corrections_of(self.run)
        return {
            "reach": self._counted[0],
            "problem": self.problem,
            "said": text,
            "corrections": corrections,
        }


class ListDialog(RunDialog):
    template = "admin/campaigns/run/make_list.html"

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
            self.labels = run_lists.choices(self.run)
            cast(forms.ChoiceField, self.fields["who"]).choices = [*self.labels.items()]
            # The group that the dialog counts, if phones reported any opens.
            self.fields["who"].initial = run_lists.NOT_OPENED
        else:
            del self.fields["who"]

    @property
    def possible(self) -> bool:
        return is_known(self.run)

    def context(self) -> dict[str, Any]:
        unopened = None
        if self.possible and run_lists.NOT_OPENED in self.labels:
            unopened = outcomes.count(self.run.pk, outcomes.UNOPENED)
        return dict(zip(("people", "silent"), unopened or (), strict=False))


class FromRuns:
    """Actions of a run's page that create something new. The run itself does not change."""

    record: Any

    @action(
        description=REST,
        permissions=["view"],
        dialog=ask(REST, form=RestDialog, button=gettext_lazy("Make the campaign")),
    )
    def rest(self, request: HttpRequest, form: RestDialog, object_id: str) -> HttpResponse:
        """Copy the campaign for people who were not reached, or have not opened it."""
        if problem := form.problem():
            return refused(request, form, problem)
        run, missed = form.run, form.chosen == run_lists.NOT_REACHED
        name = _("Rest of run %(number)d") if missed else _("Not opened of run %(number)d")
        unknown = bool(form.cleaned_data.get("unknown"))
        tree = (
            outcomes.rest(run, with_unknown=unknown) if missed else run_lists.rule(run, form.chosen)
        )
        audience = self._create_list(request, run, name % {"number": run.pk}, tree)
        named = _("%(name)s (rest)") if missed else _("%(name)s (not opened)")
        twin = run.campaign.duplicate_for(audience, named=named, corrects=run.corrects)
        self.record(request, "created", twin, copied_from=run.campaign_id, rest_of_run=run.pk)
        return _redirect_to_twin(request, twin, _size(audience))

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
        """Copy the campaign for those outside the share that this run took."""
        run = form.run
        if form.problem or form.rules is None:
            return refused(request, form, form.problem)
        name = _("Everybody else of run %(number)d") % {"number": run.pk}
        audience = Audience.objects.create(
            project_id=run.project_id,
            name=filling.free_name(run.project_id, name),
            rules=form.rules,
        )
        self.record(request, "created", audience, from_run=run.pk)
        twin = run.campaign.duplicate_for(audience, named=_("%(name)s (everybody else)"))
        about = {"copied_from": run.campaign_id, "everybody_else_of_run": run.pk}
        self.record(request, "created", twin, **about)
        return _redirect_to_twin(request, twin, f"“{audience}”")

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
        audience = self._create_list(request, run, name, run_lists.rule(run, chosen))
        text = _("“{name}”: {who}.").format(name=audience, who=_size(audience))
        return close_dialog(request, text, to=page_url(audience))

    def _create_list(
        self, request: HttpRequest, run: Run, name: str, tree: dict[str, Any]
    ) -> Audience:
        audience = filling.begin(run.project_id, name, tree, run=run)
        self.record(request, "created", audience, from_run=run.pk)
        if not filling.at_once(audience):
            enqueue_on_commit(tasks.fill_list, audience_id=audience.pk)
        return audience


def _redirect_to_twin(request: HttpRequest, twin: Campaign, goes_to: str) -> HttpResponse:
    text = _("“{name}” goes to {who}. Look at it, then launch it.")
    return close_dialog(request, text.format(name=twin, who=goes_to), to=page_url(twin))


def _size(audience: Audience) -> str:
    if audience.filling is not None:
        return _("a list that is still being filled")
    return _people(audience.members.count())


def _people(count: int) -> str:
    return ngettext("{count} person", "{count} people", count).format(count=f"{count:,}")
