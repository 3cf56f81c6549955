"""A person's page shows what they did."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from notifications.people.contact import Contact
from notifications.people.events.writing import Event, write
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.given.builders import make_contact, make_project
from tests.roles.people import logged_in


@pytest.fixture
def ada(db: None) -> Contact:
    return make_contact(make_project(), external_id="ada")


@pytest.fixture
def viewer(db: None) -> Desk:
    return Desk(logged_in(Role.VIEWER))


def test_the_page_shows_the_newest_events_of_a_person(viewer: Desk, ada: Contact) -> None:
    now = timezone.now()
    told = {"price": 12, "gift": True, "note": "<b>"}
    events = [Event("ada", f"level_{n}", now - timedelta(days=n)) for n in range(1, 25)]
    write(ada.project_id, [Event("ada", "bought", now, told), *events])
    said = viewer.open("notifications_contact_change", ada.pk)
    assert f"bought {now:%-d %b %Y}, {now:%H:%M} UTC gift yes, note <b>, price 12" in said
    assert "level 19 " in said and "level 20 " not in said
    assert "The newest 20." in said


def test_the_page_says_where_events_come_from_when_there_are_none(
    viewer: Desk, ada: Contact
) -> None:
    assert "No events. The app reports them" in viewer.open("notifications_contact_change", ada.pk)
