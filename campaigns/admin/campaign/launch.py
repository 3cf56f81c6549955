"""The launch dialog: everything one should know before the bells ring, and the number to type."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.audiences.audience import sample
from campaigns.audiences.words import sentence
from campaigns.planning.campaign import Campaign
from campaigns.planning.launch_check import forecast, freshness
from campaigns.planning.launch_check.doubts import doubts
from campaigns.runs.run import Run
from campaigns.texts import preview
from notifications.admin.furniture.dialogs import Dialog
from notifications.admin.furniture.widgets import LineInput
from notifications.people.contact import Contact
from notifications.postgres.budget import TooSlow, within

TYPED_ABOVE = 10_000  # devices; below it a click is enough
SAMPLING_SECONDS = 2.0
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
            number = f"{self.reach.devices:,}"
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
        return not self.problems and self.reach.devices > 0

    @property
    def must_type(self) -> bool:
        return self.possible and self.reach.devices > TYPED_ABOVE

    @cached_property
    def campaign(self) -> Campaign:
        related = Campaign.objects.select_related("audience", "template", "project")
        return related.get(pk=self.object_id or 0)

    @cached_property
    def problems(self) -> list[str]:
        if run := self.run:
            return [str(Campaign.AlreadyLaunched(run))]
        return list(self.campaign.problems(timezone.now()).values()) or self._counted[1]

    @cached_property
    def run(self) -> Run | None:
        return self.campaign.current_run()

    @property
    def reach(self) -> forecast.Reach:
        return self._counted[0]

    @cached_property
    def _counted(self) -> tuple[forecast.Reach, list[str]]:
        """Or why they cannot be counted."""
        campaign = self.campaign
        try:
            rules = campaign.audience.effective_rules
            return forecast.exact_reach(campaign.project_id, rules), []
        except forecast.Uncountable as error:
            return forecast.NOBODY, error.messages

    def context(self) -> dict[str, Any]:
        campaign = self.campaign
        if self.problems:
            return {"campaign": campaign, "problems": self.problems, "run": self.run}
        pace = forecast.pace(campaign.project, campaign.rate_per_second)
        rules = campaign.audience.effective_rules
        repeats = campaign.schedule_kind == Campaign.Schedule.RECURRING
        return {
            "campaign": campaign,
            "zone": campaign.project.timezone,
            "coming": campaign.coming(timezone.now(), 3) if repeats else [],
            "reach": self.reach,
            "pace": pace,
            "seconds": pace.seconds(self.reach.devices),
            "said": sentence(rules, project_id=campaign.project_id),
            "card": self._first_card(rules),
            "stale": self._since_the_review,
            "warnings": [
                *doubts(campaign.project_id, rules),
                *campaign.warnings(timezone.now()),
            ],
        }

    @property
    def _since_the_review(self) -> list[str]:
        """What changed between reading the review and opening the dialog."""
        seen = self.request.GET.get("looked_at", "")
        return [] if self.is_bound else freshness.changed(self.campaign, seen)

    def _first_card(self, rules: dict[str, Any]) -> preview.Card | None:
        """For somebody of the audience who has a device, rather than for just anybody."""
        people: list[Contact] = []
        with suppress(TooSlow), within(seconds=SAMPLING_SECONDS):
            people = sample(self.campaign.project_id, rules, size=5)
        reachable = [person for person in people if person.devices.all()] or people
        cards = [preview.card(self.campaign.template.frozen(), person) for person in reachable]
        return next((card for card in cards if card.message), cards[0] if cards else None)

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
        devices = self.reach.devices
        number = int(typed) if re.fullmatch(r"\d{1,15}", typed) else None
        close = number is not None and abs(number - devices) <= devices * TOLERANCE
        if not close:
            self["number"].help_text = ""  # the refusal says the same
            raise ValidationError(_("Type %(number)s to launch.") % {"number": f"{devices:,}"})
        return typed
