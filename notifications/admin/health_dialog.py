"""Health address: the dialog and state of the URL where a project's servers report their load.

The dialog asks the address before it saves it. An address that returns no level is not saved:
otherwise the problem would first show during a send.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminTextInputWidget

from notifications.admin.ui.dialogs import Dialog
from notifications.pacing import health, load
from notifications.people.project import LONGEST_NUMBER, Project
from notifications.values.moments import in_zone

AS_WRITTEN = {"spellcheck": "false", "autocomplete": "off"}
FIELDS = ("load_url", "load_number")


class HealthDialog(Dialog):
    """Sets the health address. An empty one turns the requests off."""

    wide = True
    load_url = forms.CharField(
        label=gettext_lazy("Health address"),
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs=AS_WRITTEN | {"type": "url"}),
        help_text=gettext_lazy(
            "An https address of your own server, asked every two seconds while anything is sent "
            'to many. It answers {"level": 0.4}, from 0, idle, to 1, as busy as it may get, or in '
            "the text format of Prometheus; 503 and 429 count as 1. Empty: none is asked."
        ),
    )
    load_number = forms.CharField(
        label=gettext_lazy("Number there"),
        required=False,
        max_length=LONGEST_NUMBER,
        widget=UnfoldAdminTextInputWidget(attrs=AS_WRITTEN),
        help_text=gettext_lazy(
            "What the number from 0 to 1 is called there: the name of a metric, with its labels if "
            "you mean one of several. Empty: “level”."
        ),
    )

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self.project = Project.objects.get(pk=self.object_id or 0)
        self.level: float | None = None
        for name in FIELDS:
            self.fields[name].initial = getattr(self.project, name)

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = self.cleaned_data
        if self.errors or not values["load_url"]:
            return values
        try:
            health.validate(values["load_url"], values["load_number"])
        except ValidationError as error:
            self.add_error(None, error)
            return values
        answer, reading = health.ask(values["load_url"], values["load_number"])
        self.level = reading.level
        if reading.level is None:
            words = health.in_words(reading.trouble, answer.status, values["load_number"])
            self.add_error("load_url", _("%(why)s It was not saved.") % {"why": words})
        return values

    def save(self) -> dict[str, list[str]]:
        """Save, and return the changes. Without an address, forget the load it reported last."""
        before = [getattr(self.project, name) for name in FIELDS]
        url = self.cleaned_data["load_url"]
        after = [url, self.cleaned_data["load_number"] if url else ""]
        with transaction.atomic():
            for name, value in zip(FIELDS, after, strict=True):
                setattr(self.project, name, value)
            self.project.save(update_fields=FIELDS)
            health.forget(self.project.pk)
            if not url:
                load.forget(self.project.pk)
        if self.level is not None:
            health.tell(self.project, self.level)
        pairs = zip(FIELDS, before, after, strict=True)
        return {name: [old, new] for name, old, new in pairs if old != new}

    @property
    def in_words(self) -> str:
        if self.level is None:
            return _("No health address is asked.")
        text = _(
            "It says that it is %(load)d %% busy: what is sent to many may leave at %(rate)s a "
            "second, all together."
        )
        rate = load.Load.objects.get(project=self.project).safe_rate
        return text % {"load": round(100 * self.level), "rate": f"{rate:,.0f}"}


def health_html(project: Project) -> SafeString:
    """HTML for the project's page: the last reported level, any problem, a button to ask now."""
    report = load.Load.objects.filter(project=project).first()
    context = {
        "project": project,
        "trouble": health.trouble(project),
        "level": f"{100 * report.level:.0f}" if report else "",
        "when": in_zone(report.reported_at, project.timezone) if report else "",
        "silent": report is None or report.is_silent(timezone.now()),
    }
    return render_to_string("admin/notifications/project/health.html", context)
