"""Quiet hours: until when must nobody's phone ring, by the clock where the person is?

A project says which hours, a category whether it waits for their end. Asked when a message is about
to leave, as consent is: whoever sets them, sets them for all that has not left.
"""

from __future__ import annotations

from notifications.people.consent.category import Category
from notifications.people.consent.hours import QuietHours
from notifications.people.project import Project


def for_category(project: Project, kind: str, slug: str) -> QuietHours | None:
    """Those that a message of this category keeps to; None: it may leave at any hour. What is
    critical may, always; what has no category waits."""
    if project.quiet_from is None or project.quiet_until is None:
        return None
    if kind == Category.Kind.CRITICAL or (slug and _goes_at_any_hour(project, slug)):
        return None
    return QuietHours(project.quiet_from, project.quiet_until, project.timezone)


def _goes_at_any_hour(project: Project, slug: str) -> bool:
    at_any_hour = Category.QuietHours.SEND
    named = Category.objects.filter(project=project.pk, slug=slug)
    return named.filter(quiet_hours=at_any_hour).exists()
