"""Automation form: the event, the message and the timing."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.texts.template import Template
from campaigns.triggers.automation import A_DAY, LONGEST_DELAY, LONGEST_WINDOW, MEANT, Automation
from campaigns.triggers.automation_texts import sentence
from campaigns.triggers.pages.conditions import ConditionsField
from notifications.admin.ui.duration_field import DurationText
from notifications.admin.ui.unfolded import ModelForm
from notifications.admin.ui.widgets import LineInput
from notifications.people.consent.category import Category
from notifications.postgres import row_lock
from notifications.staff import audit
from notifications.values import row_versions
from notifications.values.moments import short

VALUES = gettext_lazy(
    "All conditions must hold. A number is compared as a number; for a text of digits write it in "
    'quotes: "5".'
)


def _event(label: Any, **more: Any) -> forms.CharField:
    widget = LineInput(autocomplete="off", list="event-names", spellcheck="false")
    return forms.CharField(label=label, max_length=64, widget=widget, **more)


class AutomationForm(ModelForm):
    event_name = _event(
        gettext_lazy("Event"),
        help_text=gettext_lazy("What somebody has to do, as your app calls it: added_to_cart."),
    )
    where = ConditionsField(
        label=gettext_lazy("With these properties"), required=False, help_text=VALUES
    )
    delay_seconds = DurationText(
        label=gettext_lazy("How long after"),
        least=0,
        most=LONGEST_DELAY,
        initial=0,
        help_text=gettext_lazy("Like “15 min” or “2 days”, at most 28 days. 0 s: at once."),
    )
    once_in_seconds = DurationText(
        label=gettext_lazy("At most once in"),
        least=0,
        most=LONGEST_WINDOW,
        initial=A_DAY,
        help_text=gettext_lazy("For each person. 0 s: after every event."),
    )
    unless_name = _event(
        gettext_lazy("Unless this event came meanwhile"),
        required=False,
        help_text=gettext_lazy("Like bought: then nothing is sent. Empty: whatever comes."),
    )
    unless_where = ConditionsField(
        label=gettext_lazy("With these properties"), required=False, help_text=VALUES
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    class Meta:
        model = Automation
        fields = ["project", "name", "event_name", "where", "template", "category",
                  "delay_seconds", "once_in_seconds", "unless_name", "unless_where"]  # fmt: skip
        labels = {"template": gettext_lazy("Template")}
        help_texts = {
            "name": gettext_lazy("Only you and your colleagues see it."),
            "template": gettext_lazy(
                "The properties of the event can be used in the text like attributes: {{ price }}. "
                "The text is taken from the template as it is when a message is made."
            ),
            "category": gettext_lazy("What the message is about: it decides who may be sent it."),
        }

    def __init__(self, data: Any = None, *args: Any, **kwargs: Any) -> None:
        if data is not None:
            row_lock.lock_and_reload(kwargs.get("instance"))
        super().__init__(data, *args, **kwargs)
        self._offer_the_projects_own()
        if self.instance.pk:
            self.initial["seen"] = row_versions.carried(_fingerprint(self.instance))

    def _offer_the_projects_own(self) -> None:
        project_field = self.fields.get("project")
        project_id = self.instance.project_id or (project_field.initial if project_field else None)
        for name, model in (("template", Template), ("category", Category)):
            rows = model._default_manager.filter(project=project_id).order_by("name")
            if name in self.fields:
                self.fields[name].queryset = rows  # type: ignore[attr-defined]
        if "category" in self.fields:
            field: Any = self.fields["category"]
            field.empty_label = _("No category: goes to everyone who is subscribed")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        was, stored = row_versions.parse(self.data.get("seen", "")), self.instance
        if stored.pk and was and row_versions.changed(was, _fingerprint(stored)):
            self.data = self.data.copy()  # type: ignore[attr-defined]  # what Django posts can
            self.data["seen"] = self.initial["seen"]  # type: ignore[index]
            self.add_error(None, _describe_theirs(stored))
        return cleaned


def _fingerprint(automation: Automation) -> dict[str, Any]:
    """A fingerprint of what two users may both change."""
    names = ("name", *MEANT)
    return {"mark": row_versions.mark([getattr(automation, name) for name in names])}


def _describe_theirs(theirs: Automation) -> str:
    text = _(
        "{who} saved this automation on {when}, while you were editing. Theirs: {sentence} Yours "
        "is below and not saved yet. Save again to keep yours."
    )
    return text.format(
        who=audit.who_changed(theirs),
        when=short(theirs.updated_at, theirs.project.timezone),
        sentence=sentence(theirs),
    )
