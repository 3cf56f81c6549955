"""What rules still ask about is not removed, and what is gone never counts as everybody."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import ProtectedError
from django.utils import timezone

from campaigns.audiences import reach
from campaigns.audiences.audience import Audience, Member
from campaigns.audiences.lists import filling
from campaigns.engine import engine, retaining
from campaigns.engine.forgetting import forget
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from notifications.people import retention
from notifications.people.events import clearing, writing
from notifications.people.project import Project
from tests.given.builders import make_audience, make_contact, make_people, make_project, make_run

pytestmark = pytest.mark.django_db(transaction=True)
LONG_AGO = timedelta(days=10)


@pytest.fixture
def run(project: Project) -> Run:
    """Two people were reached by it, ten days ago."""
    make_people(project, 2)
    run = make_run(project, rate_per_second=50)
    for seq in (1, 2):
        Delivery.objects.create(
            run_id=run.pk, seq=seq, device_id=1, status="accepted", reason="", attempt=1,
            at=timezone.now(),
        )  # fmt: skip
    run.chunks.update(accepted=2, state=Chunk.State.CLOSED)
    engine.advance(run.pk, now=timezone.now())
    then = timezone.now() - LONG_AGO
    Run.objects.filter(pk=run.pk).update(started_at=then, finished_at=then)
    run.refresh_from_db()
    return run


def asking(op: str = "was_not", **which: Any) -> dict[str, Any]:
    return {"field": "run", "op": op, "value": {"outcome": "accepted", **which}}


def tidied(run: Run) -> Run:
    retention.change(run.project, "ledger", 7)
    assert not retaining.delete_expired(now=timezone.now())
    run.refresh_from_db()
    return run


@pytest.mark.parametrize("which", ["last", "last of campaign", "campaign within"])
def test_a_run_that_a_rule_means_is_not_forgotten(run: Run, which: str) -> None:
    of = {"campaign": run.campaign_id}
    meant: dict[str, dict[str, Any]] = {
        "last": {"run": "last"},
        "last of campaign": {"run": "last", **of},
    }
    tree = asking(**meant.get(which, {**of, "within": "P30D"}))
    make_audience(run.project, rules=tree)
    assert tidied(run).forgotten_at is None
    assert reach.count(run.project_id, tree).people == 0


def test_a_run_that_a_rule_names_is_not_forgotten_by_hand(run: Run) -> None:
    make_audience(run.project, rules=asking(run=run.pk))
    with pytest.raises(Run.InvalidMove):
        forget(run, by="user:alice", now=timezone.now())


def test_a_rule_that_leaves_out_by_a_forgotten_run_is_refused(run: Run) -> None:
    assert tidied(run).forgotten_at
    for tree in (asking(run="last"), {"not": asking("was", campaign=run.campaign_id)}):
        with pytest.raises(ValidationError, match="were removed"):
            reach.count(run.project_id, tree)


@pytest.mark.parametrize(("op", "people"), [("was", 2), ("was_not", 0)])
def test_a_list_being_filled_keeps_the_run_it_asks_about(run: Run, op: str, people: int) -> None:
    filled = filling.begin(run.project_id, "new", asking(op, run="last"))
    assert tidied(run).forgotten_at is None
    assert not filling.work(filled.pk, seconds=5)
    assert filled.members.count() == people


def test_a_list_being_filled_keeps_the_lists_it_asks_about(project: Project) -> None:
    never = make_audience(project, kind="list", name="never")
    for device in make_people(project, 2):
        Member.objects.create(audience=never, contact_id=device.contact_id)
    tree = {"field": "list", "op": "ne", "value": never.pk}
    filled = filling.begin(project.pk, "new", tree)
    with pytest.raises(ProtectedError):
        never.delete()
    Audience.objects.filter(pk=never.pk).delete()  # past all guards
    filling.work(filled.pk, seconds=5)
    filled.refresh_from_db()
    assert filled.filling is not None and not filled.members.exists()


@pytest.mark.parametrize("meanwhile", ["a new project", "a longer time"])
def test_a_month_that_a_project_has_come_to_keep_is_not_dropped(
    project: Project, meanwhile: str
) -> None:
    old = timezone.now() - timedelta(days=70)
    retention.change(project, "events", None)
    writing.write(project.pk, [writing.Event(make_contact(project).external_id, "x", old)])
    retention.change(project, "events", 7)
    ends = retention.ends_of_life("events", now=timezone.now())
    keeper = make_project() if meanwhile == "a new project" else project
    retention.change(keeper, "events", 401)
    writing.write(
        keeper.pk, [writing.Event(make_contact(keeper, external_id="k").external_id, "x", old)]
    )
    list(clearing.remove(ends))
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM notifications_event WHERE project_id = %s", [keeper.pk])
        assert cursor.rowcount


def test_a_second_tidy_leaves_the_work_to_the_first(run: Run) -> None:
    retention.change(run.project, "ledger", 7)

    def second() -> bool:
        try:
            return retaining.delete_expired(now=timezone.now())
        finally:
            connection.close()

    with retaining._alone(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(second).result(10) is False
    run.refresh_from_db()
    assert run.forgotten_at is None


def test_a_month_events_are_just_written_into_is_not_dropped(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = timezone.now() - timedelta(days=70)
    person = make_contact(project)
    writing.write(project.pk, [writing.Event(person.external_id, "x", old)])
    retention.change(project, "events", 7)
    ends = retention.ends_of_life("events", now=timezone.now())
    people = writing._people

    def cleared() -> None:
        try:
            list(clearing.remove(ends))
        finally:
            connection.close()

    def late(*asked: Any) -> dict[str, int]:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(cleared).result(10)
        return people(*asked)

    monkeypatch.setattr(writing, "_people", late)
    assert not writing.write(project.pk, [writing.Event(person.external_id, "y", old)])
