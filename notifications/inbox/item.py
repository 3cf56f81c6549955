"""InboxItem: one text in one person's inbox, and what they did with it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from notifications.inbox.text import InboxText
from notifications.people.contact import Contact
from notifications.people.project import OfProject, Project

LONGEST_REFERENCE = 60
LONGEST_COLLAPSE = 64


class InboxItem(OfProject):
    """What was this person sent, and have they seen, read or archived it?

    Numbers grow, but of two that are stored at the same moment the lower one may be committed last:
    whoever follows a person's items by number looks back a little.
    """

    # Never another one than its person's, whose key is checked.
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, db_index=False, db_constraint=False
    )
    contact = models.ForeignKey(Contact, on_delete=models.CASCADE, db_index=False)
    text = models.ForeignKey(InboxText, on_delete=models.CASCADE)
    category = models.CharField(max_length=50, blank=True, db_default="")  # its slug
    # Items of a person with the same one belong together, such as those of a room.
    collapse = models.CharField(max_length=LONGEST_COLLAPSE, blank=True, db_default="")
    reference = models.CharField(max_length=LONGEST_REFERENCE)  # known to who stored it
    # Of its text: a higher one takes the place of a lower one.
    revision = models.SmallIntegerField(default=1, db_default=1)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)
    read_at = models.DateTimeField(null=True)
    archived_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["contact", "reference"], name="one_inbox_item_per_reference"
            ),
            models.CheckConstraint(
                condition=Q(read_at__isnull=True) | Q(seen_at__isnull=False),
                name="an_item_that_is_read_was_seen",
            ),
        ]
        indexes = [
            # A person's inbox, newest first.
            models.Index(fields=["contact", "id"], name="inbox_of_person"),
            # What their badge counts, without a look at the rows. Unseen are among the unread.
            models.Index(
                fields=["contact", "id"],
                include=["seen_at", "expires_at"],
                condition=Q(read_at__isnull=True, archived_at__isnull=True),
                name="inbox_unread",
            ),
            # The same of a room.
            models.Index(
                fields=["contact", "collapse"],
                include=["seen_at", "expires_at"],
                condition=Q(read_at__isnull=True, archived_at__isnull=True) & ~Q(collapse=""),
                name="inbox_unread_together",
            ),
            models.Index(fields=["project", "created_at"], name="inbox_by_time"),
            models.Index(
                fields=["expires_at"],
                condition=Q(expires_at__isnull=False),
                name="inbox_expiring",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pk} of person {self.contact_id}"
