"""A run whose rules name a list that is gone: nobody is on it, so it would leave nobody out."""

from __future__ import annotations

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.audiences.audience import Audience
from campaigns.engine import engine
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.given.builders import make_audience, make_people, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def gone(project: Project) -> Audience:
    return make_audience(project, kind="list")


@pytest.fixture
def run(project: Project, gone: Audience) -> Run:
    make_people(project, 2)
    there = make_audience(project, kind="list")
    leaf = {"field": "list", "op": "not_in", "value": [gone.pk, there.pk]}
    audience = make_audience(project, rules={"all": [leaf]})
    return make_run(project, audience=audience, advanced=False)


def advanced(run: Run) -> engine.ReleasedWave | None:
    ring = engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    return ring


def test_a_run_whose_list_is_gone_reaches_nobody_and_asks_a_person_each_time(
    run: Run, gone: Audience
) -> None:
    Audience.objects.filter(pk=gone.pk).delete()
    for _ in range(2):
        assert advanced(run) is None
        assert (run.state, run.cause, run.planned) == ("paused", "broken", None)
        assert (run.detail_code, run.detail_args) == ("list_gone", {"lists": [gone.pk]})
        control.resume(run, by="user:alice")
    control.cancel(run, by="user:alice")
    advanced(run)
    assert run.finished_at is not None
    assert not Recipient.objects.filter(run_id=run.pk).exists()


def test_a_list_that_is_there_holds_nothing_up(run: Run) -> None:
    assert advanced(run) is not None
    assert (run.state, run.planned) == ("sending", 2)
