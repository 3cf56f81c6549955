"""The audit trail: who did what to which row, when, from where, and what changed.

Entries are written once and never changed: a trigger refuses every UPDATE, DELETE and TRUNCATE.
"""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from notifications.people.project import Project
from notifications.requests import origin, request_id
from notifications.staff import subjects
from notifications.staff.actors import who
from notifications.staff.subjects import Subject

# Entries are stored in English; pages translate these words. Apps that import this one mark their
# own words for translation where they record them.
ACTIONS = (
    *(gettext_noop("created"), gettext_noop("deleted"), gettext_noop("erased")),
    gettext_noop("exported"),
    *(gettext_noop("wrote"), gettext_noop("retired"), gettext_noop("restored")),
    *(gettext_noop("set credentials"), gettext_noop("revoked"), gettext_noop("gave a role")),
    *(gettext_noop("re-encrypted"), gettext_noop("suppressed"), gettext_noop("took off")),
    *(gettext_noop("marked as testers"), gettext_noop("took off the testers")),
    *(gettext_noop("tested"), gettext_noop("replayed"), gettext_noop("replaced the secret of")),
    *(gettext_noop("disabled"), gettext_noop("enabled")),
    *(gettext_noop("set a password"), gettext_noop("reset the second factor")),
    *(gettext_noop("set up a second factor"), gettext_noop("turned the second factor off")),
    *(gettext_noop("made new recovery codes"), gettext_noop("used a recovery code")),
    *(gettext_noop("logged in"), gettext_noop("logged out"), gettext_noop("locked out")),
    *(gettext_noop("refused a wrong password for"), gettext_noop("refused a wrong code for")),
)
# Words of earlier releases. Entries are never changed, so pages show the new word instead.
RENAMED = {
    "let be the unknown of": "kept the unknown outcomes of",
    "sent again to the unknown of": "sent again to the unknown recipients of",
    "forgot the recipients of": "removed the recipients of",
    "forgot the second factor": "reset the second factor",
    "resealed": "re-encrypted",
}
# Actions that change a row's content, not its state.
CHANGES = (
    *(gettext_noop("changed"), gettext_noop("changed members"), gettext_noop("brought back")),
    gettext_noop("filled again"),
    gettext_noop("changed consent"),
)


class AuditEntry(models.Model):
    """One action of a person or a program."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, null=True, blank=True)
    at = models.DateTimeField(auto_now_add=True)
    actor = models.CharField(max_length=200, help_text=_("user:NAME, key:PREFIX or carillon."))
    action = models.CharField(max_length=50)
    # All three are empty if the subject is only a text.
    subject_kind = models.CharField(
        max_length=30, blank=True, editable=False, default="", db_default=""
    )
    subject_id = models.BigIntegerField(null=True, editable=False)
    subject_name = models.CharField(  # its name at that time
        max_length=200, blank=True, editable=False, default="", db_default=""
    )
    subject = models.CharField(
        max_length=100,
        blank=True,
        default="",
        db_default="",
        help_text=_("What it was done to, e.g. run 81."),
    )
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
        indexes = [
            models.Index(
                fields=["subject_kind", "subject_id", "-id"],
                condition=Q(subject_id__isnull=False),
                name="audit_of_a_row",
            ),
        ]

    def __str__(self) -> str:
        return f"{who(self.actor)} {gettext(self.did)} {self.about}"

    @property
    def did(self) -> str:
        """The action, in today's words."""
        return RENAMED.get(self.action, self.action)

    @property
    def about(self) -> str:
        """The subject by the name it had then. Pages show its current name."""
        if not self.subject_kind:
            return self.subject
        return str(Subject(self.subject_kind, self.subject_id, self.subject_name))


def entries_of(*rows: Model) -> QuerySet[AuditEntry]:
    """Return the audit entries about these rows."""
    about = Q()
    for row in rows:
        subject = subjects.describe_row(row)
        about |= Q(subject_kind=subject.kind, subject_id=subject.id)
    return AuditEntry.objects.filter(about)


def record(
    actor: str,
    action: str,
    subject: Model | Subject | str,
    *,
    project: Project | None,
    changes: dict[str, list[Any]] | None = None,
    **detail: Any,
) -> None:
    if isinstance(subject, Model):
        subject = subjects.describe_row(subject)
    AuditEntry.objects.create(
        project=project,
        actor=actor,
        action=action,
        **_columns(subject),
        address=origin.address(),
        request_id=request_id.current(),
        changes=changes or {},
        detail=detail,
    )


def _columns(subject: Subject | str) -> dict[str, Any]:
    if isinstance(subject, str):
        return {"subject": subject[:100]}
    return {
        "subject_kind": subject.kind,
        "subject_id": subject.id,
        "subject_name": subject.name[:200],
        "subject": subject.search_text[:100],
    }


def who_changed(*rows: Model) -> str:
    """Return the name of the actor who changed these rows last."""
    of_project = {getattr(row, "project_id", None) for row in rows}
    trail = entries_of(*rows).filter(project__in=of_project, action__in=CHANGES)
    entry = trail.order_by("-pk").first()
    return who(entry.actor) if entry else gettext("Somebody else")
