"""How a run would go is reckoned when it begins, and kept beside what came of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from campaigns import control, tasks
from campaigns.engagement import opening
from campaigns.engine import engine
from campaigns.launch_check import stored_forecast
from campaigns.launch_check.launch_report import LaunchReport
from campaigns.launch_check.stored_forecast import AT_LATEST, Foreseen
from campaigns.planning.campaign import Campaign
from campaigns.runs.caps.counted_pushes import Counted
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_device,
    make_people,
    make_run,
)
from tests.given.opened import opened, took
from tests.rehearsals.shared import ask

HERE, WEST = "Etc/UTC", "Etc/GMT+3"
AN_HOUR = timedelta(hours=1)


def begun(run: Run) -> Run:
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    return run


def at_this_time() -> dict[str, Any]:
    at = timezone.now().replace(microsecond=0)
    return {"schedule_kind": "at", "at": at, "timezone": "UTC", "local_time": True}


def report_on(campaign: Campaign, now: datetime) -> LaunchReport:
    return LaunchReport(Campaign.objects.get(pk=campaign.pk), now)


def test_a_run_keeps_what_the_check_said_of_it(project: Project) -> None:
    for zone, people in ((HERE, 3), (WEST, 2)):
        for _ in range(people):
            make_device(make_contact(project, timezone=zone))
    campaign = make_campaign(project, **at_this_time())
    said = report_on(campaign, timezone.now()).course
    assert said
    run = begun(control.launch(campaign, by="user:alice", now=timezone.now()))

    tasks.advance(run_id=run.pk)

    kept = stored_forecast.load_course(run)
    assert kept and run.started_at
    assert (kept.sent, kept.skipped, kept.exact) == (said.sent, said.skipped, True) == (5, {}, True)
    assert kept.starts_at == run.started_at
    assert kept.ends_at and said.ends_at and abs(kept.ends_at - said.ends_at) < timedelta(seconds=5)
    assert abs(kept.ends_at - run.started_at - 3 * AN_HOUR) < timedelta(minutes=1)


def test_a_run_keeps_how_many_would_open_it_when(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "MIN_TOLD", 8)
    monkeypatch.setattr(opening, "MIN_OPENED", 4)
    make_people(project, 8)
    past = opened(project, count=4)
    took(past, [0, 0, 1_800, 1_800])
    run = begun(make_run(project))

    stored_forecast.keep(run.pk, timezone.now())

    kept = stored_forecast.opens_of(run)
    assert kept and kept.counts
    assert (kept.expected, kept.told, kept.runs, sum(kept.counts)) == (4, 4, [past.pk], 4)
    shown = Caller(project).get(f"runs/{run.pk}").json()["foreseen"]
    assert (shown["opens"]["counts"], shown["sent"]) == (kept.counts, 8)


def test_of_a_project_without_opens_a_run_is_foreseen_without_them(project: Project) -> None:
    make_people(project, 2)
    run = begun(make_run(project))
    stored_forecast.keep(run.pk, timezone.now())
    assert stored_forecast.load_course(run) and stored_forecast.opens_of(run) is None
    shown = Caller(project).get(f"runs/{run.pk}").json()["foreseen"]
    assert (shown["sent"], shown["opens"]) == (2, None)


def test_what_the_run_sent_meanwhile_is_not_held_against_its_people(project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(cap_per_day=1)
    make_people(project, 3)
    run = begun(make_run(project))
    for one in Recipient.objects.filter(run_id=run.pk):
        now = timezone.now()
        Counted.objects.create(
            contact_id=one.contact_id, run_id=run.pk, seq=one.seq, message=0, at=now
        )

    tasks.advance(run_id=run.pk)

    kept = stored_forecast.load_course(run)
    assert kept and kept.sent == 3


def test_a_run_is_foreseen_once(project: Project) -> None:
    make_people(project, 2)
    run = make_run(project)

    tasks.advance(run_id=run.pk)
    make_people(project, 3)
    tasks.advance(run_id=run.pk)

    assert Foreseen.objects.get().sent == 2


def test_what_was_edited_since_the_launch_says_nothing_of_the_run(project: Project) -> None:
    make_people(project, 2)
    run = begun(make_run(project))
    Campaign.objects.update(rate_per_second=1, updated_at=timezone.now())

    tasks.advance(run_id=run.pk)

    assert stored_forecast.load_course(run) is None


def test_a_new_name_of_its_campaign_changes_nothing(project: Project) -> None:
    make_people(project, 2)
    run = begun(make_run(project))
    Campaign.objects.update(name="Renamed", updated_at=timezone.now())

    tasks.advance(run_id=run.pk)

    kept = stored_forecast.load_course(run)
    assert kept and kept.sent == 2


def test_another_audience_of_its_campaign_says_nothing_of_the_run(project: Project) -> None:
    make_people(project, 2)
    run = begun(make_run(project))
    nobody = make_audience(project, rules={"attribute": "city", "is": "Seoul"})
    Campaign.objects.update(audience=nobody, updated_at=timezone.now())

    tasks.advance(run_id=run.pk)

    assert stored_forecast.load_course(run) is None


def test_of_two_who_are_asked_one_reckons(project: Project) -> None:
    make_people(project, 2)
    run = begun(make_run(project))
    Foreseen.objects.create(run=run, starts_at=timezone.now())

    stored_forecast.keep(run.pk, timezone.now())

    assert stored_forecast.load_course(run) is None, "the other is still at it"


def test_a_run_that_nobody_can_reckon_goes_on_without(
    project: Project, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("of nothing")

    make_people(project, 2)
    run = begun(make_run(project))
    monkeypatch.setattr(LaunchReport, "course_in", fails)

    tasks.advance(run_id=run.pk)

    assert stored_forecast.load_course(run) is None and "cannot be foreseen" in caplog.text
    monkeypatch.undo()
    tasks.advance(run_id=run.pk)
    assert stored_forecast.load_course(run) is None, "nobody tries again and again"
    begun(run)
    assert run.state == Run.State.SENDING


def test_a_run_is_foreseen_only_as_it_begins(project: Project) -> None:
    make_people(project, 2)
    run = control.launch(make_campaign(project), by="user:alice", now=timezone.now())
    stored_forecast.keep(run.pk, timezone.now())
    assert not Foreseen.objects.exists(), "it has not begun"
    begun(run)
    stored_forecast.keep(run.pk, timezone.now() + AT_LATEST)
    assert not Foreseen.objects.exists(), "others are in its audience by then"
    stored_forecast.keep(run.pk, timezone.now())
    assert Foreseen.objects.exists()


def test_a_rehearsal_is_not_foreseen(project: Project) -> None:
    make_people(project, 2)
    run = begun(ask(make_campaign(project)).run)
    stored_forecast.keep(run.pk, timezone.now())
    assert not Foreseen.objects.exists()


@given(
    st.lists(st.integers(0, 50), max_size=30), st.sampled_from([1, 2, 5, 60]),
    st.sampled_from([1, 2, 5, 15, 60, 600]),
)  # fmt: skip
def test_in_other_steps_as_many_left_by_each_moment(counts: list[int], step: int, to: int) -> None:
    found = stored_forecast.in_steps(counts, step, to)
    assert sum(found) == pytest.approx(sum(counts))
    assert (len(found) - 1) * to < len(counts) * step <= len(found) * to or not counts
    by = [0, *accumulate(counts)]
    for slot, left in enumerate(accumulate(found), start=1):
        whole, part = divmod(slot * to, step)
        if whole < len(counts):
            assert left == pytest.approx(by[whole] + counts[whole] * part / step)
