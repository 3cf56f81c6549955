"""Launch dialog: everything to know before the launch, and the number to type to confirm."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from django import forms
from django.core.exceptions import ValidationError
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.engagement import goal_in_words
from campaigns.forecast.skips import waterfall
from campaigns.launch_check import freshness
from campaigns.launch_check.launch_report import LaunchReport
from campaigns.planning.campaign import Campaign
from notifications.admin.ui.dialogs import Dialog
from notifications.admin.ui.widgets import LineInput
from notifications.postgres.budget import Busy, slow_query_slot

TYPED_ABOVE = 10_000  # devices; below it a click is enough
TOLERANCE = 0.01  # people register while the user reads

Asked = TypeVar("Asked")


class LaunchDialog(Dialog):
    template = "admin/campaigns/campaign/launch.html"
    wide = True
    number = forms.CharField(
        label=gettext_lazy("Devices it is sent to"),
        required=False,
        widget=LineInput(inputmode="numeric", autocomplete="off"),
    )
    looked_at = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.busy = False
        self._run_if_free(self._count)
        if self.must_type:
            hint = _("Type %(number)s, the number of devices it is sent to, to confirm.")
            self.fields["number"].help_text = hint % {"number": self.number_said}
        else:
            del self.fields["number"]
        self.initial["looked_at"] = freshness.marks(self.campaign)

    def _count(self) -> object:
        """Count now what the answer needs. The rest is looked up as the dialog is rendered."""
        return self.report.skipped if self.must_type else None

    def _run_if_free(self, ask: Callable[[], Asked]) -> Asked | None:
        """Run a slow query under the project's limit, so that it cannot block the web server."""
        if not self.busy:
            try:
                with slow_query_slot(self.campaign.project_id):
                    return ask()
            except Busy:
                self.busy = True
        return None

    def render_before_template(self) -> SafeString:
        drawn = self._run_if_free(super().render_before_template)
        if drawn is not None:
            return drawn
        self.fields.pop("number", None)
        again = {"form": self, "path": self.request.get_full_path()}
        return render_to_string("admin/campaigns/campaign/launch_busy.html", again, self.request)

    @property
    def title(self) -> str:
        return _("Launch “%(name)s”?") % {"name": self.campaign}

    @property
    def possible(self) -> bool:
        return not self.busy and self.report.possible

    @property
    def must_type(self) -> bool:
        return self.possible and self.devices > TYPED_ABOVE

    @property
    def devices(self) -> int:
        return self.report.reach.devices if self.report.reach else 0

    @property
    def sent_to(self) -> int:
        """How many devices it will reach; if skips could not be counted, how many it selects."""
        return self.devices if self.report.sent_to is None else self.report.sent_to

    @property
    def number_said(self) -> str:
        return f"{self.sent_to:,}"

    @cached_property
    def campaign(self) -> Campaign:
        related = Campaign.objects.select_related("audience", "template", "project")
        return related.get(pk=self.object_id or 0)

    @cached_property
    def report(self) -> LaunchReport:
        return LaunchReport(self.campaign, timezone.now())

    def context(self) -> dict[str, Any]:
        campaign, report = self.campaign, self.report
        problems = list(report.obstacles.values()) or [report.uncounted]
        return {
            "campaign": campaign,
            "report": report,
            "in_vain": waterfall.in_vain(report.course),
            "problems": [problem for problem in problems if problem],
            "zone": campaign.project.timezone,
            "goal": goal_in_words.goal_in_words(campaign),
            "stale": self._since_the_review,
        }

    @property
    def _since_the_review(self) -> list[str]:
        """What changed between the review and the opening of this dialog."""
        marks = self.request.GET.get("looked_at", "")
        return [] if self.is_bound else freshness.changed(self.campaign, marks)

    def clean_looked_at(self) -> str:
        """Refuse if something has changed since the user looked: they must check it again."""
        marks: str = self.cleaned_data["looked_at"]
        if stale := freshness.changed(self.campaign, marks):
            self.data = self.data.copy()  # type: ignore[attr-defined]
            self.data["looked_at"] = self.initial["looked_at"]  # type: ignore[index]
            again = _(
                "Nothing was launched. Something has changed since: check it again, then launch."
            )
            self.add_error(None, [*stale, again])
        return marks

    def clean_number(self) -> str:
        typed = "".join(self.cleaned_data["number"].split()).replace(",", "").replace(".", "")
        number = int(typed) if re.fullmatch(r"\d{1,15}", typed) else None
        close = number is not None and abs(number - self.sent_to) <= self.sent_to * TOLERANCE
        if not close:
            self["number"].help_text = ""  # the refusal says the same
            raise ValidationError(_("Type %(number)s to launch.") % {"number": self.number_said})
        return typed
