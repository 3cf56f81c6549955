"""Category kind: the dialog that changes it and shows how many people each kind reaches."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db import transaction
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminRadioSelectWidget

from notifications.admin.ui.dialogs import Dialog
from notifications.people.consent.category import Category
from notifications.people.consent.eligibility import out_of_marketing
from notifications.staff import changes

KINDS = {
    Category.Kind.MARKETING: gettext_lazy(
        "Goes to people who are subscribed and did not decline this category."
    ),
    Category.Kind.TRANSACTIONAL: gettext_lazy(
        "Goes to everyone who is not suppressed, subscribed or not: receipts, deliveries "
        "and other things they asked for."
    ),
    Category.Kind.CRITICAL: gettext_lazy(
        "Goes to the same people as transactional, in quiet hours too: alarms and other messages "
        "that cannot wait."
    ),
}


def choices() -> list[tuple[str, str]]:
    return [(kind.value, f"{kind.label}: {meaning}") for kind, meaning in KINDS.items()]


class KindDialog(Dialog):
    template = "admin/campaigns/category/change_kind.html"

    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"), choices=choices, widget=UnfoldAdminRadioSelectWidget
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["kind"].initial = self.category.kind

    def clean_kind(self) -> str:
        chosen: str = self.cleaned_data["kind"]
        if chosen != Category.Kind.MARKETING and self.category.has_caps:
            text = _(
                "It has caps of its own, and only a marketing category does. Empty them first."
            )
            raise forms.ValidationError(text)
        return chosen

    @cached_property
    def category(self) -> Category:
        return Category.objects.select_related("project").get(pk=self.object_id or 0)

    @property
    def danger(self) -> bool:
        return self._widens

    @property
    def _widens(self) -> bool:
        return self.category.kind == Category.Kind.MARKETING

    def context(self) -> dict[str, Any]:
        out = out_of_marketing(self.category) if self._widens else 0
        return {"category": self.category, "widens": self._widens, "out": out}

    def write(self) -> dict[str, Any]:
        """Save the kind; return what changed. If the process dies here: all of it, or nothing."""
        with transaction.atomic():
            category = Category.objects.select_for_update().get(pk=self.category.pk)
            before = changes.values_of(category)
            category.kind = self.cleaned_data["kind"]
            category.save(update_fields=["kind"])
        return changes.between(before, category)
