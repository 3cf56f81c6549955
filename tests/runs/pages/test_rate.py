"""A run's rate, changed while it sends."""

from __future__ import annotations

import pytest
from django.urls import reverse

from campaigns import control
from campaigns.runs.claiming import claim
from campaigns.runs.run import Run
from campaigns.sending.sending import Sending
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk, messages_of, text_of
from tests.given.builders import make_people, make_run

pytestmark = pytest.mark.django_db


def test_the_rate_of_a_running_run_is_changed_and_who_did_it_is_kept(
    desk: Desk, project: Project
) -> None:
    make_people(project, 2)
    run = make_run(project, rate_per_second=50)
    assert "It may send 50 a second now" in desk.open("campaigns_run_change_rate", run.pk)
    reply = desk.confirm("campaigns_run_change_rate", run.pk, rate="1200")
    assert "The rate of run" in messages_of(reply)[-1]
    assert Run.objects.get(pk=run.pk).rate_per_second == 1_200
    entry = AuditEntry.objects.get(action="changed the rate of")
    assert entry.changes == {"rate_per_second": [50, 1_200]}
    text = desk.open("campaigns_run_change", run.pk)
    assert "changed the rate of it: 50 → 1,200" in text
    assert "At most, per second 1,200 (50 at the launch)" in text
    desk.confirm("campaigns_run_change_rate", run.pk, rate="")
    assert Run.objects.get(pk=run.pk).rate_per_second is None
    text = desk.open("campaigns_run_change", run.pk)
    assert "At most, per second – (50 at the launch)" in text
    desk.confirm("campaigns_run_change_rate", run.pk, rate="50")
    assert "At most, per second 50 " in (text := desk.open("campaigns_run_change", run.pk))
    assert "at the launch)" not in text


@pytest.mark.parametrize("rate", ["0", "-1", "many", "100001", "1.5"])
def test_a_rate_that_is_none_is_refused_in_the_dialog(
    desk: Desk, project: Project, rate: str
) -> None:
    make_people(project, 1)
    run = make_run(project, rate_per_second=50)
    desk.confirm("campaigns_run_change_rate", run.pk, rate=rate)
    assert Run.objects.get(pk=run.pk).rate_per_second == 50
    assert not AuditEntry.objects.filter(action="changed the rate of").exists()


def test_a_run_that_has_ended_has_no_rate_to_change(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    run.cancel()
    reply = desk.confirm("campaigns_run_change_rate", run.pk, rate="5")
    assert "A cancelled run cannot change its rate." in text_of(reply)
    url = reverse("admin:campaigns_run_change", args=[run.pk])
    assert b"verb-change_rate" not in desk.client.get(url).content


def test_a_worker_in_the_middle_of_a_chunk_takes_the_new_rate_up(project: Project) -> None:
    make_people(project, 3)
    run = make_run(project, rate_per_second=5)
    granted = claim(run.pk, 1, run.epoch, task_id=None)
    assert granted
    sending = Sending(granted)
    control.change_rate(run, 700, by="user:ada")
    sending.looked_at = 0.0
    sending._renew_when_due()
    assert sending.gate.rate == 700
