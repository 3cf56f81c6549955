"""The real run is held beside the rehearsal before it."""

from __future__ import annotations

import random

import pytest
from django.urls import reverse
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns.launch_check.launch_report import LaunchReport
from campaigns.planning import campaign_variants
from campaigns.planning.campaign import Campaign
from campaigns.rehearsals import projection
from campaigns.rehearsals.comparison import compare_rehearsal, compare_run
from campaigns.rehearsals.projection import Projection, Z
from campaigns.rehearsals.report import RehearsalReport
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.given.builders import (
    addresses,
    make_campaign,
    make_contact,
    make_device,
    make_people,
    make_template,
)
from tests.rehearsals.shared import launch, rehearse
from tests.roles.people import logged_in
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(project: Project, fcm: Fcm) -> Campaign:
    """1,000 devices: 50 dead, and 40 people who do not want it."""
    devices = make_people(project, addresses(live=950, dead=50))
    people = [one.contact_id for one in devices[:40]]
    Contact.objects.filter(pk__in=people).update(subscribed=False)
    return make_campaign(project)


def numbers_of(run: Run) -> dict[str, tuple[int, int]]:
    found = compare_run(run)
    assert found is not None
    return {line.projection.name: (line.projection.count, line.real) for line in found.lines}


def test_a_rehearsal_of_everybody_foretells_the_run_within_one_percent(campaign: Campaign) -> None:
    rehearse(campaign)
    run = launch(campaign)
    told = numbers_of(run)
    assert told["planned"] == (1_000, 1_000)
    assert told["skipped"] == (40, 40)
    assert told["rejected"] == (50, 50)
    assert told["accepted"] == (910, 910)
    found = compare_run(run)
    assert found is not None and found.has_ended and found.holds
    assert found.same_text and found.same_rules


def test_a_samples_interval_holds_the_run(campaign: Campaign) -> None:
    """So large, as an interval of 95 % is wrong one time in twenty, and this test never is."""
    rehearsal = rehearse(campaign, sample=800)
    assert rehearsal.is_sample
    found = compare_run(launch(campaign))
    assert found is not None and found.holds
    rejected = next(line for line in found.lines if line.projection.name == "rejected")
    assert rejected.projection.low < 50 < rejected.projection.high
    assert rejected.projection.high - rejected.projection.low < 60


def test_another_audience_is_told_apart(campaign: Campaign, project: Project) -> None:
    rehearse(campaign)
    for number in range(100):
        make_device(make_contact(project), f"dead-later-{number}:a")
    found = compare_run(launch(campaign))
    assert found is not None and not found.holds
    wrong = {line.projection.name for line in found.lines if not line.holds}
    assert wrong == {"planned", "rejected"}


def test_what_it_retired_is_not_expected_again(campaign: Campaign) -> None:
    rehearse(campaign, retires=True)
    retired = Device.objects.exclude(retired_at=None).count()
    assert retired
    run = launch(campaign)
    found = compare_run(run)
    assert found is not None and found.holds and found.retired == retired
    assert run.planned == 1_000 - retired


def test_one_that_was_cancelled_or_came_later_is_not_compared(campaign: Campaign) -> None:
    run = launch(campaign)
    rehearse(campaign)
    assert compare_run(run) is None


def test_a_changed_text_is_said(campaign: Campaign) -> None:
    rehearse(campaign)
    campaign.template.body = "Another"
    campaign.template.save()
    found = compare_run(launch(Campaign.objects.get(pk=campaign.pk)))
    assert found is not None and not found.same_text and found.same_rules


def test_the_rehearsal_knows_the_first_run_after_it(campaign: Campaign) -> None:
    first = rehearse(campaign)
    second = rehearse(campaign)
    run = launch(campaign)
    assert compare_rehearsal(first) is None
    found = compare_rehearsal(second)
    assert found is not None and found.run == run


def test_a_run_that_left_people_out_on_purpose_is_held_beside_what_is_left_of_them(
    campaign: Campaign,
) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(control_percent=20)
    campaign.refresh_from_db()
    rehearse(campaign)
    run = launch(campaign)
    found = compare_run(run)
    assert found is not None and found.has_ended and found.holds
    assert 100 < found.left_out < 300
    lines = {line.projection.name: line for line in found.lines}
    assert lines["planned"].real == run.planned
    assert lines["skipped"].real == run.skipped - found.left_out
    page = logged_in(Role.VIEWER).get(f"/admin/campaigns/run/{run.pk}/change/").content.decode()
    assert f"The run left {found.left_out} devices out by chance" in page
    assert ">outside<" not in page and "lies where the rehearsal said it would" in page


@pytest.mark.parametrize("sample", [None, 500])
def test_it_foretells_whom_a_launch_leaves_out_by_chance(
    campaign: Campaign, sample: int | None
) -> None:
    Project.objects.filter(pk=campaign.project_id).update(holdout_percent=10)
    Campaign.objects.filter(pk=campaign.pk).update(control_percent=20)
    campaign = Campaign.objects.get(pk=campaign.pk)
    review = LaunchReport(campaign, timezone.now()).sent_to or 0
    report = RehearsalReport(rehearse(campaign, sample=sample), timezone.now())

    foretold = {one.name: one for one in report.outcomes}
    sent = foretold["accepted"].count + foretold["rejected"].count
    assert abs(sent - review) < (80 if sample else 60)
    run = launch(campaign)
    assert foretold["accepted"].contains(run.accepted)
    assert foretold["skipped"].contains(run.skipped)
    found = compare_run(run)
    assert found is not None and found.holds


@given(rejected=st.integers(0, 3_000), share=st.floats(0.5, 0.99), seed=st.integers())
@settings(deadline=None)
def test_chance_keeps_the_thinned_numbers_within_their_bounds(
    rejected: int, share: float, seed: int
) -> None:
    """Five standard errors: of a thousand draws none is outside."""
    chance = random.Random(seed)
    kept = sum(chance.random() < share for _ in range(rejected))
    exact = Projection("rejected", rejected, rejected, rejected, rejected)
    thin = projection.scale(exact, share)
    slack = 5 / Z * (thin.high - thin.low) / 2 + 2
    assert abs(kept - thin.count) <= slack


def test_each_person_is_rehearsed_with_one_of_the_variants_as_a_run_draws_them(
    campaign: Campaign,
) -> None:
    other = make_template(campaign.project, title="B", body="In {{ city }}")  # nobody has one
    campaign_variants.choose(campaign, [(other, 50)])
    viewer = logged_in(Role.VIEWER)
    for sample in (None, 300):
        rehearsal = rehearse(campaign, sample=sample)
        report = RehearsalReport(rehearsal, timezone.now())
        a, b = report.variants
        assert (a.number, b.number, a.devices + b.devices) == (0, 1, rehearsal.run.planned)
        assert b.devices > 50 and b.counts == {"skipped": b.devices}
        assert a.counts["accepted"] > 0
        page = viewer.get(reverse("admin:rehearsal_one", args=[rehearsal.pk])).content.decode()
        assert "By variant" in page and "Variant B" in page
    run = launch(campaign)
    found = compare_run(run)
    assert found is not None and found.same_text
