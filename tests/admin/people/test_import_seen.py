"""What pages say of phones that an import brought."""

from __future__ import annotations

import pytest

from notifications.people.device import Device
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.importing import bring_in

pytestmark = pytest.mark.django_db


def test_the_pages_say_that_a_phone_came_by_import_and_was_not_seen(
    desk: Desk, project: Project
) -> None:
    one = bring_in(project, "id,token,platform\nada,t1,ios\n")
    result = desk.open("notifications_import_change", one.pk)
    assert "does not say when the devices were last seen" in result
    device = Device.objects.get()
    person = desk.open("notifications_contact_change", device.contact_id)
    assert "By import: its app was not heard of since" in person and "Last seen –" in person
    assert "not since its import" in desk.open("notifications_device_change", device.pk)


def test_a_file_that_says_when_phones_were_seen_needs_no_such_note(
    desk: Desk, project: Project
) -> None:
    file = "id,token,platform,device_seen_at\nbo,t2,ios,2025-01-01\n"
    told = bring_in(project, file)
    assert "does not say when" not in desk.open("notifications_import_change", told.pk)
    assert "Last seen" in desk.open("notifications_contact_change", Device.objects.get().contact_id)
