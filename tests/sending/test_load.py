"""Runs of campaigns send as fast as the project's own servers can bear, as these say themselves."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns import control, tasks
from campaigns.engine import engine, load
from campaigns.runs.claiming import claim
from campaigns.runs.run import Run
from campaigns.sending.sending import Sending
from notifications.pacing.load import Load
from notifications.people.project import Project
from notifications.task_queue import enqueue_on_commit
from tests.given.builders import make_campaign, make_people, make_run
from tests.given.load_reports import AT_THE_FLOOR, a_second
from tests.given.waiting import eventually
from tests.rehearsals.shared import ask
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers


def at_work(run: Run) -> Sending:
    granted = claim(run.pk, 1, run.epoch, task_id=None)
    assert granted
    return Sending(granted)


@pytest.mark.django_db
def test_a_worker_in_the_middle_of_a_chunk_takes_each_report_up(project: Project) -> None:
    make_people(project, 3)
    load.reported(project, 1)
    sending = at_work(make_run(project, rate_per_second=110))
    assert (sending.gate.rate, sending.gate.safe) == (110, 10)
    load.reported(project, 0.5)
    sending.looked_at = 0.0
    sending._renew_when_due()
    assert (sending.gate.rate, sending.gate.safe) == (110, 60)
    Load.objects.update(reported_at=timezone.now() - timedelta(minutes=1))
    control.ignore_load(sending.run, by="user:ada")
    sending.looked_at = 0.0
    sending._renew_when_due()
    assert (sending.gate.rate, sending.gate.safe) == (110, None)


@pytest.mark.django_db
def test_a_rehearsal_rings_nobody_and_goes_on(project: Project) -> None:
    make_people(project, 3)
    load.reported(project, 1)
    run = ask(make_campaign(project)).run
    ring = engine.advance(run.pk, now=timezone.now())
    assert ring
    run.refresh_from_db()
    sending = at_work(run)
    sending.looked_at = 0.0
    sending._renew_when_due()
    assert sending.gate.safe is None


@pytest.mark.django_db(transaction=True)
def test_the_rate_at_fcm_follows_each_report(
    transactional_db: None, project: Project, fcm: Fcm, beat: Workers
) -> None:
    """Down to the floor, where it stays while nobody reports, and up again. How soon is measured,
    and not tested: `make bench`."""
    make_people(project, 9_000)
    run = control.launch(
        make_campaign(project, rate_per_second=400), by="user:alice", now=timezone.now()
    )
    enqueue_on_commit(tasks.advance, run_id=run.pk)
    eventually("it sends", lambda: fcm.counts()["accepted"] > 400)
    load.reported(project, 1)
    eventually("it keeps to the floor", lambda: a_second(fcm) <= AT_THE_FLOOR)
    Load.objects.update(reported_at=timezone.now() - timedelta(minutes=1))
    assert 0 < a_second(fcm) <= AT_THE_FLOOR, "silent reporter or not"
    load.reported(project, 0)
    eventually("it sends as planned", lambda: a_second(fcm) > 2 * AT_THE_FLOOR)
    control.cancel(Run.objects.get(pk=run.pk), by="user:alice")
