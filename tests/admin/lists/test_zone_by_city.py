"""A time zone may be typed as a city, in every field that asks for one."""

from __future__ import annotations

import pytest

from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.values import zones
from tests.admin.desk import Desk
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_contact, make_device

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("typed", "zone"),
    [
        ("New York", "America/New_York"),
        ("new_york", "America/New_York"),
        ("SEOUL", "Asia/Seoul"),
        ("asia/seoul", "Asia/Seoul"),
        ("São Paulo", "America/Sao_Paulo"),
        ("Zürich", "Europe/Zurich"),
        ("utc", "UTC"),
        ("Etc/GMT+5", "Etc/GMT+5"),
        ("Mars", ""),
        ("", ""),
    ],
)
def test_a_city_is_its_zone(typed: str, zone: str) -> None:
    assert zones.zone_of(typed) == zone


def test_a_person_takes_a_zone_by_its_city(desk: Desk, project: Project) -> None:
    person = make_contact(project)
    form = {"project": project.pk, "external_id": person.external_id, "attributes": "{}"}
    desk.save("notifications_contact_change", person.pk, **form, timezone="New York")
    assert Contact.objects.get().timezone == "America/New_York"
    said = desk.save("notifications_contact_change", person.pk, **form, timezone="Berlim")
    assert "“Berlim” is not a time zone we know. Did you mean Europe/Berlin?" in said
    assert Contact.objects.get().timezone == "America/New_York"


def test_the_when_panel_and_the_calendar_take_a_city(desk: Desk, project: Project) -> None:
    make_device(make_contact(project))
    campaign = make_campaign(project)
    typed = {"campaign": campaign.pk, "schedule_kind": "at", "at": "2031-05-08T16:00"}
    panel = desk.post("campaign_when", **typed, timezone="new york").content.decode()
    assert "8 May 2031, 16:00 America/New_York" in panel
    assert (
        'value="America/New_York"'
        in desk.client.get(
            "/admin/campaigns/campaign/calendar/", {"zone": "New York"}
        ).content.decode()
    )


def test_the_api_names_the_zone_that_was_meant(project: Project) -> None:
    answer = Caller(project).put("contacts/ada", {"timezone": "Asia/Soul"})
    assert answer.status_code == 400
    assert "Did you mean Asia/Seoul" in answer.json()["errors"][0]["message"]
