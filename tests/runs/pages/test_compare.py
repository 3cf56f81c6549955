"""Two runs side by side: who joined, who left, who was in both."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser
from pytest_django.live_server_helper import LiveServer

from campaigns.engagement.receipt import Event, Report
from campaigns.engagement.store_receipts import keep
from campaigns.engine import forgetting
from campaigns.results import compare
from campaigns.runs.pages.result import compare_runs
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.postgres.budget import TooSlow
from tests.admin.desk import Desk
from tests.browser.sessions import log_in
from tests.given.builders import make_contact, make_device, make_people, make_run
from tests.given.runs import ended, settle


@pytest.fixture
def two(project: Project) -> tuple[Run, Run]:
    """“ann” left, “bea” stayed with two phones, “cleo” joined."""
    ann, bea, cleo = (make_contact(project, external_id=name) for name in ("ann", "bea", "cleo"))
    make_device(ann)
    make_device(bea)
    make_device(bea, platform="ios")
    older = make_run(project, name="Spring")
    Device.objects.filter(contact=ann).update(retired_at=timezone.now(), retired_reason="removed")
    make_device(cleo)
    newer = make_run(project, name="Summer")
    return older, newer


def opened(desk: Desk, run: Run, **query: object) -> str:
    return desk.open("run_compare", run.pk, **query)


def test_a_comparison_says_how_many_joined_left_and_stayed(
    desk: Desk, two: tuple[Run, Run]
) -> None:
    older, newer = two

    page = opened(desk, newer)

    assert f"People of run {newer.pk} compared with run {older.pk}" in page
    assert "Joined 1" in page and "Left 1" in page and "In both 1" in page


@pytest.mark.parametrize(("who", "name"), [("joined", "cleo"), ("left", "ann"), ("both", "bea")])
def test_each_group_of_a_comparison_is_listed_by_name(
    desk: Desk, two: tuple[Run, Run], who: str, name: str
) -> None:
    page = opened(desk, two[1], who=who).partition("In both")[2]
    assert [one for one in ("ann", "bea", "cleo") if one in page] == [name]


def test_the_comparison_from_the_older_runs_page_is_the_same(
    desk: Desk, two: tuple[Run, Run]
) -> None:
    older, newer = two
    page = opened(desk, older, **{"with": newer.pk, "who": "joined"})
    assert "Joined 1" in page and "cleo" in page


def test_the_default_comparison_is_with_the_campaigns_run_before(
    desk: Desk, two: tuple[Run, Run], project: Project
) -> None:
    first, _ = two
    Run.objects.filter(pk=first.pk).update(state="cancelled", started_at=None)
    again = make_run(project)
    Run.objects.filter(pk=again.pk).update(campaign=first.campaign_id, occurrence="again")
    again.refresh_from_db()
    assert compare.one_before(again) == first
    assert f"compared with run {first.pk}" in opened(desk, again)


def test_a_comparison_without_new_people_shows_those_there_are(
    desk: Desk, project: Project
) -> None:
    make_device(make_contact(project, external_id="ada"))
    make_run(project)
    page = opened(desk, make_run(project))
    assert "Joined 0" in page and "ada" in page.partition("In both 1")[2]


def test_pages_go_on_to_the_end(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare_runs, "PAGE", 2)
    make_people(project, 5)
    run, newer = make_run(project), make_run(project)
    names, url = [], f"?with={run.pk}&who=both"
    for _ in range(5):
        reply = desk.client.get(f"/admin/campaigns/run/{newer.pk}/compare/{url}")
        names += [one.external_id for one in reply.context["people"]]
        url = reply.context["next_url"]
        if not url:
            break
    assert names == list(Contact.objects.order_by("pk").values_list("external_id", flat=True))


def test_a_person_erased_since_is_listed_without_a_name(desk: Desk, two: tuple[Run, Run]) -> None:
    Contact.objects.get(external_id="ann").delete()
    assert "erased" in opened(desk, two[1], who="left")


def test_a_forgotten_run_is_said_to_be_one(desk: Desk, two: tuple[Run, Run]) -> None:
    older, newer = two
    Run.objects.filter(pk=older.pk).update(state="cancelled", finished_at=timezone.now())
    older.refresh_from_db()
    forgetting.forget(older, by="user:ada", now=timezone.now())

    page = opened(desk, newer, **{"with": older.pk})

    assert f"The recipients of run {older.pk} were removed" in page and "Joined" not in page
    assert "There is no such run" in opened(desk, newer), "none is left to choose by itself"
    assert "were removed" in opened(desk, older, **{"with": newer.pk})


def test_the_only_run_has_nothing_to_be_compared_with(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    assert "There is no other run in this project" in opened(desk, make_run(project))


@pytest.mark.parametrize("asked", ["999999", "x", "-1", "9" * 30])
def test_a_run_that_is_none_of_the_projects_is_not_compared(
    desk: Desk, two: tuple[Run, Run], museum: Project, asked: str
) -> None:
    make_people(museum, 1)
    theirs = make_run(museum)
    page = opened(desk, two[1], **{"with": theirs.pk})
    assert "There is no such run" in page and "Joined" not in page
    assert desk.client.get(
        f"/admin/campaigns/run/{two[1].pk}/compare/", {"with": asked, "after": asked}
    ).status_code == 200  # fmt: skip


def test_a_comparison_that_would_take_too_long_is_estimated_and_says_so(
    desk: Desk, two: tuple[Run, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = compare._in_both

    def slow(newer: Run, older: Run, some: str) -> int:
        if some == "TRUE":
            raise TooSlow
        return whole(newer, older, some)

    monkeypatch.setattr(compare, "_in_both", slow)
    monkeypatch.setattr(compare, "ONE_IN", 1)
    page = opened(desk, two[1])
    assert "Joined about 1" in page and "In both about 1" in page


def test_the_page_says_when_even_the_estimate_takes_too_long(
    desk: Desk, two: tuple[Run, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: object) -> int:
        raise TooSlow

    monkeypatch.setattr(compare, "_in_both", slow)
    assert "The server is too busy to compare so many people" in opened(desk, two[1])


def test_a_run_whose_people_are_still_being_chosen_waits(desk: Desk, two: tuple[Run, Run]) -> None:
    Run.objects.filter(pk=two[1].pk).update(planned=None, people=None)
    assert "still being chosen" in opened(desk, two[1])


# --- Side by side ---------------------------------------------------------------------------------


def test_up_to_four_runs_stand_beside_one(desk: Desk, project: Project) -> None:
    make_people(project, 4)
    asked: dict[str, Any] = {"goal_event": "bought", "goal_value": "price"}
    runs = [ended(make_run(project, **(asked if number == 1 else {}))) for number in range(6)]
    for run in runs[:2]:
        keep(Report(run.pk, seq, Event.OPENED, None) for seq in (1, 2, 3))
    page = opened(desk, runs[0], **{"with": [run.pk for run in runs[1:]]})
    table = page.partition("Side by side")[2].partition("Shares are of")[0]
    assert all(f"run {run.pk} " in table for run in runs[:5]) and f"run {runs[5].pk} " not in table
    assert "Accepted" + " 4 100 %" * 5 in table
    assert "Opened 3 100 % 3 100 % 0 0 0 Goal" in table, "no share where nobody could tell"
    assert "Goal – 0 0 % – – –" in table


def test_a_run_stands_beside_another_once_and_never_one_of_another_project(
    desk: Desk, two: tuple[Run, Run], museum: Project
) -> None:
    older, newer = two
    make_people(museum, 1)
    theirs = make_run(museum)
    page = opened(desk, newer, **{"with": [older.pk, older.pk, theirs.pk, "x"]})
    table = page.partition("Side by side")[2].partition("Shares are of")[0]
    assert table.count(f"run {older.pk} ") == 1 and f"run {theirs.pk} " not in table
    assert "Planned 3 3" in table


def test_the_runs_beside_stay_when_one_looks_at_other_people(
    desk: Desk, two: tuple[Run, Run], project: Project
) -> None:
    third = make_run(project)
    address = f"/admin/campaigns/run/{two[1].pk}/compare/"
    reply = desk.client.get(address, {"with": [two[0].pk, third.pk]})
    assert all(f"with={two[0].pk}&with={third.pk}&" in tab["url"] for tab in reply.context["tabs"])


def test_the_run_suggested_is_of_the_same_campaign_else_to_the_same_audience(
    desk: Desk, two: tuple[Run, Run]
) -> None:
    first, other = two
    last = make_run(first.project, name="Autumn", audience=first.campaign.audience)
    assert other.campaign.audience != first.campaign.audience
    assert compare.one_before(last) == first


@pytest.mark.django_db(transaction=True)
def test_all_runs_side_by_side_are_in_sight_and_told_apart(
    browser: Browser, live_server: LiveServer, project: Project
) -> None:
    make_people(project, 3)
    runs = [make_run(project, name=f"Autumn run {n}: runners first · ru") for n in range(5)]
    for run in runs:
        settle(run, accepted=2)
    page = log_in(browser, live_server, [], width=390)
    for width, count in ((390, 3), (390, 5), (768, 4), (1024, 5), (1360, 5)):
        page.set_viewport_size({"width": width, "height": 900})
        asked = "&".join(f"with={run.pk}" for run in runs[1:count])
        page.goto(f"{live_server.url}/admin/campaigns/run/{runs[0].pk}/compare/?{asked}")
        box = page.locator(".r-beside-box")
        assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 0, (width, count)
        text = page.locator("select option:checked").first.inner_text()
        assert text.startswith(f"run {runs[1].pk} · Autumn run 1")
        if width < 1024:
            heads = page.locator("#beside td").evaluate_all(
                "cells => cells.map(cell => getComputedStyle(cell, '::before').content)"
            )
            assert f'"run {runs[1].pk} · Autumn run 1: runners first · ru"' in heads
