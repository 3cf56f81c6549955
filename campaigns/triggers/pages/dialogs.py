"""Dialogs shown before an automation is turned on, paused or archived."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from campaigns.triggers.automation import MEANT, Automation
from campaigns.triggers.pages import review
from notifications.admin.ui.dialogs import Dialog, FinalDialog
from notifications.values import row_versions


def mark(automation: Automation) -> str:
    """A fingerprint of everything the user reviews before turning the automation on."""
    values = [getattr(automation, name) for name in MEANT]
    return row_versions.mark([*values, automation.template.frozen()])


class AutomationDialog(Dialog):
    @cached_property
    def automation(self) -> Automation:
        related = Automation.objects.select_related("template", "category", "project")
        return related.get(pk=self.object_id or 0)


class TurnOnDialog(AutomationDialog):
    template = "admin/campaigns/automation/turn_on.html"
    looked_at = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["looked_at"] = mark(self.automation)

    @property
    def title(self) -> str:
        return _("Turn on “%(name)s”?") % {"name": self.automation}

    @cached_property
    def problems(self) -> dict[str, str]:
        return self.automation.problems()

    @property
    def possible(self) -> bool:
        return not self.problems and self.automation.may_change

    def context(self) -> dict[str, Any]:
        details = review.of_automation(self.automation)
        texts = {} if self.problems else review.as_read(self.automation)
        return {**details, **texts, "problems": self.problems.values()}

    def clean_looked_at(self) -> str:
        """Refuse if the automation has changed since the user looked: they must check it again."""
        looked_at: str = self.cleaned_data["looked_at"]
        if looked_at and looked_at != self.initial["looked_at"]:
            self.data = self.data.copy()  # type: ignore[attr-defined]
            self.data["looked_at"] = self.initial["looked_at"]  # type: ignore[index]
            text = _("It is not on. Something has changed since: check it again, then turn it on.")
            self.add_error(None, text)
        return looked_at


class PauseDialog(AutomationDialog):
    @property
    def title(self) -> str:
        return _("Pause “%(name)s”?") % {"name": self.automation}


class ArchiveDialog(AutomationDialog, FinalDialog):
    @property
    def title(self) -> str:
        return _("Archive “%(name)s”?") % {"name": self.automation}
