"""Whom a test may go to: the project's testers, one person, or who has a demo phone."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection
from django.db.models import QuerySet

from campaigns.audiences.selection import people_and_devices
from campaigns.test_sends.demo_phones import PHONES
from notifications.people.contact import Contact
from notifications.people.project import Project


@dataclass(frozen=True)
class Reached:
    """A device of somebody; without one, somebody who has none."""

    contact_id: int
    device_id: int | None
    platform: str


def testers(project: Project) -> QuerySet[Contact]:
    return Contact.objects.filter(project=project, tester=True)


def some_testers(project: Project, most: int) -> list[Contact]:
    """All of them, or one more than a test may go to: a program may mark a million."""
    return list(testers(project).order_by("pk")[: most + 1])


def person(project: Project, external_id: str) -> QuerySet[Contact]:
    known = Contact.objects.filter(project=project)
    return known.none() if "\x00" in external_id else known.filter(external_id=external_id)


def with_demo_phones(project: Project) -> QuerySet[Contact]:
    owners = [phone.external_id for phone in PHONES.values()]
    return Contact.objects.filter(
        project=project, external_id__in=owners, devices__retired_at=None, devices__isnull=False
    ).distinct()


def devices_of(project: Project, contact_ids: list[int], most: int) -> list[Reached]:
    """Those that a launch at this moment would send to, one more than `most` at the most."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.id, d.id, COALESCE(d.platform, '')"
            f" FROM {people_and_devices(project.pk)} WHERE c.project_id = %s AND c.id = ANY(%s)"
            " ORDER BY c.external_id, d.id LIMIT %s",
            [project.pk, contact_ids, most + 1],
        )
        return [Reached(*row) for row in cursor.fetchall()]
