"""The dialog that starts a rehearsal: its sample, its cost in quota, and what it may retire."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldBooleanWidget,
)

from campaigns.audiences import reach
from campaigns.audiences.reach import Reach
from campaigns.planning.campaign import Campaign
from campaigns.rehearsals.actions import AlreadyRunning, find_problems
from campaigns.rehearsals.projection import margin
from campaigns.runs.rehearsal import LEAST, MOST, SAMPLE, of_campaign
from notifications.admin.ui.dialogs import Dialog
from notifications.postgres.budget import Busy, slow_query_slot
from notifications.values.shares import share

SOME, ALL = "sample", "everybody"
EXPECTED_DEAD = 0.05  # the share of dead addresses in the example of the margin


class RehearseDialog(Dialog):
    template = "admin/campaigns/rehearsal/ask.html"
    of = forms.ChoiceField(label=gettext_lazy("Of whom"), widget=UnfoldAdminRadioSelectWidget)
    size = forms.IntegerField(
        label=gettext_lazy("Devices in the sample"),
        required=False,
        min_value=LEAST,
        max_value=MOST,
        initial=SAMPLE,
        widget=UnfoldAdminIntegerFieldWidget,
    )
    confirmed = forms.BooleanField(required=False, widget=UnfoldBooleanWidget)
    retires = forms.BooleanField(
        label=gettext_lazy("Retire the addresses that FCM calls dead"),
        required=False,
        widget=UnfoldBooleanWidget,
        help_text=gettext_lazy(
            "They receive nothing more until the app registers them again. They can be taken back."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(SOME, _("A sample")), (ALL, self._label_of_all)]
        cast(forms.ChoiceField, self.fields["of"]).choices = choices
        self.initial["of"] = SOME
        text = _("%(margin)s points, give or take, where %(dead)s %% are dead, in a sample of "
        "%(count)s.")  # fmt: skip
        numbers = {"margin": f"{margin(EXPECTED_DEAD, SAMPLE):.1f}", "count": f"{SAMPLE:,}"}
        self.fields["size"].help_text = text % (numbers | {"dead": f"{100 * EXPECTED_DEAD:g}"})
        self.fields["confirmed"].label = _("Yes, use it for everybody: %(quota)s") % {
            "quota": self.cost_of_all
        }

    @property
    def title(self) -> str:
        return _("Rehearse “%(name)s”?") % {"name": self.campaign}

    @property
    def possible(self) -> bool:
        return not self.obstacles

    @cached_property
    def campaign(self) -> Campaign:
        related = Campaign.objects.select_related("audience", "template", "project", "category")
        return related.get(pk=self.object_id or 0)

    @cached_property
    def obstacles(self) -> list[str]:
        running = of_campaign(self.campaign.pk).filter(finished_at=None).first()
        if running:
            return [str(AlreadyRunning(running))]
        return list(find_problems(self.campaign, timezone.now()).values())

    @cached_property
    def reach(self) -> Reach | None:
        """None: it takes too long to count the audience now."""
        if self.obstacles:
            return None
        try:
            with slow_query_slot(self.campaign.project_id):
                return reach.quick(self.campaign.project_id, self.campaign.audience.effective_rules)
        except (Busy, ValidationError):
            return None

    @property
    def _label_of_all(self) -> str:
        if self.reach is None:
            return _("Everybody")
        return _("Everybody: %(count)s devices") % {"count": self._count_in_words(self.reach)}

    def _count_in_words(self, found: Reach) -> str:
        number = f"{found.devices:,}"
        return number if found.exact else _("about %(number)s") % {"number": number}

    @property
    def cost_of_all(self) -> str:
        """The cost of rehearsing all devices, in requests of FCM's quota."""
        quota = self.campaign.project.quota_per_minute
        if self.reach is None:
            text = _("a request for each device, of FCM's %(quota)s a minute.")
            return text % {"quota": f"{quota:,}"}
        text = _("%(count)s requests, as many as FCM's quota allows in %(minutes)s minutes.")
        if self.reach.devices <= quota:
            text = _("%(count)s requests, %(share)s %% of a minute of FCM's quota (%(quota)s).")
        return text % {
            "count": self._count_in_words(self.reach),
            "share": share(self.reach.devices, quota),
            "minutes": f"{self.reach.devices / quota:,.1f}",
            "quota": f"{quota:,}",
        }

    def context(self) -> dict[str, Any]:
        quota = self.campaign.project.quota_per_minute
        return {
            "obstacles": self.obstacles,
            "sample": SAMPLE,
            "sample_share": share(SAMPLE, quota),
            "quota": quota,
            "emulator": self.campaign.project.uses_emulator,
        }

    # --- What was chosen -----------------------------------------------------------------------

    @property
    def sample(self) -> int | None:
        size: int | None = self.cleaned_data["size"]
        return size if self.cleaned_data["of"] == SOME else None

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("of") == SOME and not cleaned.get("size") and "size" not in self.errors:
            self.add_error("size", _("Write how many devices are drawn."))
        if cleaned.get("of") == ALL and not cleaned.get("confirmed"):
            text = _("Confirm what it costs, or choose a sample.")
            self.add_error("confirmed", text)
        return cleaned
