"""The whole story in a real browser: from a second factor to an exported result."""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.browser.walk import PASSWORD, expect_state, launch, log_in, untroubled_page
from tests.given.builders import make_campaign, make_contact, make_device, make_people
from tests.given.factor import code_of
from tests.roles.people import somebody
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers

pytestmark = pytest.mark.django_db(transaction=True)
CAMPAIGN = "/admin/campaigns/campaign"


@pytest.fixture
def page(browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    with untroubled_page(browser, live_server) as page:
        yield page


def confirm(page: Page, verb: str) -> None:
    """Press a button that asks, and say yes."""
    page.get_by_role("button", name=verb, exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile(verb)).click()


def code_now(*, later: int = 0) -> str:
    """What the phone's app shows; each code is taken once."""
    return code_of(TOTPDevice.objects.get().user, later=later)


def enrol(page: Page) -> None:
    page.goto(reverse("admin:second_factor"))
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Set it up").click()
    secret = page.locator("ol code").inner_text().replace(" ", "")
    assert len(secret) >= 32
    page.get_by_label("Type the six digits it shows now").fill(code_now())
    page.get_by_role("button", name="Turn it on").click()
    expect(page.locator("#recovery-codes")).to_be_visible()
    page.get_by_role("link", name="I have them").click()
    expect(page.get_by_text("The second factor is on")).to_be_visible()


def log_in_with_a_code(page: Page) -> None:
    """Whoever learned the password is not in; nor is who guesses."""
    page.context.clear_cookies()
    log_in(page, "alice")
    page.get_by_label("Code from your app").fill("000000")
    page.get_by_role("button", name="Log in", exact=True).click()
    expect(page.get_by_role("alert")).to_be_visible()
    time.sleep(1.1)  # a wrong code makes the next one wait
    page.get_by_label("Code from your app").fill(code_now(later=1))
    page.get_by_role("button", name="Log in", exact=True).click()
    expect(page).to_have_title(re.compile("Overview"))


def build_an_audience(page: Page) -> None:
    page.goto("/admin/campaigns/audience/add/")
    page.locator("#id_name").fill("Pros")
    page.get_by_role("button", name="Add a rule").press("Enter")
    expect(page.locator(":focus")).to_have_attribute("aria-label", "What the rule is about")
    page.locator(":focus").select_option("plan")  # typed too slowly, each letter starts anew
    expect(page.locator("[data-adds]")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("pro,")
    expect(page.locator("#count-said")).to_have_text("30 people, 30 devices.")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/campaigns/audience/")


def write_a_template(page: Page) -> None:
    page.goto("/admin/campaigns/template/add/")
    page.locator("#id_name").fill("Sunday")
    page.locator("#id_title").fill("Hi {{ first_name }}")
    page.locator("#id_body").fill("Come on Sunday")
    expect(page.locator("#preview")).to_contain_text(re.compile("Hi (Ada|Bo)"))  # anybody
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/campaigns/template/")


def launch_them_together(page: Page) -> None:
    """Slowly enough to be watched."""
    page.goto(f"{CAMPAIGN}/add/")
    page.locator("#id_name").fill("Sunday run")
    page.locator("#id_audience").select_option("Pros")
    page.get_by_role("button", name="Save, then what they read").click()
    page.locator("[name=template_from][value=pick]").check()
    page.get_by_label("Template", exact=True).select_option("Sunday")
    page.get_by_role("button", name="Save, then when").click()
    page.locator("#id_rate_per_second").fill("5")
    page.get_by_role("button", name="Save, then review").click()
    expect(page.locator("#review")).to_contain_text("30")
    launch(page)


def download(page: Page) -> list[dict[str, str]]:
    with page.expect_download() as started:
        page.get_by_role("link", name="Download CSV").click()
    return list(csv.DictReader(started.value.path().open()))


def test_from_a_second_factor_to_the_exported_result(
    page: Page, project: Project, fcm: Fcm, beat: Workers
) -> None:
    make_people(project, [""] * 28 + ["dead-1:APA91b", "flaky-1:APA91b"])
    Contact.objects.update(attributes={"first_name": "Ada", "plan": "pro"})
    make_device(make_contact(project, attributes={"first_name": "Bo", "plan": "free"}))
    get_user_model().objects.create_superuser("alice", "alice@example.com", PASSWORD)

    log_in(page, "alice")
    enrol(page)
    log_in_with_a_code(page)
    build_an_audience(page)
    write_a_template(page)
    launch_them_together(page)

    accepted = page.locator("#run-live .c-stat", has=page.locator(".c-dot.c-accepted"))
    expect(accepted.locator("dd")).not_to_have_text("0")
    confirm(page, "Pause")
    expect_state(page, "paused")
    assert Run.objects.get().state == Run.State.PAUSED
    Run.objects.update(rate_per_second=None)
    confirm(page, "Resume")

    expect_state(page, "finished")
    expect(page.get_by_text("FCM accepted 29 of 30")).to_be_visible()
    rows = download(page)
    assert [row["status"] for row in rows].count("accepted") == 29
    assert [row["reason"] for row in rows if row["status"] == "rejected"] == ["unregistered"]
    assert len(fcm.witness()) == 29, "nobody twice, and nobody on the free plan"


def test_a_scheduled_campaign_is_started_by_the_clock(
    page: Page, project: Project, fcm: Fcm, beat: Workers
) -> None:
    make_people(project, 3)
    campaign = make_campaign(project, name="Tomorrow")
    get_user_model().objects.create_superuser("alice", "alice@example.com", PASSWORD)
    log_in(page, "alice")
    page.goto(f"{CAMPAIGN}/{campaign.pk}/change/?step=when")
    page.get_by_label("At a time").check()
    tomorrow = timezone.now() + timedelta(days=1)
    page.get_by_label("Local time").fill(f"{tomorrow:%Y-%m-%dT%H:%M}")
    page.get_by_role("button", name="Save, then review").click()
    launch(page)
    expect(page.get_by_text("Starts by itself on")).to_be_visible()
    assert Run.objects.get().state == Run.State.SCHEDULED
    page.goto("/admin/")
    expect(page.get_by_role("link", name="Tomorrow").first).to_be_visible()
    assert fcm.witness() == [], "nothing leaves before its time"

    Run.objects.update(scheduled_at=timezone.now() + timedelta(seconds=1))  # tomorrow comes
    page.goto(f"/admin/campaigns/run/{Run.objects.get().pk}/change/")
    expect_state(page, "finished")
    assert len(fcm.witness()) == 3


def test_a_viewer_is_shown_no_launch_and_the_address_refuses(page: Page, project: Project) -> None:
    make_people(project, 3)
    campaign = make_campaign(project, name="Not yours")
    somebody(Role.VIEWER, "vera")
    log_in(page, "vera")
    page.goto(f"{CAMPAIGN}/")
    page.get_by_role("link", name="Not yours").click()
    expect(page.locator("#review")).to_be_visible()
    expect(page.get_by_text("Launch …")).to_have_count(0)
    expect(page.get_by_role("button", name=re.compile("Save|Launch"))).to_have_count(0)

    token = page.locator("input[name=csrfmiddlewaretoken]").first.input_value()
    reply = page.goto(f"{CAMPAIGN}/{campaign.pk}/launch/")
    assert reply is not None and reply.status == 403
    expect(page.locator("main")).to_contain_text("this needs Sender")
    sent = page.request.post(
        f"{CAMPAIGN}/{campaign.pk}/launch/",
        form={"_form_submitted": "on", "csrfmiddlewaretoken": token},
        headers={"Referer": f"{urlsplit(page.url).scheme}://{urlsplit(page.url).netloc}/"},
    )
    assert sent.status == 403
    assert not Run.objects.exists() and not Campaign.objects.get().runs.exists()
