"""The launch dialog: everything one should know before the bells ring, and the number to type."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.planning.campaign import Campaign
from campaigns.planning.launch_check import freshness
from campaigns.planning.launch_check.launch_report import LaunchReport
from notifications.admin.furniture.dialogs import Dialog
from notifications.admin.furniture.widgets import LineInput

TYPED_ABOVE = 10_000  # devices; below it a click is enough
TOLERANCE = 0.01  # people register while one reads


class LaunchDialog(Dialog):
    template = "admin/campaigns/campaign/launch.html"
    wide = True
    number = forms.CharField(
        label=gettext_lazy("Number of devices"),
        required=False,
        widget=LineInput(inputmode="numeric", autocomplete="off"),
    )
    looked_at = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.must_type:
            number = f"{self.devices:,}"
            told = _("Type %(number)s to show that you mean it.") % {"number": number}
            self.fields["number"].help_text = told
        else:
            del self.fields["number"]
        self.initial["looked_at"] = freshness.marks(self.campaign)

    @property
    def title(self) -> str:
        return _("Launch “%(name)s”?") % {"name": self.campaign}

    @property
    def possible(self) -> bool:
        return self.report.possible

    @property
    def must_type(self) -> bool:
        return self.possible and self.devices > TYPED_ABOVE

    @property
    def devices(self) -> int:
        return self.report.reach.devices if self.report.reach else 0

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
            "problems": [problem for problem in problems if problem],
            "zone": campaign.project.timezone,
            "stale": self._since_the_review,
        }

    @property
    def _since_the_review(self) -> list[str]:
        """What changed between reading the review and opening the dialog."""
        seen = self.request.GET.get("looked_at", "")
        return [] if self.is_bound else freshness.changed(self.campaign, seen)

    def clean_looked_at(self) -> str:
        """A launch sends what was looked at, or asks to look again."""
        seen: str = self.cleaned_data["looked_at"]
        if stale := freshness.changed(self.campaign, seen):
            self.data = self.data.copy()  # type: ignore[attr-defined]
            self.data["looked_at"] = self.initial["looked_at"]  # type: ignore[index]
            again = _("Nothing was launched. What you see now is new: look again, then launch.")
            self.add_error(None, [*stale, again])
        return seen

    def clean_number(self) -> str:
        typed = "".join(self.cleaned_data["number"].split()).replace(",", "").replace(".", "")
        devices = self.devices
        number = int(typed) if re.fullmatch(r"\d{1,15}", typed) else None
        close = number is not None and abs(number - devices) <= devices * TOLERANCE
        if not close:
            self["number"].help_text = ""  # the refusal says the same
            raise ValidationError(_("Type %(number)s to launch.") % {"number": f"{devices:,}"})
        return typed
