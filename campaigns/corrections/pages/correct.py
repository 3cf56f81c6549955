"""Corrections: the dialog that explains one, and the action that creates its draft."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.widgets import UnfoldAdminSelectWidget

from campaigns import control, tasks
from campaigns.audiences import reach
from campaigns.audiences.lists import filling, outcomes
from campaigns.audiences.reach import Reach
from campaigns.corrections import draft_correction
from campaigns.corrections.draft_correction import EVERY, MAIN
from campaigns.runs.pages.dialogs import RunDialog
from campaigns.runs.pages.follow_ups import now_reached
from campaigns.runs.revisions import shares
from campaigns.runs.revisions.revision import FIRST
from campaigns.runs.run import Run
from campaigns.runs.variants.group import in_words
from campaigns.runs.variants.variant import as_launched, has_variants
from campaigns.texts.content import untagged
from notifications.admin.ui.dialogs import ask, close_dialog, refused
from notifications.admin.ui.page import actor, page_url
from notifications.admin.ui.unfolded import action
from notifications.people.device import Device
from notifications.task_queue import enqueue_on_commit

CORRECT = gettext_lazy("Send a correction")
OLDER = "older"  # all revisions but the newest
# Choosing another text counts its recipients again.
COUNT_AGAIN = {
    "hx-trigger": "change",
    "hx-include": "#dialog-form select",
    "hx-params": "text,variant,revision",
    "hx-target": "#correct-people",
    "hx-select": "#correct-people",
    "hx-swap": "outerHTML",
}


def offers_a_correction(run: Run) -> bool:
    return not draft_correction.problem(run)


class CorrectDialog(RunDialog):
    template = "admin/campaigns/run/correct.html"

    text = forms.ChoiceField(
        label=gettext_lazy("Which text was wrong"),
        widget=UnfoldAdminSelectWidget,
        help_text=gettext_lazy(
            "Only people who got the text in this language and still use this language."
        ),
    )

    variant = forms.TypedChoiceField(
        label=gettext_lazy("Whose text was wrong"),
        coerce=int,
        empty_value=None,
        required=False,
        widget=UnfoldAdminSelectWidget,
        help_text=gettext_lazy(
            "The draft has the text of this variant. With “All variants”, all recipients get one "
            "text: that of the first variant among them. If only some texts were wrong, choose a "
            "variant."
        ),
    )

    revision = forms.ChoiceField(
        label=gettext_lazy("To whom"),
        widget=UnfoldAdminSelectWidget,
        help_text=gettext_lazy("Its text was changed under way; the draft has the newest one."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.possible and self.run.revision > FIRST:
            cast(forms.ChoiceField, self.fields["revision"]).choices = _revision_choices(self.run)
        else:
            del self.fields["revision"]
        if self.possible and has_variants(self.run):
            single_variants = [(number, in_words(number)) for number in as_launched(self.run)]
            chosen = [("", _("All variants")), *single_variants]
            cast(forms.ChoiceField, self.fields["variant"]).choices = chosen
        else:
            del self.fields["variant"]
        texts = draft_correction.texts_of(self.run) if self.possible else []
        if len(texts) > 1:
            cast(forms.ChoiceField, self.fields["text"]).choices = _text_choices(texts)
        else:
            del self.fields["text"]
        for choice in self._choices:
            choice.widget.attrs |= {"hx-get": self.request.path, **COUNT_AGAIN}

    @property
    def _choices(self) -> list[forms.Field]:
        return [
            self.fields[name] for name in ("text", "variant", "revision") if name in self.fields
        ]

    @property
    def choice(self) -> dict[str, Any]:
        """Which text was wrong: what the fields show."""
        revision, variant = self._shown("revision"), self._shown("variant")
        return {
            "text": self._shown("text") or EVERY,
            "revisions": [] if revision in ("", EVERY, OLDER) else [int(revision)],
            "variant": int(variant) if variant else None,
            "outdated": revision == OLDER,
        }

    def _shown(self, name: str) -> str:
        if name not in self.fields:
            return ""
        choices = [str(key) for key, _label in cast(Any, self.fields[name]).choices]
        chosen = (self.request.POST or self.request.GET).get(name)
        return chosen if chosen in choices else choices[0]

    @property
    def problem(self) -> str:
        return draft_correction.problem(self.run)

    @property
    def possible(self) -> bool:
        return not self.problem

    @cached_property
    def got(self) -> tuple[int, int] | None:
        return outcomes.count(self.run.pk, outcomes.got(self.run))

    def context(self) -> dict[str, Any]:
        if self.problem:
            return {"problem": self.problem}
        run = self.run
        counts = dict(zip(("people", "unknown"), self.got or (), strict=False))
        platforms = [str(Device.Platform(name).label) for name in untagged(run.content)]
        return {
            "run": run,
            **counts,
            **now_reached(outcomes.reachable(run, outcomes.got(run))),
            "untagged": ", ".join(platforms),
            "before": draft_correction.corrections_of(run),
            "chosen": self._count_chosen() if self._choices else None,
        }

    def _count_chosen(self) -> Reach | None:
        """How many people got the chosen text; None if nobody did, or counting takes too long."""
        try:
            rules = draft_correction.choose_people(self.run, **self.choice).rules
            return reach.quick(self.run.project_id, rules)
        except (draft_correction.NotCorrectable, reach.Uncountable):
            return None


def _revision_choices(run: Run) -> list[tuple[str, Any]]:
    counts = shares.by_revision(run)
    single_revisions = [
        (str(number), _only(number, shares.got(counted))) for number, counted in counts.items()
    ]
    return [
        (OLDER, _("Those who did not get the newest")),
        *single_revisions,
        (EVERY, _("All of them")),
    ]


def _only(number: int, devices: int) -> str:
    text = ngettext(
        "Only revision %(number)d: %(count)s device",
        "Only revision %(number)d: %(count)s devices",
        devices,
    )
    return text % {"number": number, "count": f"{devices:,}"}


def _text_choices(texts: list[str]) -> list[tuple[str, Any]]:
    languages = [(tag, _("Only “{language}”").format(language=tag)) for tag in texts if tag != MAIN]
    main = [(MAIN, _("Only the main text"))] if MAIN in texts else []
    return [(EVERY, _("All its texts")), *main, *languages]


class Corrects:
    """The action of a run's page that creates a draft to correct the run's text."""

    @action(
        description=CORRECT,
        permissions=["view"],
        dialog=ask(
            gettext_lazy("Send a correction to those who got it?"),
            form=CorrectDialog,
            button=gettext_lazy("Make the correction"),
        ),
    )
    def correct(self, request: HttpRequest, form: CorrectDialog, object_id: str) -> HttpResponse:
        try:
            draft = control.correct(form.run, by=actor(request), **form.choice)
        except draft_correction.NotCorrectable as error:
            return refused(request, form, str(error))
        except ValidationError as error:
            return refused(request, form, error.messages[0])
        if not filling.at_once(draft.audience):
            enqueue_on_commit(tasks.fill_list, audience_id=draft.audience.pk)
        message = _("“{name}” is a draft. Put its text right, then launch it.").format(name=draft)
        return close_dialog(request, message, to=f"{page_url(draft)}?step=what")
