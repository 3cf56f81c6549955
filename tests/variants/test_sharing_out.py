"""Who gets which text: by chance, as the weights say, the same for all devices and every try."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine, freezing
from campaigns.planning.campaign import Campaign
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from campaigns.runs.series import repeated
from campaigns.runs.variants.variant import as_launched
from notifications.people.consent.category import Category
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device, make_people, make_run
from tests.variants.shared import CONTROL, HOLDOUT, TITLES, counts, groups, make_split

pytestmark = pytest.mark.django_db


def launched(campaign: Campaign, *, advanced: bool = True) -> Run:
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    while advanced:
        engine.advance(run.pk, now=timezone.now())
        run.refresh_from_db()
        advanced = run.freezing
    return run


def test_the_weights_say_how_many_get_which_text(project: Project) -> None:
    make_people(project, 4_000)
    run = launched(make_split(project, (60, 30, 10), control_percent=10))
    found = counts(run)
    expected = {0: 0.54, 1: 0.27, 2: 0.09, CONTROL: 0.10}
    assert set(found) == set(expected)
    for group, share in expected.items():  # five standard errors
        spread = 5 * (4_000 * share * (1 - share)) ** 0.5
        assert abs(found[group] - 4_000 * share) < spread, (group, found)
    assert run.split["people"] == {str(group): count for group, count in found.items()}


def test_all_devices_of_a_person_are_in_one_group_also_in_different_parts(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freezing, "DEVICES_AT_ONCE", 10)
    people = [make_contact(project) for _ in range(30)]
    for _ in range(2):
        for person in people:
            make_device(person)
    run = launched(make_split(project, control_percent=20))
    rows = Recipient.objects.filter(run_id=run.pk).values_list("contact_id", "variant")
    assert len(rows) == 60
    assert len({*rows}) == 30, "somebody is in two groups"
    assert sum(run.split["people"].values()) == 30
    assert sum(run.split["devices"].values()) == 60


def test_a_part_that_is_frozen_again_after_a_crash_shares_out_the_same(project: Project) -> None:
    make_people(project, 200)
    run = launched(make_split(project), advanced=False)
    twice = []
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            freezing.freeze_next(run.pk, now=timezone.now())
            twice.append(groups(run))
            raise ZeroDivisionError
    engine.advance(run.pk, now=timezone.now())
    assert twice[0] == twice[1] == groups(run)


def test_two_runs_share_people_out_differently(project: Project) -> None:
    make_people(project, 200)
    one, other = (launched(make_split(project)) for _ in range(2))
    agree = sum(groups(one)[device] == groups(other)[device] for device in groups(one))
    assert 60 < agree < 140


def test_the_runs_of_a_series_give_the_same_people_the_same_text(project: Project) -> None:
    make_people(project, 100)
    campaign = make_split(
        project, schedule_kind="recurring", repeat="daily", control_percent=10,
        at=datetime(2031, 5, 7, tzinfo=UTC),
    )  # fmt: skip
    first = launched(campaign, advanced=False)
    second = repeated(first, first.scheduled_at + timedelta(days=1))
    third = repeated(second, first.scheduled_at + timedelta(days=2))
    for run in (first, third):
        Run.objects.filter(pk=run.pk).update(state="preparing")
        engine.advance(run.pk, now=timezone.now())
        run.refresh_from_db()
    assert groups(first) == groups(third)
    texts = {number: content["title"] for number, content in as_launched(third).items()}
    assert texts == {0: TITLES[0], 1: TITLES[1]}


def test_a_run_without_any_of_it_says_nothing_of_groups(project: Project) -> None:
    make_people(project, 3)
    run = make_run(project)
    assert run.split == {}
    assert counts(run) == {None: 3}


# --- The holdout ----------------------------------------------------------------------------------


def hold_out(project: Project, percent: int) -> None:
    Project.objects.filter(pk=project.pk).update(holdout_percent=percent)


def held(run: Run) -> set[int]:
    return {device for device, group in groups(run).items() if group == HOLDOUT}


def test_the_holdout_is_the_same_people_in_every_campaign_and_only_grows(project: Project) -> None:
    make_people(project, 1_000)
    hold_out(project, 5)
    plain, split = make_run(project), launched(make_split(project, control_percent=10))
    assert held(plain) == held(split)
    assert 20 < len(held(plain)) < 90
    hold_out(project, 10)
    assert held(plain) < held(make_run(project))


@pytest.mark.parametrize("kind", ["transactional", "critical"])
def test_the_holdout_gets_what_people_wait_for(project: Project, kind: str) -> None:
    make_people(project, 50)
    hold_out(project, 50)
    category = Category.objects.create(project=project, name="Receipts", slug="r", kind=kind)
    run = make_run(project, category=category)
    assert counts(run) == {None: 50}


def test_a_campaign_may_go_to_the_holdout_as_well(project: Project) -> None:
    make_people(project, 50)
    hold_out(project, 50)
    assert counts(make_run(project, past_holdout=True)) == {None: 50}


def test_the_holdout_is_that_of_the_moment_when_the_freezing_begins(project: Project) -> None:
    make_people(project, 50)
    run = make_run(project, advanced=False)
    hold_out(project, 50)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert held(run)
    assert run.split["holdout"] == 50
