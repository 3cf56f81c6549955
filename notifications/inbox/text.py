"""InboxText: the text of inbox items. People who were sent the same at the same time share one."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from notifications.people.project import OfProject, Project


class InboxText(OfProject):
    """The text of one or more inbox items. A trigger removes it with its last item."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False)
    content = models.JSONField()  # title, body, image, link, data
    article = models.TextField(blank=True, db_default="")  # the long text that a push announces
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["project", "created_at"], name="inbox_text_by_time")]

    def __str__(self) -> str:
        return str(self.content.get("title") or self.pk)
