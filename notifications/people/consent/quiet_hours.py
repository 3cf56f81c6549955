"""Quiet hours: the hours in which a message must wait, by the clock where the person is.

A project sets the hours. A category sets whether its messages wait for their end. They are read
when a message is about to leave, as consent is: a change applies to all messages that have not
left.
"""

from __future__ import annotations

from notifications.people.consent.category import Category
from notifications.people.consent.hours import QuietHours
from notifications.people.project import Project


def for_category(project: Project, kind: str, slug: str) -> QuietHours | None:
    """The quiet hours of a message of this category; None: it may leave at any hour.

    A critical message may always leave. A message without a category waits.
    """
    if project.quiet_from is None or project.quiet_until is None:
        return None
    if kind == Category.Kind.CRITICAL or (slug and _goes_at_any_hour(project, slug)):
        return None
    return QuietHours(project.quiet_from, project.quiet_until, project.timezone)


def _goes_at_any_hour(project: Project, slug: str) -> bool:
    at_any_hour = Category.QuietHours.SEND
    named = Category.objects.filter(project=project.pk, slug=slug)
    return named.filter(quiet_hours=at_any_hour).exists()
