"""Test sends are kept for a week. Those of an erased contact go with the contact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from campaigns.test_sends.models import DeviceTest, SentTest
from notifications.people.contact import Contact

KEPT_FOR = timedelta(days=7)


def remove_old(now: datetime) -> None:
    SentTest.objects.filter(at__lt=now - KEPT_FOR).delete()


def forget(contact_ids: Sequence[int]) -> None:
    """Delete the test sends of erased contacts."""
    SentTest.objects.filter(reads_as__in=contact_ids).delete()
    DeviceTest.objects.filter(contact_id__in=contact_ids).delete()


def tests_of(contact: Contact) -> Iterator[dict[str, Any]]:
    """Export the test sends to a contact's devices, newest first."""
    tests = DeviceTest.objects.filter(contact_id=contact.pk).select_related("test")
    for row in tests.order_by("-pk").iterator():
        yield {"at": row.test.at, "content": row.test.content, "status": row.status}
