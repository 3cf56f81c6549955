"""ConsentChange: the history of people's answers. Rows are added, never changed."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from notifications.people.contact import Contact
from notifications.people.project import OfProject

SOURCES = {
    "api": _("API"),
    "import": _("Import"),
    "page": pgettext_lazy("who told us", "by hand"),
    "app": _("App"),
}


class ConsentChange(OfProject):
    """One change of a person's answer: when, to what, from which source, and by whom.

    Deleted with the person. A trigger refuses every UPDATE.
    """

    # PostgreSQL deletes it with the person, even if the code that deletes the person does not know
    # this table.
    contact = models.ForeignKey(
        Contact, on_delete=models.CASCADE, related_name="consent_changes", db_constraint=False
    )
    category = models.CharField(max_length=50, blank=True)  # its slug; empty: all marketing
    wanted = models.BooleanField()
    at = models.DateTimeField()
    source = models.CharField(max_length=20)
    by = models.CharField(max_length=200)

    class Meta:
        indexes = [
            models.Index(fields=["contact", "-id"], name="consent_history"),
            models.Index(
                fields=["project", "at"],
                condition=Q(category="", wanted=False),
                name="opt_outs_by_day",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.category or 'all'}: {'yes' if self.wanted else 'no'}"
