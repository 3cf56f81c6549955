"""A campaign may keep to so many opens a second, by what is known of the project's last runs."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from campaigns.engagement import opening
from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.runs.claiming import claim
from campaigns.runs.run import Run
from campaigns.runs.series import repeated
from campaigns.sending.sending import Sending
from notifications.pacing.fcm_signals import AnswerCounts
from notifications.pacing.gate import Gate
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_campaign, make_people, make_run
from tests.given.opened import opened
from tests.planning.pages.estimate import rate_of
from tests.rehearsals.shared import ask

pytestmark = pytest.mark.django_db
NOBODY_KNOWS = "Nobody knows yet how many open a message of this project"


@pytest.fixture(autouse=True)
def people(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MIN_TOLD", 8)
    monkeypatch.setattr(opening, "MIN_OPENED", 2)
    make_people(project, 8)


@pytest.fixture
def past(project: Project) -> Run:
    """A quarter of them opened it."""
    return opened(project, count=2)


@pytest.mark.parametrize(
    ("at_most", "asked"), [(None, 8), (100, 8), (3, 3)], ids=["alone", "above", "below"]
)
def test_its_rate_is_reckoned_when_its_people_are_chosen(
    project: Project, past: Run, at_most: int | None, asked: float
) -> None:
    run = make_run(project, opens_per_second=2, rate_per_second=at_most)
    assert run.opens_rate == 8
    assert rate_of(run) == asked


def test_the_next_run_of_a_series_learns_anew(project: Project, past: Run) -> None:
    run = make_run(project, opens_per_second=2)
    following = repeated(run, timezone.now())
    assert (following.opens_per_second, following.opens_rate) == (2, None)
    opened(project, count=6, days_ago=1.5)
    Run.objects.filter(pk=run.pk).update(state="cancelled", finished_at=timezone.now())
    Run.objects.filter(pk=following.pk).update(state="preparing")
    engine.advance(following.pk, now=timezone.now())
    following.refresh_from_db()
    assert following.opens_rate == 4


def test_where_nobody_knows_it_is_not_launched(desk: Desk, project: Project) -> None:
    campaign = make_campaign(project, opens_per_second=2)
    refused = Caller(project).post(f"campaigns/{campaign.pk}/launch")
    assert refused.status_code == 409 or fields_at_fault(refused) == ["opens_per_second"]
    assert NOBODY_KNOWS in refused.content.decode()
    assert NOBODY_KNOWS in desk.open("campaign_review", campaign.pk)
    assert not Run.objects.exists()


def test_a_run_of_which_nobody_knows_any_more_asks_and_goes_on_with_a_rate(
    desk: Desk, project: Project, past: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(project, advanced=False, opens_per_second=2)
    monkeypatch.setattr(opening, "MIN_TOLD", 9)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert (run.state, run.detail_code, run.planned) == ("paused", "opens_unknown", None)
    assert "Nobody knows how many open a message" in desk.open("campaigns_run_change", run.pk)
    desk.confirm("campaigns_run_change_rate", run.pk, rate="5")
    desk.confirm("campaigns_run_resume", run.pk)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert (run.state, run.own_rate) == ("sending", 5)


def test_a_rehearsal_does_not_keep_to_it(project: Project, past: Run) -> None:
    run = ask(make_campaign(project, opens_per_second=2)).run
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert (run.planned, run.own_rate) == (8, None)


def test_a_rehearsal_needs_no_past_runs_to_learn_from(project: Project) -> None:
    run = ask(make_campaign(project, opens_per_second=2)).run
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert (run.state, run.planned, run.own_rate) == ("rehearsing", 8, None)


def test_a_rate_that_a_person_sets_meanwhile_takes_its_place(
    desk: Desk, project: Project, past: Run
) -> None:
    run = make_run(project, opens_per_second=2)
    granted = claim(run.pk, 1, run.epoch, task_id=None)
    assert granted
    sending = Sending(granted)
    assert sending.gate.rate == 8
    asked = desk.open("campaigns_run_change_rate", run.pk)
    assert "It keeps to 2 opens a second now; what you choose here takes the place of" in asked
    desk.confirm("campaigns_run_change_rate", run.pk, rate="700")
    sending.looked_at = 0.0
    sending._renew_when_due()
    assert sending.gate.rate == 700
    changes = AuditEntry.objects.get(action="changed the rate of").changes
    assert changes == {"rate_per_second": [None, 700], "opens_per_second": [2, None]}


def test_review_run_and_api_say_what_makes_it_so_slow(
    desk: Desk, project: Project, past: Run
) -> None:
    campaign = make_campaign(project, opens_per_second=2)
    said = f"at 8 a second (so that at most 2 a second open it, as 25 % did of run {past.pk})"
    assert said in desk.open("campaign_review", campaign.pk)
    run = make_run(project, opens_per_second=2)
    gate = Gate(project, reference=run.reference, rate=run.own_rate)
    gate.take(100, AnswerCounts())
    said = "At most 8: so that no more than 2 a second are expected to open it."
    assert said in desk.open("campaigns_run_change", run.pk)
    gate.take(100, AnswerCounts())  # on a slow machine the page took as long as a rest
    shown = Caller(project).get(f"runs/{run.pk}").json()
    assert (shown["pace"]["text"], shown["opens_per_second"]) == (said, 2)


def test_what_is_no_number_of_opens_is_refused(project: Project) -> None:
    alice = Caller(project)
    path = f"campaigns/{make_campaign(project).pk}"
    assert alice.patch(path, {"opens_per_second": 40}).status_code == 200
    for wrong in (0, -1, 100_001, "many", 1.5, True):
        refused = alice.patch(path, {"opens_per_second": wrong})
        assert (refused.status_code, fields_at_fault(refused)) == (400, ["opens_per_second"])
    assert Campaign.objects.get().opens_per_second == 40
    assert alice.patch(path, {"opens_per_second": None}).json()["opens_per_second"] is None
    with pytest.raises(IntegrityError, match="opens_are_at_least_one"), transaction.atomic():
        Campaign.objects.update(opens_per_second=0)
