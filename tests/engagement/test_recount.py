"""Once a day the sums of a run are counted again from its rows, and put right where they differ."""

from __future__ import annotations

import logging
from datetime import timedelta
from random import Random

import pytest
from django.db import connection
from django.db.models import F
from django.utils import timezone

from campaigns import tasks
from campaigns.engagement import recounting
from campaigns.engagement.goal import Conversion, GoalSum, Touch
from campaigns.engagement.receipt import EchoSum, Event
from campaigns.engagement.recount import Recount, differences_lately
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.engagement.reached import does, make_goal, minute, reached, tells
from tests.given.builders import make_contact, make_device, make_people, make_project, make_run
from tests.given.runs import cancelled, some

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shop(transactional_db: None) -> Project:
    return make_project()


@pytest.fixture
def ada(shop: Project) -> Contact:
    ada = make_contact(shop, external_id="ada")
    make_device(ada)
    return ada


def quiet() -> None:
    """No campaign is being sent."""
    Run.every.update(state="cancelled", finished_at=timezone.now())


def sums() -> list[list[tuple[object, ...]]]:
    return [sorted(model.objects.values_list(*names)) for model, names in (
        (EchoSum, ("run_id", "by", "value", "event", "count", "first")),
        (GoalSum, ("run_id", "by", "value", "recipients", "times", "amount")),
    )]  # fmt: skip


def recount(run: Run) -> int | None:
    return recounting.recount(Run.every.get(pk=run.pk), now=timezone.now())


@pytest.mark.parametrize("seed", range(4))
def test_sums_that_moved_with_their_rows_are_right(shop: Project, seed: int) -> None:
    """Of receipts in any order, of devices known before and since."""
    dice = Random(seed)
    make_people(shop, 30)
    runs = [make_goal(shop) for _ in range(2)]
    people = list(Contact.objects.filter(project=shop))
    for _ in range(4):
        for run in runs:
            some(dice, run)
            does(dice.choice(people), 601 + dice.randrange(20), price=dice.randrange(5))
    quiet()
    before = sums()
    assert [recount(run) for run in runs] == [0, 0]
    assert sums() == before


def test_a_sum_that_was_changed_is_put_right_and_said(
    shop: Project, ada: Contact, caplog: pytest.LogCaptureFixture
) -> None:
    run = make_goal(shop)
    tells(run, 10)
    does(ada, 20, price=5)
    quiet()
    right = sums()
    EchoSum.objects.filter(run_id=run.pk, by="").update(count=7)
    EchoSum.objects.filter(run_id=run.pk, by="platform").delete()
    GoalSum.objects.filter(run_id=run.pk, by="").update(amount=F("amount") + 1)
    EchoSum.objects.create(
        run_id=run.pk, by="locale", value="xx", event=Event.OPENED, count=1, first=0
    )
    with caplog.at_level(logging.ERROR, "campaigns.engagement.recounting"):
        assert recount(run) == 4
    assert f"run={run.pk} differences=4 were put right" in caplog.text
    EchoSum.objects.filter(value="xx", count=0).delete()
    assert sums() == right
    kept = Recount.objects.get(pk=run.pk)
    assert (kept.differences, kept.whole, len(kept.detail)) == (4, True, 4)
    assert differences_lately(timezone.now()) == 4
    assert differences_lately(timezone.now() + timedelta(days=1)) == 0


def test_what_moved_while_it_was_counted_is_not_lost(
    shop: Project, ada: Contact, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_device(ada)
    run = make_goal(shop)
    tells(run, 10)
    quiet()
    EchoSum.objects.filter(run_id=run.pk, by="").update(count=7)
    monkeypatch.setattr(recounting, "hit", lambda _: tells(run, 11, seq=2))
    assert recount(run) == 1
    assert EchoSum.objects.get(run_id=run.pk, by="").count == 2


def test_of_two_who_count_the_same_one_puts_it_right(
    shop: Project, ada: Contact, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_goal(shop)
    tells(run, 10)
    quiet()
    EchoSum.objects.filter(run_id=run.pk, by="").update(count=7)

    def another(_: str) -> None:
        monkeypatch.setattr(recounting, "hit", lambda _: None)
        assert recount(run) == 1

    monkeypatch.setattr(recounting, "hit", another)
    assert recount(run) is None
    assert EchoSum.objects.get(run_id=run.pk, by="").count == 1


def test_receipts_and_events_without_touches_are_counted_for_the_goal(
    shop: Project, ada: Contact
) -> None:
    run = make_goal(shop)
    tells(run, 10)
    does(ada, 20, price=5)
    quiet()
    for model in (Touch, Conversion, GoalSum):
        model.objects.all().delete()
    assert recount(run)
    assert reached(run) == (1, 1, 5)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO notifications_event (project_id, contact_id, at, name, properties)"
            " VALUES (%s, %s, %s, 'bought', '{\"price\": 7}')",
            [shop.pk, ada.pk, minute(21)],
        )
    assert recount(run)
    assert reached(run) == (1, 2, 12)


def test_it_gives_way_to_a_campaign_that_is_sent(shop: Project, ada: Contact) -> None:
    run = make_goal(shop)
    tells(run, 10)
    assert Run.objects.get(pk=run.pk).state == Run.State.SENDING
    assert recount(run) is None
    assert not Recount.objects.exists()


def test_a_run_that_takes_too_long_is_left_for_another_day(
    shop: Project, ada: Contact, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_goal(shop)
    tells(run, 10)
    quiet()
    monkeypatch.setattr(recounting, "MAX_SECONDS", -1.0)
    EchoSum.objects.filter(run_id=run.pk, by="").update(count=7)
    assert recount(run) == 0
    assert not Recount.objects.get(pk=run.pk).whole
    assert not recounting.due(timezone.now()).exists()


def test_runs_of_the_last_days_are_due_once_a_day(shop: Project, ada: Contact) -> None:
    run, silent, old = make_goal(shop), make_run(shop), make_goal(shop)
    for each in (run, old):
        tells(each, 10)
    long_ago = timezone.now() - timedelta(days=30)
    Run.objects.filter(pk=old.pk).update(started_at=long_ago, launched_at=long_ago)
    quiet()
    assert list(recounting.due(timezone.now())) == [run] and silent != run
    assert recount(run) == 0
    assert not recounting.due(timezone.now()).exists()
    assert list(recounting.due(timezone.now() + timedelta(days=1))) == [run]


def test_a_run_whose_recipients_were_forgotten_keeps_its_sums(shop: Project) -> None:
    run = cancelled(shop)
    tells(run, 10)
    Run.objects.filter(pk=run.pk).update(forgotten_at=timezone.now())
    assert not recounting.due(timezone.now()).exists()


def test_beats_other_tick_has_them_counted(
    shop: Project, ada: Contact, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [make_goal(shop) for _ in range(2)]
    for run in runs:
        tells(run, 10)
    quiet()
    monkeypatch.setattr(tasks.recount_echo, "apply_async", lambda **_: tasks.recount_echo())
    tasks.tidy()
    assert Recount.objects.count() == 2
