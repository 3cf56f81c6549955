"""Who had a campaign already is counted before its launch, and told after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.utils import timezone

from campaigns.launch_check import stored_forecast
from campaigns.planning.campaign import Campaign
from campaigns.runs.prior_recipients import IndexedRun, PriorRecipient
from campaigns.runs.run import Run
from notifications import dispatch
from notifications.keys.credentials import ServiceAccount
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.api.caller import Caller
from tests.given.again import person, send, series
from tests.given.builders import make_campaign
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(project: Project, fcm: Fcm) -> Iterator[Project]:
    """One that can send."""
    ServiceAccount.store(project, fcm.service_account)
    yield project
    dispatch.close()


def test_the_review_and_the_check_count_who_had_it(desk: Desk, project: Project, fcm: Fcm) -> None:
    for _ in range(2):
        person(project)
    campaign = series(project)
    send(campaign)
    person(project)
    told = Caller(project).get(f"campaigns/{campaign.pk}/check").json()
    assert [(one["reason"], one["devices"]) for one in told["skipped"]] == [("had_it", 2)]
    assert (told["who"]["sent_to"], told["forecast"]["sent"]) == (1, 1)
    page = desk.open("campaign_review", campaign.pk)
    assert "2 devices: their people had this campaign in an earlier run." in page
    assert "had it already" in page


def test_before_it_was_asked_for_the_review_counts_by_the_runs_themselves(
    project: Project, fcm: Fcm
) -> None:
    person(project)
    campaign = series(project, once_each=False)
    run = send(campaign)
    Campaign.objects.update(once_each=True)
    path = f"campaigns/{campaign.pk}/check"
    alice = Caller(project)
    assert alice.get(path).json()["who"]["sent_to"] == 0

    IndexedRun.objects.all().delete()
    PriorRecipient.objects.all().delete()
    Run.objects.filter(pk=run.pk).update(forgotten_at=timezone.now())
    told = alice.get(path).json()
    assert [one["code"] for one in told["warnings"] if one["code"] == "had_unknown"]
    assert told["who"]["sent_to"] == 1


def test_why_somebody_did_not_get_it_names_the_run_that_brought_it(
    project: Project, fcm: Fcm
) -> None:
    person(project, external_id="ada")
    campaign = series(project)
    first, second = send(campaign), send(campaign)
    told = Caller(project).get(f"runs/{second.pk}/why?contact=ada").json()
    said = f"They had got it in run {first.pk}, and it goes to nobody twice."
    assert said in str(told)


def test_each_of_the_next_times_says_about_how_many_devices_it_goes_to(
    desk: Desk, project: Project
) -> None:
    person(project), person(project)
    campaign = make_campaign(project)
    typed = {"schedule_kind": "recurring", "repeat": "daily", "at": "2031-01-01T09:00"}
    typed |= {"timezone": "Asia/Seoul", "campaign": str(campaign.pk)}
    shown = text_of(desk.post("campaign_when", **typed))
    assert shown.count("about 2 devices") == 10
    assert "2 Jan 2031, 09:00 Asia/Seoul about 2 devices" in shown
    assert "2 devices" not in text_of(desk.post("campaign_when", **{**typed, "campaign": ""}))


def test_of_those_who_have_not_had_it_each_of_the_next_times_has_that_many_at_most(
    desk: Desk, project: Project, fcm: Fcm
) -> None:
    person(project), person(project)
    campaign = series(project)
    send(campaign)
    person(project)
    typed = {"schedule_kind": "recurring", "repeat": "daily", "at": "2031-01-01T09:00"}
    typed |= {"timezone": "Asia/Seoul", "campaign": str(campaign.pk)}
    shown = text_of(desk.post("campaign_when", **typed))
    assert shown.count("at most 1 device") == 10
    assert "Whoever gets it in one of them is left out of those after it." in shown
    when = Caller(project).get(f"campaigns/{campaign.pk}/check").json()["when"]
    assert (len(when["coming"]), when["coming_sent_to"]) == (3, 1)


def test_how_a_run_was_foreseen_does_not_count_its_own_people_as_having_had_it(
    project: Project, fcm: Fcm
) -> None:
    person(project)
    run = send(series(project))
    stored_forecast.keep(run.pk, timezone.now())
    kept = stored_forecast.load_course(run)
    assert kept is not None
    assert kept.sent == 1
