"""A run that is spread over a time sends to all of its people evenly over it."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.runs.claiming import claim
from campaigns.runs.series import repeated
from campaigns.sending.sending import Sending
from notifications.pacing.fcm_signals import AnswerCounts
from notifications.pacing.gate import Gate
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_campaign, make_people, make_run
from tests.planning.pages.estimate import rate_of
from tests.rehearsals.shared import ask

pytestmark = pytest.mark.django_db
PEOPLE = 300


@pytest.fixture(autouse=True)
def people(project: Project) -> None:
    make_people(project, PEOPLE)


@pytest.mark.parametrize(
    ("at_most", "asked"), [(None, 2.5), (100, 2.5), (2, 2)], ids=["alone", "above", "below"]
)
def test_its_rate_is_reckoned_from_its_people_unless_at_most_is_less(
    project: Project, at_most: int | None, asked: float
) -> None:
    run = make_run(project, spread_seconds=120, rate_per_second=at_most)
    assert rate_of(run) == asked


def test_the_next_run_of_a_series_is_spread_anew_over_its_own_people(project: Project) -> None:
    run = make_run(project, spread_seconds=120, rate_per_second=1_000)
    following = repeated(run, timezone.now())
    assert (following.spread_seconds, following.rate_per_second) == (120, 1_000)
    following.planned = 12_000
    assert following.own_rate == 100


def test_a_first_part_goes_at_the_rate_of_the_whole(project: Project) -> None:
    run = make_run(project, spread_seconds=120, first_percent=10, first_least=1)
    assert run.chunks.filter(follows=False).count() < run.chunks.count()
    assert rate_of(run) == 2.5


def test_a_rehearsal_is_not_spread(project: Project) -> None:
    run = ask(make_campaign(project, spread_seconds=120)).run
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert (run.planned, run.own_rate) == (PEOPLE, None)


def test_a_rate_that_a_person_sets_meanwhile_takes_the_place_of_the_spread(
    desk: Desk, project: Project
) -> None:
    run = make_run(project, spread_seconds=120)
    granted = claim(run.pk, 1, run.epoch, task_id=None)
    assert granted
    sending = Sending(granted)
    asked = desk.open("campaigns_run_change_rate", run.pk)
    assert "It is spread over 2 min now; what you choose here takes the place of that." in asked
    desk.confirm("campaigns_run_change_rate", run.pk, rate="700")
    sending.looked_at = 0.0
    sending._renew_when_due()
    assert sending.gate.rate == 700
    changes = AuditEntry.objects.get(action="changed the rate of").changes
    assert changes == {"rate_per_second": [None, 700], "spread_seconds": [120, None]}
    page = desk.open("campaigns_run_change", run.pk)
    assert "Spread over – (2 min at the launch)" in page


def test_its_page_and_the_api_say_what_makes_it_so_slow(desk: Desk, project: Project) -> None:
    run = make_run(project, spread_seconds=120)
    gate = Gate(project, reference=run.reference, rate=run.own_rate)
    gate.take(100, AnswerCounts())
    said = "At most 2.5: so that all of it takes 2 min."
    assert said in desk.open("campaigns_run_change", run.pk)
    gate.take(100, AnswerCounts())  # on a slow machine the page took as long as a rest
    shown = Caller(project).get(f"runs/{run.pk}").json()
    assert (shown["pace"]["text"], shown["spread_seconds"]) == (said, 120)


def test_the_review_says_how_fast_that_is_and_how_long_it_takes(
    desk: Desk, project: Project
) -> None:
    campaign = make_campaign(project, spread_seconds=120)
    assert "2 min, at 2.5 a second (so that it takes 2 min)" in desk.open(
        "campaign_review", campaign.pk
    )


def test_more_than_half_of_the_time_it_is_worth_showing_is_refused_by_page_and_api(
    desk: Desk, project: Project
) -> None:
    alice = Caller(project)
    campaign = make_campaign(project, ttl_seconds=600)
    path = f"campaigns/{campaign.pk}"
    assert alice.patch(path, {"spread_seconds": 300}).status_code == 200
    for spread in (301, 59, 700_000, 0, "a while", 90.5, True):
        refused = alice.patch(path, {"spread_seconds": spread})
        assert (refused.status_code, fields_at_fault(refused)) == (400, ["spread_seconds"])
    assert "At most 5 min, half of" in alice.patch(path, {"spread_seconds": 301}).content.decode()
    assert Campaign.objects.get().spread_seconds == 300
    assert alice.patch(path, {"spread_seconds": None}).json()["spread_seconds"] is None


@pytest.mark.parametrize("seconds", [0, 59, 604_801])
def test_the_database_refuses_a_time_that_nothing_is_spread_over(
    project: Project, seconds: int
) -> None:
    campaign = make_campaign(project)
    with pytest.raises(IntegrityError, match="a_spread_in_range"), transaction.atomic():
        Campaign.objects.filter(pk=campaign.pk).update(spread_seconds=seconds)
