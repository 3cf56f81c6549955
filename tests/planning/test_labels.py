"""Labels name a campaign in Firebase's reports: 50 plain characters, and 100 of them a day."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from campaigns.launch_check.launch_report import LaunchReport
from campaigns.launch_check.warnings import Code
from campaigns.planning import analytics_labels
from campaigns.planning.campaign import Campaign
from campaigns.planning.launch import launch
from campaigns.runs.run import Run
from notifications.fcm import rules
from notifications.people.project import Project
from tests.given.builders import make_campaign, make_project, make_run


@pytest.fixture
def project(db: None) -> Project:
    return make_project(uses_default_credentials=True)  # nothing else to be told of


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("Spring sale: 20 % off!", "spring-sale-20-off-12"),
        ("Été à Séoul", "ete-a-seoul-12"),
        ("봄 세일", "campaign-12"),
        ("x" * 100, "x" * 47 + "-12"),
    ],
)
def test_a_label_is_made_from_the_name_and_stays_apart_by_the_number(name: str, label: str) -> None:
    assert analytics_labels.made_from(name, 12) == label


@given(st.text(max_size=100), st.integers(1, 2**63))
def test_firebase_takes_whatever_label_is_made(name: str, number: int) -> None:
    assert rules.label(analytics_labels.made_from(name, number)) == ""


def test_a_run_keeps_the_label_it_was_launched_with(project: Project) -> None:
    run = make_run(project, advanced=False, name="Spring")
    assert run.analytics_label == f"spring-{run.campaign_id}"
    run.campaign.analytics_label = "renamed"
    run.campaign.save()
    run.refresh_from_db()
    assert run.analytics_label == f"spring-{run.campaign_id}"
    assert make_run(project, advanced=False, analytics_label="own").analytics_label == "own"


def used(project: Project, count: int, *, at: datetime, start: int = 0) -> None:
    """So many labels, of runs at that time."""
    one = make_run(project, advanced=False, analytics_label=f"label-{start}")
    one.scheduled_at = at
    one.save()
    for number in range(start + 1, start + count):
        one.pk, one._state.adding = None, True
        one.occurrence, one.analytics_label = f"{number}", f"label-{number}"
        one.save()


def told(campaign: Campaign, now: datetime) -> list[str]:
    doubts = LaunchReport(campaign, now).doubts
    return [doubt.words for doubt in doubts if doubt.code == Code.MANY_LABELS]


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (88, ""),
        (89, "90 of the 100 analytics labels"),
        (99, "100 of the 100"),
        (100, "analytics label 101 within a day, and Firebase reports 100. It may be missing"),
    ],
)
def test_from_the_ninetieth_label_of_a_day_a_person_is_told_and_nobody_is_stopped(
    project: Project, before: int, words: str
) -> None:
    now = timezone.now()
    used(project, before, at=now)
    used(project, 50, at=now - timedelta(days=2), start=500)  # another day's
    used(make_project(), 50, at=now, start=900)  # another project's
    campaign = make_campaign(project, name="New")
    [said] = told(campaign, now) or [""]
    assert words in said
    assert bool(said) == bool(words)
    assert launch(campaign, by="user:alice", now=now).analytics_label == campaign.label


def test_a_label_already_in_use_that_day_takes_no_room(project: Project) -> None:
    now = timezone.now()
    used(project, 100, at=now)
    [said] = told(make_campaign(project, analytics_label="label-7"), now)
    assert said.startswith("100 of the 100")
    assert Run.objects.filter(project=project).count() == 100
    assert re.search(r"one label\.$", said)
