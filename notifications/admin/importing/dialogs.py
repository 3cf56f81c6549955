"""The dialogs before an import starts, stops or continues."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from notifications.admin.importing import picture
from notifications.admin.ui.dialogs import Dialog
from notifications.admin.ui.widgets import LineInput
from notifications.people.importing.model import Import


class ImportDialog(Dialog):
    @cached_property
    def row(self) -> Import:
        return Import.objects.select_related("project").get(pk=self.object_id or 0)


class StartDialog(ImportDialog):
    """Starts an import. To remove or overwrite people, the user must type their number."""

    template = "admin/notifications/import/start.html"
    number = forms.CharField(
        label=gettext_lazy("Number of people"),
        required=False,
        widget=LineInput(inputmode="numeric", autocomplete="off"),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.must_type:
            hint = _("Type %(number)s to confirm.")
            self.fields["number"].help_text = hint % {"number": f"{self.losing:,}"}
        else:
            del self.fields["number"]

    @property
    def title(self) -> str:
        count = picture.concerned(self.row)
        text = ngettext(
            "Import %(count)s person from “%(name)s”?",
            "Import %(count)s people from “%(name)s”?",
            count,
        )
        if self.row.mode == Import.Mode.REMOVE:
            text = ngettext("Remove %(count)s person?", "Remove %(count)s people?", count)
        return text % {"count": f"{count:,}", "name": self.row}

    @property
    def possible(self) -> bool:
        return bool(self.row.state == Import.State.CHECKED)

    @property
    def losing(self) -> int:
        """How many people lose data that is not in the file."""
        count_of_mode = {Import.Mode.REMOVE: "removed", Import.Mode.REPLACE: "updated"}
        return int(self.row.foreseen.get(count_of_mode.get(Import.Mode(self.row.mode), ""), 0))

    @property
    def must_type(self) -> bool:
        return self.possible and self.losing > 0

    @property
    def danger(self) -> bool:
        return self.must_type

    def context(self) -> dict[str, Any]:
        row = self.row
        counts = picture.list_counts(row.foreseen, row)
        return {"row": row, "project": row.project, "counts": counts, "possible": self.possible}

    def clean_number(self) -> str:
        typed = "".join(self.cleaned_data["number"].split()).replace(",", "").replace(".", "")
        if not re.fullmatch(r"\d{1,15}", typed) or int(typed) != self.losing:
            self["number"].help_text = ""  # the refusal has the same text
            text = _("Type %(number)s to import.")
            raise ValidationError(text % {"number": f"{self.losing:,}"})
        return typed


class StopDialog(ImportDialog):
    template = "admin/notifications/import/stop.html"

    def context(self) -> dict[str, Any]:
        return {"row": self.row}
