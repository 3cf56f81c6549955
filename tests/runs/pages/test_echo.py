"""The funnel: what phones told of a run, of those that can tell, on its page."""

from __future__ import annotations

import random

import pytest
from django.urls import reverse

from campaigns.engagement.funnel import funnel
from campaigns.engagement.receipt import STEPS, EchoSum, Event, Receipt, Report, Reporter
from campaigns.engagement.store_receipts import keep
from campaigns.results import breakdown
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from campaigns.runs.sums import totals_of
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_contact, make_device, make_people, make_run
from tests.given.runs import ended, some

pytestmark = pytest.mark.django_db


@pytest.fixture
def asking(project: Project) -> Project:
    Project.objects.filter(pk=project.pk).update(asks_receipts=True)
    project.refresh_from_db()
    return project


def tell(run: Run, event: Event, *seqs: int) -> None:
    keep(Report(run.pk, seq, event, None) for seq in seqs)


def echo(desk: Desk, run: Run) -> str:
    return desk.open("run_echo", run.pk)


def test_a_project_that_does_not_ask_has_no_funnel(desk: Desk, project: Project) -> None:
    make_people(project, 3)
    run = ended(make_run(project))
    assert "What became of it" not in desk.open("campaigns_run_change", run.pk)


def test_before_anybody_told_the_page_says_how_apps_do(desk: Desk, asking: Project) -> None:
    make_people(asking, 3)
    page = desk.open("campaigns_run_change", ended(make_run(asking)).pk)
    assert "No phone has reported anything yet" in page
    assert "Planned 3 Accepted 3 Received 0 0 0 % – Displayed 0 0 0 % – Opened 0 0 0 % –" in page


def test_a_share_is_of_those_who_can_tell(desk: Desk, asking: Project) -> None:
    """Numbers 1 to 4 reported an earlier run, and of this one 1, 2 and, for the first time, 5."""
    make_people(asking, 10)
    earlier = ended(make_run(asking))
    tell(earlier, Event.OPENED, 1, 2, 3, 4)
    run = ended(make_run(asking))
    same = dict(Recipient.objects.filter(run_id=run.pk).values_list("device_id", "seq"))
    was = dict(Recipient.objects.filter(run_id=earlier.pk).values_list("seq", "device_id"))
    tell(run, Event.OPENED, *(same[was[seq]] for seq in (1, 2, 5)))

    page = echo(desk, run)
    assert "Opened 3 5 50 % 60 %" in page, "five of ten can tell, three of them did"
    assert "Received 0 0 0 % –" in page


def test_the_share_of_a_run_that_goes_on_is_not_told_yet(desk: Desk, asking: Project) -> None:
    make_people(asking, 5)
    run = make_run(asking)
    tell(run, Event.RECEIVED, 1, 2)
    page = echo(desk, run)
    assert "Received 2 – –" in page and "It grows while phones report" in page


def test_what_was_wiped_away_first_does_not_stand_for_a_step(asking: Project) -> None:
    make_people(asking, 1)
    run = ended(make_run(asking))
    tell(run, Event.DISMISSED, 1)
    tell(run, Event.RECEIVED, 1)
    moved = EchoSum.objects.filter(run_id=run.pk, by="").values_list("event", "first")
    assert set(moved) == {(Event.DISMISSED, 0), (Event.RECEIVED, 1)}


def test_who_told_while_the_run_went_on_can_tell_once(desk: Desk, asking: Project) -> None:
    make_people(asking, 4)
    run = make_run(asking)
    tell(run, Event.OPENED, 1, 2)
    ended(run)
    assert "Opened 2 2 50 % 100 %" in echo(desk, run)


def test_who_tells_only_what_is_opened_says_nothing_of_what_arrived(
    desk: Desk, asking: Project
) -> None:
    make_people(asking, 4)
    run = ended(make_run(asking))
    tell(run, Event.OPENED, 1)
    tell(run, Event.RECEIVED, 2, 3)
    page = echo(desk, run)
    assert "Received 2 2 50 % 100 %" in page and "Opened 1 3 75 % 33.3 %" in page
    tell(run, Event.RECEIVED, 1)
    page = echo(desk, run)
    assert "Received 3 3 75 % 100 %" in page and "Opened 1 3 75 % 33.3 %" in page


def test_groups_and_times_are_told_of_the_last_step_anybody_took(
    desk: Desk, asking: Project
) -> None:
    for name, platform in (("ada", "ios"), ("bob", "android"), ("eve", "android")):
        make_device(make_contact(asking, external_id=name), platform=platform)
    run = ended(make_run(asking))
    seq_of = dict(Recipient.objects.filter(run_id=run.pk).values_list("platform", "seq"))
    tell(run, Event.RECEIVED, 1, 2, 3)
    tell(run, Event.DISPLAYED, seq_of["ios"])
    page = echo(desk, run)
    assert "Displayed by group Platform Can tell Displayed Android 2 0 0 % iOS 1 1 100 %" in page, (
        "who told what was received would have told what was displayed"
    )
    assert "Displayed over time" not in page, "one stretch of ten minutes is no course"

    EchoSum.objects.filter(by="after", event=Event.DISPLAYED).update(value="3")
    assert "Displayed over time" in echo(desk, run)


def test_what_is_no_large_group_is_one_of_all_others(desk: Desk, asking: Project) -> None:
    for number in range(9):
        person = make_contact(asking, external_id=f"u{number}", timezone=f"Etc/GMT+{number}")
        make_device(person)
    run = ended(make_run(asking))
    tell(run, Event.RECEIVED, *range(1, 10))
    assert "Etc/GMT+5 1 1 100 % All others 3 3 100 %" in echo(desk, run)


def test_what_else_phones_tell_is_counted_beside(desk: Desk, asking: Project) -> None:
    make_people(asking, 3)
    run = ended(make_run(asking))
    tell(run, Event.DISMISSED, 1)
    tell(run, Event.ACTION_2, 1, 2)
    assert "Dismissed: 1 · Button 2: 2" in echo(desk, run)


def test_a_page_that_shows_it_all_is_left_as_it_is(desk: Desk, asking: Project) -> None:
    make_people(asking, 3)
    run = ended(make_run(asking))
    address = reverse("admin:run_echo", args=[run.pk])
    shown = desk.client.get(address).content.decode()
    tag = shown.partition("?tag=")[2].partition('"')[0]
    assert desk.client.get(address, {"tag": tag}).status_code == 204
    tell(run, Event.OPENED, 1)
    again = desk.client.get(address, {"tag": tag})
    assert again.status_code == 200 and "Opened 1 1" in text_of(again)


def test_receipts_without_a_platform_and_with_an_unknown_one_are_one_group(
    asking: Project,
) -> None:
    """Of an older release's recipients nothing is known."""
    make_people(asking, 2)
    run = make_run(asking)
    Recipient.objects.filter(run_id=run.pk, seq=1).update(app_version=None)
    Recipient.objects.filter(run_id=run.pk, seq=2).update(app_version="")
    tell(run, Event.OPENED, 1, 2)
    assert EchoSum.objects.get(run_id=run.pk, by="app_version").count == 2


@pytest.mark.parametrize("seed", range(6))
def test_every_number_is_what_the_rows_say(asking: Project, seed: int) -> None:
    """Told in any order, twice, in parts, before the end and after it."""
    dice = random.Random(seed)
    for number in range(30):
        person = make_contact(asking, external_id=f"u{number}")
        make_device(person, platform=dice.choice(("ios", "android", "web")))
    earlier = ended(make_run(asking))
    some(dice, earlier)
    run = make_run(asking)
    some(dice, run)
    some(dice, earlier)
    ended(run)
    some(dice, run)

    found = funnel(run, totals_of(run), breakdown.kept_of(run))

    assert {step.event: (step.count, step.able) for step in found.steps} == by_rows(run)
    assert found.last is not None
    for group in found.groups["platform"]:
        assert (group.reported.count, group.reported.able) == by_rows(run, group.value)[found.last]


def by_rows(run: Run, platform: str = "") -> dict[Event, tuple[int, int]]:
    """How many told of each step, and how many can: from the rows alone."""
    people = Recipient.objects.filter(run_id=run.pk, **({"platform": platform} if platform else {}))
    told = set(Receipt.objects.filter(run_id=run.pk).values_list("seq", "event"))
    began = Reporter.objects.filter(since__lt=Run.objects.get(pk=run.pk).started_at)
    known = set(began.values_list("device_id", "event"))
    return {
        step: (
            sum((who.seq, step) in told for who in people),
            sum(
                any((who.seq, each) in told or (who.device_id, each) in known for each in STEPS
                    if each <= step)
                for who in people
            ),
        )
        for step in STEPS
    }  # fmt: skip
