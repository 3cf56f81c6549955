"""Nothing changes on a GET, and no action comes without its dialog."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.admin.ui.dialogs import Dialog
from notifications.admin.ui.page import page_url
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey
from tests.admin.desk import Desk, registered, text_of
from tests.given.builders import make_campaign, make_people, make_run

pytestmark = pytest.mark.django_db
KINDS = ("actions_list", "actions_detail", "actions_row", "actions_submit_line")


def registered_actions() -> Iterator[tuple[str, Any]]:
    for model, page in registered().items():
        names_in: Any = page._extract_action_names
        for kind in KINDS:
            for name in names_in(getattr(page, kind, ())):
                yield f"{model._meta.label}.{name}", getattr(page, name)


def test_every_registered_action_asks_first() -> None:
    actions = dict(registered_actions())
    assert {"campaigns.Campaign.launch", "campaigns.Run.cancel"} <= set(actions)
    for name, action in actions.items():
        dialog = getattr(action, "dialog", None)
        assert dialog, f"{name} would act on a plain GET; give it a dialog"
        assert issubclass(dialog["form_class"], Dialog), name
        may = getattr(action, "allowed_permissions", None)
        assert may, f"{name} asks for no permission"
        # Unfold's check looks those up in the database, before `migrate` has made it.
        assert not any("." in permission for permission in may), name


def test_only_campaigns_and_people_can_be_changed_many_at_a_time(desk: Desk) -> None:
    many: dict[type[Model], Any] = {
        Campaign: ("tag_many", "archive_many", "bring_back_many"),  # each asks before it acts
        Contact: ("mark_testers", "unmark_testers"),
    }
    for model, page in registered().items():
        assert page.actions == many.get(model), model


@pytest.mark.parametrize("verb", ["launch", "duplicate"])
def test_opening_a_campaigns_dialog_changes_nothing(
    desk: Desk, project: Project, verb: str
) -> None:
    make_people(project, 1)
    campaign = make_campaign(project)
    desk.open(f"campaigns_campaign_{verb}", campaign.pk)
    assert not Run.objects.exists()
    assert project.campaign_set.count() == 1


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel"])
def test_opening_a_runs_dialog_changes_nothing(desk: Desk, project: Project, verb: str) -> None:
    run = make_run(project)
    before = Run.objects.values().get(pk=run.pk)
    desk.open(f"campaigns_run_{verb}", run.pk)
    assert Run.objects.values().get(pk=run.pk) == before


def test_a_dialog_opened_as_a_page_leads_to_the_page_of_its_row(
    desk: Desk, project: Project
) -> None:
    campaign, run = make_campaign(project), make_run(project)
    for dialog, row in (
        ("campaigns_campaign_launch", campaign),
        ("campaigns_run_cancel", run),
        ("campaigns_run_move", run),
    ):
        url = reverse(f"admin:{dialog}", args=[row.pk])
        reply = desk.client.get(url, headers={"Sec-Fetch-Dest": "document"})
        assert reply.headers["Location"] == page_url(row), dialog


def test_a_post_without_the_csrf_token_is_refused(desk: Desk, project: Project) -> None:
    campaign = make_campaign(project)
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = desk.client.cookies
    url = reverse("admin:campaigns_campaign_launch", args=[campaign.pk])
    assert strict.post(url, {"_form_submitted": "on"}).status_code == 403
    assert not Run.objects.exists()


def test_a_device_is_retired_and_restored_by_hand(desk: Desk, project: Project) -> None:
    [device] = make_people(project, 1)

    desk.confirm("notifications_device_retire", device.pk)
    device.refresh_from_db()
    assert (device.active, device.retired_reason) == (False, "by hand")

    assert "already" in text_of(desk.confirm("notifications_device_retire", device.pk))
    desk.confirm("notifications_device_restore", device.pk)
    assert Device.objects.get(pk=device.pk).active


def test_a_revoked_key_stops_working_and_stays_listed(desk: Desk, project: Project) -> None:
    row, key = ApiKey.issue(project, "shop")

    desk.confirm("notifications_apikey_revoke", row.pk)

    assert ApiKey.find_valid(key, now=timezone.now()) is None
    assert "revoked" in desk.open("notifications_apikey_changelist")
    assert "already" in text_of(desk.confirm("notifications_apikey_revoke", row.pk))
