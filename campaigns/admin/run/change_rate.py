"""The dialog that makes a running run faster or slower."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from campaigns.planning.launch_check import forecast
from campaigns.runs.run import Run
from notifications.admin.furniture.dialogs import Dialog
from notifications.pace.pacing import full_rate

MAX_RATE = 100_000


class RateDialog(Dialog):
    template = "admin/campaigns/run/rate.html"

    rate = forms.IntegerField(
        label=_("At most, per second"),
        required=False,
        min_value=1,
        max_value=MAX_RATE,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=_("Empty: as fast as the project's FCM quota allows."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.run = Run.objects.select_related("project").get(pk=self.object_id or 0)
        self.fields["rate"].initial = self.run.rate_per_second

    def context(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "quota": full_rate(self.run.project),
            "fleet": forecast.pace(self.run.project, None),
        }
