"""The audit trail: who did what to which row, when, from where, and what it was before.

Written once, never changed: a trigger refuses UPDATE, DELETE and TRUNCATE, whoever asks.
"""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Model, Q
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from notifications.people.project import Project
from notifications.requests import origin, request_id
from notifications.staff import actors

# The trail keeps English; the pages say these in the reader's language.
ACTIONS = (
    *(
        gettext_noop("created"),
        gettext_noop("changed"),
        gettext_noop("deleted"),
        gettext_noop("erased"),
    ),
    *(gettext_noop("launched"), gettext_noop("paused"), gettext_noop("resumed")),
    *(gettext_noop("cancelled"), gettext_noop("changed the rate of"), gettext_noop("moved")),
    gettext_noop("stopped the series of"),
    *(gettext_noop("sent again to the unknown of"), gettext_noop("let be the unknown of")),
    *(gettext_noop("left out"), gettext_noop("restored devices"), gettext_noop("swept")),
    *(gettext_noop("tagged"), gettext_noop("archived"), gettext_noop("brought back")),
    *(gettext_noop("changed members"), gettext_noop("retired"), gettext_noop("restored")),
    *(gettext_noop("set credentials"), gettext_noop("revoked"), gettext_noop("gave a role")),
    gettext_noop("resealed"),
    *(gettext_noop("set a password"), gettext_noop("forgot the second factor")),
    *(gettext_noop("set up a second factor"), gettext_noop("turned the second factor off")),
    *(gettext_noop("made new recovery codes"), gettext_noop("used a recovery code")),
    *(gettext_noop("logged in"), gettext_noop("logged out"), gettext_noop("locked out")),
    *(gettext_noop("refused a wrong password for"), gettext_noop("refused a wrong code for")),
)


CHANGES = ("changed", "changed members", "brought back")  # of what a row says, not of what it does


class AuditEntry(models.Model):
    """What did a person or a program do here?"""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, null=True, blank=True)
    at = models.DateTimeField(auto_now_add=True)
    actor = models.CharField(max_length=200, help_text=_("user:NAME, key:PREFIX or carillon."))
    action = models.CharField(max_length=50)
    subject = models.CharField(max_length=100, help_text=_("What it was done to, e.g. run 81."))
    address = models.GenericIPAddressField(
        "from", null=True, blank=True, help_text=_("Empty: a command on the server, or a worker.")
    )
    request_id = models.CharField(
        "request ID", max_length=request_id.LONGEST, blank=True, default="", db_default=""
    )
    changes = models.JSONField(default=dict, blank=True, help_text=_("{field: [before, after]}"))
    detail = models.JSONField(default=dict, blank=True)

    class Meta:
        verbose_name_plural = _("audit entries")
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.actor} {gettext(self.action)} {self.subject}"


def record(
    actor: str,
    action: str,
    subject: str,
    *,
    project: Project | None,
    changes: dict[str, list[Any]] | None = None,
    **detail: Any,
) -> None:
    AuditEntry.objects.create(
        project=project,
        actor=actor,
        action=action,
        subject=subject[:100],
        address=origin.address(),
        request_id=request_id.current(),
        changes=changes or {},
        detail=detail,
    )


def who_changed(*rows: Model) -> str:
    """Who was the last to, as a person would say it."""
    named, of_project = Q(), {getattr(row, "project_id", None) for row in rows}
    for row in rows:
        kind = row._meta.model_name
        named |= Q(subject__in=[f"{kind} {row}"[:100], f"{kind} {row.pk}"])
    trail = AuditEntry.objects.filter(named, project__in=of_project, action__in=CHANGES)
    entry = trail.order_by("-pk").first()
    return actors.who(entry.actor) if entry else gettext("Somebody else")
