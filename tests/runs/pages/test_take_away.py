"""A chart is taken away: its drawing as a picture, its numbers as a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.engagement.goal import GoalSum
from campaigns.engagement.receipt import EchoSum, Event, Report
from campaigns.engagement.store_receipts import keep
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.values.moments import in_zone
from tests.browser.sessions import log_in
from tests.given.builders import make_campaign, make_contact, make_device, make_run
from tests.given.runs import bought, ended

pytestmark = pytest.mark.django_db(transaction=True)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def run(project: Project) -> Run:
    """Of 1,200 more than were there; opened over two hours, bought an hour later."""
    Project.objects.filter(pk=project.pk).update(asks_receipts=True)
    for number, platform in enumerate(("ios", "ios", "android", "web", "web", "web")):
        person = make_contact(project, external_id=f"u{number}", locale="ko")
        make_device(person, platform=platform, app_version="=1+1")
    run = make_run(project, goal_event="bought", goal_value="price")
    bought(run, 1_200, 34.5)
    keep(Report(run.pk, seq, Event.RECEIVED, None) for seq in (1, 2, 3, 4, 5))
    ended(run)
    for event, counts in ((Event.OPENED, (31, 1_240, 77)), (Event.RECEIVED, (4_000, 900, 12))):
        EchoSum.objects.filter(run_id=run.pk, by="after", event=event).delete()
        EchoSum.objects.bulk_create(
            EchoSum(run_id=run.pk, by="after", value=str(at * 2), event=event, count=count, first=0)
            for at, count in enumerate(counts)
        )
    GoalSum.objects.filter(run_id=run.pk, by="after").update(value="7")
    return run


def taken(page: Page, what: str, kind: str) -> tuple[str, str]:
    """The file's name, and what is in it."""
    button = page.locator(f'take-away[data-numbers="{what}"] button[data-as="{kind}"]')
    with page.expect_download() as download:
        button.click()
    return download.value.suggested_filename, Path(download.value.path()).read_text("utf-8")


def test_numbers_are_taken_away_as_plain_ones_and_never_as_formulas(
    browser: Browser, live_server: LiveServer, run: Run
) -> None:
    troubles: list[str] = []
    page = log_in(browser, live_server, troubles, width=390)
    page.goto(f"{live_server.url}/admin/campaigns/run/{run.pk}/change/")

    name, text = taken(page, "opened-numbers", "csv")
    assert name == f"run-{run.pk}-opened-over-time.csv" and text[0] == "\ufeff"
    assert [line.rpartition(",")[2] for line in text.split("\n")[1:4]] == ["31", "0", "1240"]

    _, funnel = taken(page, "funnel", "csv")
    assert funnel.splitlines() == [
        '\ufeffStep,Devices,"Can tell, of all who may have got it",'
        '"Can tell, of all who may have got it %",'
        "Of those who can tell %",
        "Planned,6,,,", "Accepted,6,,,", "Received,5,5,83.3,100", "Displayed,0,5,83.3,0",
        "Opened,2,5,83.3,40", "bought,1,5,83.3,20",
    ]  # fmt: skip
    _, versions = taken(page, "echo-app_version", "csv")
    assert versions.splitlines()[1].startswith("'=1+1,")
    assert troubles == []


def test_runs_side_by_side_have_a_head_with_number_and_name_and_no_dash_for_nothing(
    browser: Browser, live_server: LiveServer, run: Run
) -> None:
    other = make_run(run.project, name="Winter gloves")
    page = log_in(browser, live_server, [], width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/run/{run.pk}/compare/?with={other.pk}")
    name, text = taken(page, "beside", "csv")
    assert name == f"run-{run.pk}-side-by-side.csv"
    assert f",run {other.pk} · Winter gloves," in text.splitlines()[0]
    assert "–" not in text


def test_a_picture_stands_by_itself_in_any_program_by_light_and_in_the_dark(
    browser: Browser, live_server: LiveServer, run: Run
) -> None:
    page = log_in(browser, live_server, [], width=1360)
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        page.goto(f"{live_server.url}/admin/campaigns/run/{run.pk}/change/")
        expect(page.locator("html.dark")).to_have_count(1 if scheme == "dark" else 0)
        for what in ("funnel", "opened-numbers"):
            expect_a_whole_picture(page, run, what)


def expect_a_whole_picture(page: Page, run: Run, what: str) -> None:
    name, text = taken(page, what, "svg")
    picture = ElementTree.fromstring(text)
    said = [each.text for each in picture.iter(f"{SVG}text")]
    title = "What became of it" if what == "funnel" else "Opened over time"
    assert name == f"run-{run.pk}-{title.lower().replace(' ', '-')}.svg"
    when = in_zone(run.started_at, run.project.timezone)
    assert said[:2] == [title, f"{run.campaign} · run {run.pk} · {when}"]
    if what == "funnel":
        able = "Can tell, of all who may have got it"
        assert {"Devices", able, "5 (83.3 %)", "40 %"} <= set(said)
    assert picture.get("stroke") == "none", "ImageMagick's own is black"
    colours = {each.get(part) for each in picture.iter() for part in ("fill", "stroke")} - {None}
    assert colours and all(re.fullmatch("none|#[0-9a-f]{6}", str(each)) for each in colours), (
        colours
    )
    bars = [each for each in picture.iter(f"{SVG}rect") if each.get("fill", "").startswith("#")]
    assert len(bars) > 3, "each in the colour that it has on the page"


def test_what_a_goal_asks_for_is_shown_once_it_has_an_event(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    campaign = make_campaign(project)
    page = log_in(browser, live_server, [], width=1360)
    page.goto(f"{live_server.url}/admin/campaigns/campaign/{campaign.pk}/change/?step=when")
    value = page.get_by_label("Value of the goal")
    expect(value).to_be_hidden()
    page.get_by_label("Goal", exact=True).fill("bought")
    expect(value).to_be_visible()
