"""A rehearsal in a real browser: asked for in the review, watched to its end, beside the real run;
for everybody, at a desk, in the dark, and on a phone."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.planning.campaign import Campaign
from campaigns.runs.rehearsal import Rehearsal
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.browser.accessibility import complaints, looked_at
from tests.browser.sessions import share_session
from tests.browser.settled import wait_until_settled
from tests.given.builders import addresses, make_campaign, make_people
from tests.rehearsals.shared import drive, launch, owner_of, rehearse
from tests.roles.people import logged_in
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def campaign(project: Project, fcm: Fcm) -> Campaign:
    make_people(project, addresses(live=110, dead=9))
    owner_of(project, "live-long:a", attributes={"first_name": "x" * 5_000})
    owner_of(project, "live-nameless:a", attributes={})
    return make_campaign(project, name="Summer sale")


def test_it_is_asked_for_in_the_review_and_its_page_follows_it(
    page: Page, live_server: LiveServer, campaign: Campaign, fcm: Fcm
) -> None:
    share_session(page, live_server, logged_in(Role.SENDER))
    page.set_viewport_size({"width": 390, "height": 844})
    review = reverse("admin:campaigns_campaign_change", args=[campaign.pk])
    page.goto(f"{review}?step=review")
    expect(page.locator("#review #rehearse")).to_be_visible()
    wait_until_settled(page)  # it came a moment ago, and may not hear a click yet
    page.locator("#review #rehearse").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("delivers none")
    wait_until_settled(page)
    assert complaints(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    dialog.get_by_label("Everybody: 121 devices").check()
    dialog.get_by_role("button", name="Rehearse").click()
    expect(dialog).to_contain_text("Confirm what it costs, or choose a sample.")
    dialog.get_by_label("A sample").check()
    dialog.get_by_label("Devices in the sample").fill("100")
    dialog.get_by_role("button", name="Rehearse").click()

    expect(page.get_by_role("heading", name="What FCM said")).to_be_visible()
    drive(Rehearsal.objects.get().run)
    expect(page.locator("#rehearsal-live")).to_contain_text("with 95 % certainty")
    expect(page.locator("#rehearsal-live")).to_contain_text("100 % done")
    assert fcm.witness() == []


def test_its_pages_can_be_used_by_everybody(
    page: Page, live_server: LiveServer, project: Project, campaign: Campaign
) -> None:
    some, whole = rehearse(campaign, sample=100), rehearse(campaign, retires=True)
    run = launch(campaign)
    make_people(project, addresses(vague=120))
    waits = rehearse(make_campaign(project, name="Vague"))
    share_session(page, live_server, logged_in(Role.OWNER))
    paths = [reverse("admin:rehearsal_one", args=[one.pk]) for one in (some, whole, waits)]
    paths += [
        reverse("admin:campaigns_run_change", args=[run.pk]),
        reverse("admin:rehearsals_of_campaign", args=[campaign.pk]),
        reverse("admin:rehearsals_of_campaign", args=[make_campaign(project).pk]),
    ]
    assert looked_at(page, paths) == {}
