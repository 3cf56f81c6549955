"""From a file of people to the rest of a campaign, by what is on the screen."""

from __future__ import annotations

import csv
import io
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.audiences.audience import Audience
from campaigns.planning.campaign import Campaign
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.events.writing import Event, write
from notifications.people.project import Project
from tests.browser.rule_editor import add_rule
from tests.browser.walk import PASSWORD, expect_state, launch, log_in, untroubled_page
from tests.given.builders import make_audience, make_campaign, make_device
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers

pytestmark = pytest.mark.django_db(transaction=True)
GOOD, BAD = 290, 10
DEAD = 20  # addresses that FCM refuses


@pytest.fixture
def page(browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    with untroubled_page(browser, live_server) as page:
        yield page


def rows() -> list[str]:
    """Of 300 rows ten have a time zone that is none."""
    lines = [
        f"p{n},Ada,{'dead' if n < DEAD else 'live'}-{n}:APA91b,android,"
        f"{'Asia/Seoul' if n < GOOD else 'Middle Earth'}"
        for n in range(GOOD + BAD)
    ]
    random.Random(7).shuffle(lines)
    return ["user id,first name,push token,platform,home zone", *lines]


def import_file(page: Page, path: Path) -> None:
    page.get_by_role("link", name="Import", exact=True).first.click()
    page.get_by_role("link", name="Import a file").first.click()
    page.get_by_label("Drop a file here, or choose one").set_input_files(path)
    expect(page.get_by_role("heading", name="What each column means")).to_be_visible()
    page.get_by_label("home zone", exact=True).select_option("Time zone")
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_text("Checked. Nothing was changed yet.")).to_be_visible()
    page.get_by_role("button", name=re.compile("Import .* people …")).click()
    page.get_by_role("dialog").get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", name="What it did")).to_be_visible()


def corrected(page: Page, folder: Path) -> Path:
    """The refused rows as they were downloaded, with the reason removed."""
    with page.expect_download() as started:
        page.get_by_role("link", name=re.compile("refused rows")).click()
    text = started.value.path().read_text("utf-8-sig")
    assert [row["refused_column"] for row in csv.DictReader(io.StringIO(text))] == [
        "home zone"
    ] * BAD
    path = folder / "corrected.csv"
    path.write_text(text.replace("Middle Earth", "Asia/Tokyo"))
    return path


def build_the_audience(page: Page) -> None:
    """Bought in the last 30 days, not reached by the last campaign, a tenth of them."""
    page.get_by_role("link", name="Audiences").first.click()
    page.get_by_role("link", name=re.compile("Add|New")).first.click()
    page.locator("#id_name").fill("Bought, not reached")
    bought = add_rule(page, 1, "event")
    bought.get_by_label("Name of the event").fill("bought")
    bought.get_by_label("In the last how many days").fill("30")
    add_rule(page, 2, "run").get_by_label("Comparison").select_option("was_not")
    part = add_rule(page, 3, "random")
    part.get_by_label("Per cent of the people").fill("10")
    part.get_by_label("Draw").fill("autumn")
    part.get_by_label("Draw").press("Tab")
    expect(page.locator("#count-said")).to_have_text(re.compile(r"^\d+ people, \d+ devices\.$"))


def explain(page: Page, external_id: str, said: str) -> None:
    page.locator("[name=person]").fill(external_id)
    page.get_by_role("button", name="Ask").press("Enter")
    expect(page.locator("#person")).to_contain_text(said)


def send_to_the_rest(page: Page, missed: set[str]) -> None:
    """FCM called their addresses dead: nobody of them can be reached until they open the app."""
    expect(page.locator("#verb-make_list")).to_be_visible()
    expect(page.locator("#verb-rest")).to_have_count(0)
    for person in Contact.objects.filter(external_id__in=missed):
        make_device(person, address=f"again-{person.external_id}")
    page.reload()
    page.locator("#verb-rest").click()
    dialog = page.get_by_role("dialog", name="Send to the rest")
    dialog.get_by_role("button", name="Make the campaign").click()
    page.wait_for_url("**/campaigns/campaign/*/change/**")


def test_a_file_becomes_people_an_audience_a_run_and_a_campaign_to_the_rest(
    page: Page, project: Project, fcm: Fcm, beat: Workers, tmp_path: Path
) -> None:
    get_user_model().objects.create_superuser("alice", "alice@example.com", PASSWORD)
    file = tmp_path / "people.csv"
    file.write_text("\n".join(rows()) + "\n")
    log_in(page, "alice")
    import_file(page, file)
    assert Contact.objects.count() == GOOD
    import_file(page, corrected(page, tmp_path))
    assert Contact.objects.filter(timezone="Asia/Tokyo").count() == BAD

    # An earlier campaign reached the first 100 of them; their app told who bought.
    first = make_audience(
        project,
        rules={"field": "external_id", "op": "in", "value": [f"p{n}" for n in range(DEAD, 120)]},
    )
    earlier = make_campaign(project, name="Earlier", audience=first)
    page.goto(f"/admin/campaigns/campaign/{earlier.pk}/change/?step=review")
    launch(page)
    expect_state(page, "finished")
    write(project.pk, [Event(f"p{n}", "bought", timezone.now(), {}) for n in range(250)])

    build_the_audience(page)
    explain(page, "p30", "p30 is not in.")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/campaigns/audience/")
    audience = Audience.objects.get(name="Bought, not reached")
    campaign = make_campaign(project, name="Autumn", audience=audience)
    page.goto(f"/admin/campaigns/campaign/{campaign.pk}/change/?step=review")
    Run.objects.filter(campaign=earlier).update(occurrence="before")  # `launch` counts the runs
    page.get_by_role("link", name="Launch …").click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("Launch")).click()
    expect(page).to_have_url(re.compile("/admin/campaigns/run/"))
    expect_state(page, "finished")
    run = Run.objects.get(campaign=campaign)
    ids = Recipient.objects.filter(run_id=run.pk).values("contact_id")
    chosen = set(Contact.objects.filter(pk__in=ids).values_list("external_id", flat=True))
    may = {f"p{n}" for n in [*range(DEAD), *range(120, 250)]}
    assert chosen and chosen <= may
    assert run.accepted == len([one for one in chosen if int(one[1:]) >= DEAD])

    missed = {one for one in chosen if int(one[1:]) < DEAD}
    send_to_the_rest(page, missed)
    rest = Campaign.objects.latest("pk").audience
    on_it = {member.contact.external_id for member in rest.members.select_related("contact")}
    assert missed and on_it == missed
