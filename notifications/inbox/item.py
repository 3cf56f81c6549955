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
    """One item in a person's inbox, and when they saw, read or archived it.

    Ids grow, but of two items stored at the same moment the lower id may be committed last. Code
    that follows a person's items by id must look back a little.
    """

    # Always the contact's project; PostgreSQL checks the reference there.
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, db_index=False, db_constraint=False
    )
    contact = models.ForeignKey(Contact, on_delete=models.CASCADE, db_index=False)
    text = models.ForeignKey(InboxText, on_delete=models.CASCADE)
    category = models.CharField(max_length=50, blank=True, db_default="")  # its slug
    # Items of a person with the same word belong together, such as those of a room.
    collapse = models.CharField(max_length=LONGEST_COLLAPSE, blank=True, db_default="")
    reference = models.CharField(max_length=LONGEST_REFERENCE)  # chosen by the code that stores it
    # The revision of its text: a higher one replaces a lower one.
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
            # The badge is counted from this index alone. Unseen items are among the unread.
            models.Index(
                fields=["contact", "id"],
                include=["seen_at", "expires_at"],
                condition=Q(read_at__isnull=True, archived_at__isnull=True),
                name="inbox_unread",
            ),
            # The same for items that belong together, such as those of a room.
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
