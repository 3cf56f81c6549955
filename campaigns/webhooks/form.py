"""Endpoint form: its address, and which events of which campaigns it gets."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
    UnfoldBooleanWidget,
)

from campaigns.planning.campaign import Campaign
from campaigns.webhooks import endpoint_checks
from notifications.admin.ui.dialogs import Dialog
from notifications.admin.ui.unfolded import ModelForm
from notifications.webhooks.endpoint import Endpoint
from notifications.webhooks.event_types import FOR_PEOPLE, OFFERED, EventType

MAX_CAMPAIGNS = 200  # to choose from, newest first


class EndpointForm(ModelForm):
    via = forms.ChoiceField(
        label=gettext_lazy("How"),
        choices=Endpoint.Via.choices,
        initial=Endpoint.Via.WEBHOOK,
        widget=UnfoldAdminRadioSelectWidget,
    )
    to = forms.CharField(
        label=gettext_lazy("Where to"),
        max_length=5_000,
        widget=UnfoldAdminTextInputWidget(attrs={"spellcheck": "false", "autocomplete": "off"}),
        help_text=gettext_lazy(
            "For a webhook, an https URL of your server. For Slack, the URL of an incoming "
            "webhook (Slack: Apps → Incoming Webhooks). For e-mail, addresses with commas between "
            "them."
        ),
    )
    kinds = forms.MultipleChoiceField(
        label=gettext_lazy("What it is told"),
        choices=EventType.choices,
        initial=OFFERED,
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        help_text=gettext_lazy("Slack and e-mail take the first six: those of runs, and alerts."),
    )
    only = forms.TypedMultipleChoiceField(
        label=gettext_lazy("Only of these campaigns"),
        coerce=int,
        required=False,
        widget=UnfoldAdminSelectMultipleWidget,
        help_text=gettext_lazy(
            "None chosen: of all. What is of no campaign, such as an opt-out, always comes."
        ),
    )
    batched = forms.BooleanField(
        label=gettext_lazy("In batches"),
        required=False,
        widget=UnfoldBooleanSwitchWidget,
        help_text=gettext_lazy(
            "A webhook gets lines of JSON: up to 500 events in a call, at most one call a second. "
            "For anything that happens more than a few times a second."
        ),
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        choices=settings.LANGUAGES,
        widget=UnfoldAdminSelectWidget,
        help_text=gettext_lazy("Of what people read in Slack and e-mail."),
    )

    class Meta:
        model = Endpoint
        fields = ["project", "name", "kinds", "only", "batched", "language"]
        help_texts = {"name": gettext_lazy("For your colleagues, such as “Shop backend”.")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.secret = ""
        self.fields["kinds"].widget.attrs["data-for-people"] = " ".join(FOR_PEOPLE)
        if self.instance.pk:
            self._fix_way()
        elif not settings.EMAIL_IS_SET:
            self._without_email()
        project = self.instance.project_id or self.fields["project"].initial
        campaigns = Campaign.objects.filter(project=project).order_by("-pk")
        chosen = campaigns.filter(pk__in=self.instance.only or [])
        rows = {row.pk: str(row) for row in [*chosen, *campaigns[:MAX_CAMPAIGNS]]}
        self.fields["only"].choices = list(rows.items())  # type: ignore[attr-defined]

    def _fix_way(self) -> None:
        """Fix the way it is sent, which also limits the kinds of reports."""
        self.fields.pop("via", None)
        self.fields["to"].initial = self.instance.target
        if self.instance.is_for_people:
            self.fields.pop("batched", None)
            offered = [choice for choice in EventType.choices if choice[0] in FOR_PEOPLE]
            self.fields["kinds"].choices = offered  # type: ignore[attr-defined]

    def _without_email(self) -> None:
        ways = [choice for choice in Endpoint.Via.choices if choice[0] != Endpoint.Via.EMAIL]
        self.fields["via"].choices = ways  # type: ignore[attr-defined]
        self.fields["via"].help_text = _(
            "This installation sends no e-mail: an operator has to set EMAIL_URL first."
        )

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        row = self.instance
        row.via = values.get("via") or row.via
        if "project" in values:
            row.project = values["project"]
        if not row.pk and row.project_id:
            self._add_if_wrong(None, lambda: endpoint_checks.judge_room(row.project))
        if values.get("kinds"):
            self._add_if_wrong(
                "kinds", lambda: endpoint_checks.judge_kinds(row.via, values["kinds"])
            )
        batched = values.get("batched", False)
        self._add_if_wrong("batched", lambda: endpoint_checks.judge_batched(row.via, batched))
        if values.get("to") and row.via and row.project_id:
            self._add_if_wrong("to", lambda: self._place(values["to"]))
        return values

    def _place(self, where: str) -> None:
        self.secret = endpoint_checks.take_place(self.instance, where)

    def _add_if_wrong(self, field: str | None, judge: Any) -> None:
        try:
            judge()
        except ValidationError as error:
            self.add_error(field, error)


class NewSecretDialog(Dialog):
    at_once = forms.BooleanField(
        label=gettext_lazy("End every secret before it at once"),
        required=False,
        widget=UnfoldBooleanWidget,
        help_text=gettext_lazy(
            "As after a leak. Your server refuses what we send until it knows the new one."
        ),
    )
