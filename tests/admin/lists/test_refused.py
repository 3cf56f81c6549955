"""A form that was refused: what was typed stands in its field, and around it all works."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from campaigns.texts.template import Template
from notifications.keys.credentials import ServiceAccount
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_campaign, make_template
from tests.given.campaign_form import new_form
from tests.servers.fcm import Fcm

UNKNOWN_ZONE = "is not a time zone we know"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "schedule",
    [
        {"schedule_kind": "at", "at": "2030-11-24T09:00"},
        {"schedule_kind": "recurring", "repeat": "daily", "at": "2030-11-24T09:00"},
    ],
)
def test_a_mistyped_zone_of_a_campaign_is_said_beside_it(
    desk: Desk, project: Project, schedule: dict[str, str]
) -> None:
    campaign = make_campaign(project)
    values = new_form(project, timezone="Seo", _step="when", **schedule)
    page = desk.save("campaigns_campaign_change", campaign.pk, **values)
    assert f"“Seo” {UNKNOWN_ZONE}" in page
    campaign.refresh_from_db()
    assert campaign.timezone != "Seo"


def test_a_mistyped_zone_of_a_project_is_said_beside_it(
    desk: Desk, project: Project, fcm: Fcm
) -> None:
    ServiceAccount.store(project, fcm.service_account)
    values = {"name": "Shop", "slug": project.slug, "timezone": "Seo", "ramp_seconds": "60"}
    assert UNKNOWN_ZONE in desk.save("notifications_project_change", project.pk, **values)
    project.refresh_from_db()
    assert project.timezone != "Seo"


@pytest.mark.django_db(transaction=True)
def test_a_template_is_deleted_on_its_page(client: Client, project: Project) -> None:
    client.force_login(User.objects.create_superuser("ada", "a@example.com", "a long pass phrase"))
    template = make_template(project)
    Desk(client).save("campaigns_template_delete", template.pk, post="yes")
    assert not Template.objects.filter(pk=template.pk).exists()
