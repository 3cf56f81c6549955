"""A first part on the run's page: the phase, the countdown, the figures, what a person may do."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.canary.first_part import FirstPart
from campaigns.engine import engine
from campaigns.runs.chunk import Chunk
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_campaign, make_people, make_run
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db

FIRST: dict[str, Any] = {"first_percent": 10, "first_least": 10}


def make_first(project: Project) -> Run:
    make_people(project, 200)
    return make_run(project, **FIRST)


def settle_first(run: Run, **counts: int) -> None:
    run.chunks.filter(follows=False).update(
        **{"state": Chunk.State.CLOSED, "accepted": 20, **counts}
    )


def look(run: Run, *seconds: int) -> None:
    for after in seconds:
        engine.advance(run.pk, now=timezone.now() + timedelta(seconds=after))


def page(desk: Desk, run: Run) -> str:
    return desk.open("campaigns_run_change", run.pk)


def buttons(desk: Desk, run: Run) -> list[str]:
    reply = desk.client.get(reverse("admin:campaigns_run_change", args=[run.pk]))
    return re.findall(r'id="first-(\w+)"', reply.content.decode())[1:]  # the heading is the first


def test_while_it_is_sent_the_page_says_who_goes_first(desk: Desk, project: Project) -> None:
    run = make_first(project)
    text = page(desk, run)
    assert "20 go first, drawn by chance. Then a wait of 15 min; the rest, 180" in text
    assert "Waits for the first part: 1" in text
    assert buttons(desk, run) == ["go_on", "cancel"]


def test_in_the_wait_it_counts_down_beside_the_figures(desk: Desk, project: Project) -> None:
    run = make_first(project)
    settle_first(run, accepted=18, rejected=2)
    look(run, 0, 1)
    text = page(desk, run)
    assert re.search(r"Judged in 1[45] min( \d+ s)?, at ", text)
    assert "The rest, 180, waits." in text
    assert "Rejected 10 % 2 of 20 not kept : at most 5 %".replace(" :", ":") in text
    assert "Received – none of the devices can tell not judged" in text


def test_when_it_asks_the_page_offers_to_go_on_or_to_stop_here(
    desk: Desk, project: Project
) -> None:
    run = make_first(project)
    settle_first(run, accepted=18, rejected=2)
    look(run, 0, 1, 901)
    text = page(desk, run)
    assert "What came of the first part is not good enough." in text
    assert "The rest, 180, waits until you decide." in text
    assert buttons(desk, run) == ["resume", "cancel"]


def test_go_on_now_lets_the_rest_go_and_the_page_remembers(desk: Desk, project: Project) -> None:
    run = make_first(project)
    desk.confirm("campaigns_run_go_on", run.pk)
    assert FirstPart.objects.get().decision == "person"
    text = page(desk, run)
    assert "The rest, 180, was let go on" in text
    assert "A person decided that." in text
    assert "alice" in text and buttons(desk, run) == []


def test_a_live_page_draws_the_buttons_anew_when_the_phase_changed(
    desk: Desk, project: Project
) -> None:
    run = make_first(project)
    url = reverse("admin:run_live", args=[run.pk])
    same = desk.client.get(url, {"seen": "sending.sending-0"}).content
    assert b"run-verbs" not in same and b"first-go_on" in same
    settle_first(run)
    look(run, 0, 1)
    assert b"run-verbs" in desk.client.get(url, {"seen": "sending.sending-0"}).content


def test_a_viewer_sees_the_figures_and_no_buttons(project: Project) -> None:
    run = make_first(project)
    desk = Desk(logged_in(Role.VIEWER))
    assert "20 go first" in page(desk, run)
    assert buttons(desk, run) == []


def test_a_run_without_one_says_nothing_of_it(desk: Desk, project: Project) -> None:
    make_people(project, 3)
    assert "First part" not in page(desk, make_run(project))


@pytest.mark.parametrize("name", ["campaign_review", "campaigns_campaign_launch"])
def test_before_the_launch_one_reads_how_many_go_first(
    desk: Desk, project: Project, name: str
) -> None:
    make_people(project, 200)
    text = desk.open(name, make_campaign(project, **FIRST).pk)
    assert "First about 20 of 200, then a wait of 15 min, then the rest." in text
    assert "at most 5 % are rejected and 10 % of the addresses dead" in text


def test_of_too_few_one_reads_that_all_go_at_once(desk: Desk, project: Project) -> None:
    make_people(project, 10)
    text = desk.open("campaign_review", make_campaign(project, **FIRST).pk)
    assert "All go at once: there are not more than the 10 of a first part." in text


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"local_time": "on"}, "by each reader's clock the first part takes a day"),
        ({"first_wait_seconds": "20 min", "ttl_seconds": "30 min"}, "Wait at most 15 min"),
    ],
)
def test_the_step_when_promises_none_that_save_refuses(
    desk: Desk, project: Project, other: dict[str, str], said: str
) -> None:
    make_people(project, 200)
    campaign = make_campaign(project)
    at = timezone.now() + timedelta(days=2)
    typed = {"schedule_kind": "at", "timezone": "UTC", "at": f"{at:%Y-%m-%dT%H:%M}"}
    typed |= {"first_percent": "10", "first_least": "10", "first_wait_seconds": "20 min", **other}
    text = text_of(desk.post("campaign_when", campaign=campaign.pk, **typed))
    assert said in text
    assert "First about" not in text


@pytest.mark.parametrize("name", ["campaign_when", "campaign_review"])
def test_each_step_counts_the_first_part_among_all_recipients(
    desk: Desk, project: Project, name: str
) -> None:
    """The control group has rows, too, and some of them are drawn into the first part."""
    make_people(project, 200)
    campaign = make_campaign(project, **FIRST, control_percent=25)
    typed = {"schedule_kind": "now", "timezone": "UTC", "first_percent": "10"}
    typed |= {"first_least": "10", "first_wait_seconds": "15 min", "control_percent": "25"}
    if name == "campaign_when":
        text = text_of(desk.post(name, campaign=campaign.pk, **typed))
    else:
        text = desk.open(name, campaign.pk)
    assert "First about 20 of 200" in text


def test_the_step_when_says_it_while_it_is_typed(desk: Desk, project: Project) -> None:
    make_people(project, 200)
    campaign = make_campaign(project)
    typed = {"schedule_kind": "now", "timezone": "UTC", "first_percent": "10"}
    typed |= {"first_least": "10", "first_wait_seconds": "20 min"}
    reply = desk.post("campaign_when", campaign=campaign.pk, **typed)
    text = text_of(reply)
    assert "First about 20 of 200, then a wait of 20 min, then the rest." in text
    assert "It takes about 20 min" in text
    for broken in ({"first_percent": "x"}, {"first_least": ""}, {"first_wait_seconds": "soon"}):
        reply = desk.post("campaign_when", campaign=campaign.pk, **{**typed, **broken})
        assert reply.status_code == 200
        assert "First about" not in text_of(reply)
