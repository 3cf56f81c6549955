"""The last runs on the overview: opened, of those who can tell, and nothing where nobody can."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from campaigns.engagement.funnel import opened
from campaigns.engagement.receipt import Event, Report
from campaigns.engagement.store_receipts import keep
from campaigns.runs.run import Run
from campaigns.runs.sums import Breakdown
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_people, make_run
from tests.given.runs import ended

pytestmark = pytest.mark.django_db


@pytest.fixture
def asking(project: Project) -> Project:
    Project.objects.update(asks_receipts=True)
    project.refresh_from_db()
    return project


def tell(run: Run, event: Event, *seqs: int) -> None:
    keep(Report(run.pk, seq, event, None) for seq in seqs)


def test_opened_is_a_share_of_those_who_can_tell(desk: Desk, asking: Project) -> None:
    make_people(asking, 10)
    run = ended(make_run(asking))
    tell(run, Event.RECEIVED, 1, 2, 3, 4)
    tell(run, Event.OPENED, 1)
    assert "10 of 10 25 % of 4 who can tell" in desk.open("index")


def test_where_nobody_can_tell_there_is_no_number(desk: Desk, asking: Project) -> None:
    make_people(asking, 10)
    ended(make_run(asking))
    assert "10 of 10 — Opened: of the devices whose app reports" in desk.open("index")


def test_while_it_is_counted_who_can_tell_there_is_no_share(asking: Project) -> None:
    make_people(asking, 4)
    run = ended(make_run(asking))
    tell(run, Event.OPENED, 1, 2)
    assert opened([run])[run.pk].share == "100"
    Breakdown.objects.update(counted_through=0)
    assert opened([run])[run.pk].share == ""


def test_many_runs_take_no_more_statements_than_one(asking: Project) -> None:
    make_people(asking, 2)
    runs = [ended(make_run(asking)) for _ in range(4)]
    for run in runs:
        tell(run, Event.OPENED, 1)
    asked = []
    for some in (runs[:1], runs):
        with CaptureQueriesContext(connection) as found:
            assert {told.count for told in opened(some).values()} == {1}
        asked.append(len(found))
    assert asked == [2, 2]
