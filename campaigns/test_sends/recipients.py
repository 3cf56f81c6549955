"""Recipients of a test send: the project's testers, one contact, or the demo phones."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection
from django.db.models import QuerySet

from campaigns.audiences.selection import people_and_devices
from campaigns.test_sends.demo_phones import PHONES
from notifications.people.contact import Contact
from notifications.people.project import Project

MOST_DEVICES = 100  # of one test


@dataclass(frozen=True)
class Recipient:
    """A contact's device; `device_id` is None if the contact has none."""

    contact_id: int
    device_id: int | None
    platform: str


def testers(project: Project) -> QuerySet[Contact]:
    return Contact.objects.filter(project=project, tester=True)


def first_testers(project: Project) -> list[Contact]:
    """Return all testers, or more than a test may go to: a program may mark a million."""
    return list(testers(project).order_by("pk")[: MOST_DEVICES + 1])


def find_contact(project: Project, external_id: str) -> Contact | None:
    if "\x00" in external_id:  # PostgreSQL has no such text
        return None
    return Contact.objects.filter(project=project, external_id=external_id).first()


def demo_phone_owners(project: Project) -> QuerySet[Contact]:
    owners = [phone.external_id for phone in PHONES.values()]
    return Contact.objects.filter(
        project=project, external_id__in=owners, devices__retired_at=None, devices__isnull=False
    ).distinct()


def find_devices(project: Project, contact_ids: list[int]) -> list[Recipient]:
    """Return the devices that a launch at this moment would send to, or more than MOST_DEVICES."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.id, d.id, COALESCE(d.platform, '')"
            f" FROM {people_and_devices(project.pk)} WHERE c.project_id = %s AND c.id = ANY(%s)"
            " ORDER BY c.external_id, d.id LIMIT %s",
            [project.pk, contact_ids, MOST_DEVICES + 1],
        )
        return [Recipient(*row) for row in cursor.fetchall()]
