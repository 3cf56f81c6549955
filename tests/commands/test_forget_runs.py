"""Old runs: who got them is removed at once, what came of them stays on every page."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine, forgetting
from campaigns.results import reports
from campaigns.runs import sums
from campaigns.runs.ledger import Delivery, Recipient, Window
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.given.builders import make_people, make_project, make_run
from tests.roles.people import logged_in
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db
TOMORROW = timezone.now() + timedelta(days=1)


def said(*arguments: str) -> str:
    out = StringIO()
    call_command("forget_runs", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def old(project: Project, fcm: Fcm) -> Run:
    make_people(project, ["dead-1:x", "", ""])
    run = make_run(project, name="Spring")
    sending.send(run.pk, 1, run.epoch)
    engine.advance(run.pk, now=timezone.now())
    Run.objects.update(finished_at=timezone.now() - timedelta(days=400))
    run.refresh_from_db()
    assert run.state == "finished"
    return run


def a_year_ago() -> str:
    return f"{timezone.now() - timedelta(days=365):%Y-%m-%d}"


def test_the_rows_go_and_totals_reasons_and_chunks_stay(old: Run) -> None:
    before = sums.totals_of(old)

    assert "Spring" in (words := said("--finished-before", a_year_ago()))

    assert "3 recipients" in words and "1 runs forgotten." in words
    assert not Recipient.objects.filter(run_id=old.pk).exists()
    assert not Delivery.objects.filter(run_id=old.pk).exists()
    assert not Window.objects.filter(run=old).exists()
    assert f"campaigns_delivery_run_{old.pk}" not in connection.introspection.table_names()
    assert sums.totals_of(old) == before
    assert reports.reasons_of(old) == {"unregistered": 1}
    assert AuditEntry.objects.get(action="removed the recipients of").subject_id == old.pk


def test_its_pages_and_its_report_say_so(old: Run) -> None:
    said("--finished-before", a_year_ago())
    desk = Desk(logged_in(Role.VIEWER))

    assert "recipients of this run were removed on" in desk.open("run_deliveries", old.pk)
    assert "2 accepted" in desk.open("campaigns_run_change", old.pk)
    out = StringIO()
    call_command("report", str(old.pk), stdout=out)
    assert "Its rows were removed on" in out.getvalue()


def test_a_look_first_removes_nothing(old: Run) -> None:
    assert "1 runs would be forgotten." in said("--finished-before", a_year_ago(), "--dry-run")
    assert Delivery.objects.filter(run_id=old.pk).count() == 3


def test_younger_runs_other_projects_and_unfinished_ones_keep_their_rows(
    old: Run, project: Project
) -> None:
    running = make_run(project)
    other = make_project()
    assert "0 runs" in said("--finished-before", a_year_ago(), "--project", other.slug)
    Run.objects.filter(pk=old.pk).update(finished_at=timezone.now() - timedelta(days=300))
    assert "0 runs" in said("--finished-before", a_year_ago())
    with pytest.raises(Run.InvalidMove):
        forgetting.forget(running, by="user:alice", now=timezone.now())
    assert Recipient.objects.filter(run_id=running.pk).exists()


def test_nobody_is_forgotten_or_sent_to_twice(old: Run) -> None:
    said("--finished-before", a_year_ago())
    assert "0 runs" in said("--finished-before", a_year_ago())
    old.refresh_from_db()
    with pytest.raises(Run.InvalidMove, match="cannot be sent to again"):
        control.send_again(old, by="user:alice")


@pytest.mark.parametrize("day", [f"{TOMORROW + timedelta(days=1):%Y-%m-%d}", "yesterday"])
def test_a_day_that_makes_no_sense_is_refused(day: str) -> None:
    with pytest.raises(CommandError, match="finished-before"):
        said("--finished-before", day)
