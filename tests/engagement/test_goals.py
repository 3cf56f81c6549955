"""Goals: an event after a push counts for the last run that its person opened, once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from random import Random

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns.engagement.goal import Conversion, GoalSum, Touch
from campaigns.engagement.receipt import Event, Receipt, Report
from campaigns.engagement.store_receipts import keep
from campaigns.engine import forgetting
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.events import writing
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.engagement.reached import (
    Reached,
    by_rows,
    does,
    make_goal,
    minute,
    reached,
    summed,
    tells,
)
from tests.given.at_once import at_once
from tests.given.builders import make_contact, make_device, make_people, make_project, make_run
from tests.given.runs import cancelled

CUTS = ("", "platform", "locale", "timezone", "app_version", "after")
NONE, ONE = (0, 0, 0), (1, 1, 5)


@pytest.fixture
def shop(db: None) -> Project:
    return make_project(asks_receipts=True)


@pytest.fixture
def ada(shop: Project) -> Contact:
    """With one phone."""
    ada = make_contact(shop, external_id="ada")
    make_device(ada, platform="ios")
    return ada


def test_an_event_after_opening_counts_with_its_value(shop: Project, ada: Contact) -> None:
    run = make_goal(shop)
    tells(run, 10)
    call = Caller(shop)
    for price in (5, 7.25):
        event = {"contact": "ada", "name": "bought", "at": minute(20).isoformat(),
                 "properties": {"price": price}}  # fmt: skip
        assert call.post("events", {"events": [event]}).status_code == 200
    (whole,) = GoalSum.objects.filter(run_id=run.pk, by="")
    assert (whole.recipients, whole.times, float(whole.amount)) == (1, 2, 12.25)
    assert set(summed(run, "platform")) == {"ios"}
    assert set(summed(run, "after")) == {"2"}


@pytest.mark.parametrize(
    ("at", "name", "counted"),
    [
        (10, "bought", ONE),  # at the very moment
        (69.99, "bought", ONE),
        (70, "bought", NONE),  # an hour later
        (9, "bought", NONE),  # before
        (20, "sold", NONE),
    ],
)
def test_only_the_goals_event_counts_and_only_within_its_time(
    shop: Project, ada: Contact, at: float, name: str, counted: tuple[int, int, int]
) -> None:
    for receipt_first in (True, False):
        run = make_goal(shop)
        if receipt_first:
            tells(run, 10)
        does(ada, at, name, price=5)
        if not receipt_first:
            tells(run, 10)
        assert reached(run) == counted
        Run.objects.filter(pk=run.pk).update(goal_event="")


def test_what_another_person_did_does_not_count(shop: Project, ada: Contact) -> None:
    run = make_goal(shop)
    tells(run, 10)
    does(make_contact(shop), 20, price=5)
    assert reached(run) == NONE


@pytest.mark.parametrize("event", list(Event))
def test_a_goal_of_receiving_counts_whatever_the_phone_tells(
    shop: Project, ada: Contact, event: Event
) -> None:
    run = make_goal(shop, goal_after="received")
    tells(run, 10, event)
    does(ada, 20, price=5)
    assert reached(run) == ONE
    funnel_of = Caller(shop).get(f"runs/{run.pk}/funnel").json()
    assert funnel_of["goal"]["count"] == 1


def test_a_goal_of_receiving_counts_from_the_earliest_report_whichever_comes_first(
    shop: Project, ada: Contact
) -> None:
    spring = make_goal(shop, goal_after="received")
    early = make_goal(shop, goal_within_seconds=86_400)
    tells(early, 1)
    tells(spring, 60, Event.OPENED)
    for at in (20, 70, 110):  # an hour after 10, not; an hour after 60, yes
        does(ada, at, price=5)
    assert (reached(spring), reached(early)) == ((1, 2, 10), ONE)
    tells(spring, 10, Event.RECEIVED)
    assert (reached(spring), reached(early)) == (ONE, (1, 2, 10))


def test_what_no_longer_is_within_the_time_counts_for_nobody(shop: Project, ada: Contact) -> None:
    run = make_goal(shop, goal_after="received")
    tells(run, 60, Event.OPENED)
    does(ada, 110, price=5)
    assert reached(run) == ONE
    tells(run, 10, Event.RECEIVED)
    assert reached(run) == NONE
    agree([run])


def test_an_event_counts_for_the_last_run_opened_before_it(shop: Project, ada: Contact) -> None:
    spring, summer = make_goal(shop), make_goal(shop)
    tells(spring, 10)
    tells(summer, 30)
    does(ada, 20, price=5)
    does(ada, 40, price=7)
    assert (reached(spring), reached(summer)) == ((1, 1, 5), (1, 1, 7))


def test_a_run_with_another_goal_or_whose_time_has_passed_is_not_the_last(
    shop: Project, ada: Contact
) -> None:
    wide, short = make_goal(shop), make_goal(shop, goal_within_seconds=60)
    other, none = make_goal(shop, "signed_up"), make_goal(shop, "")
    tells(wide, 10)
    for run in (short, other, none):
        tells(run, 20)
    does(ada, 30, price=5)
    assert reached(wide) == ONE


def test_a_receipt_that_comes_late_takes_the_event_over(shop: Project, ada: Contact) -> None:
    spring, summer = make_goal(shop), make_goal(shop, goal_value="count")
    tells(spring, 10)
    does(ada, 40, price=5, count=2)
    assert reached(spring) == ONE
    tells(summer, 30)
    assert (reached(spring), reached(summer)) == (NONE, (1, 1, 2))


def test_a_clock_that_cannot_be_right_is_not_reckoned_by(shop: Project, ada: Contact) -> None:
    early, late = make_goal(shop), make_goal(shop, "sold")
    tells(early, -60 * 24 * 365)
    tells(late, 60 * 24 * 365)
    tells(make_goal(shop, "met"), None)
    heard = Receipt.objects.values_list("run_id", "at")
    assert set(Touch.objects.values_list("run_id", "at")) == set(heard)


def test_an_event_that_is_sent_again_counts_once(shop: Project, ada: Contact) -> None:
    run = make_goal(shop)
    tells(run, 10)
    for _ in range(3):
        does(ada, 20, price=5)
    event = writing.Event("ada", "bought", minute(20), {"price": 5})
    writing.write(shop.pk, [event, event])
    tells(run, 10)
    assert reached(run) == ONE
    does(ada, 20, price=6)
    assert reached(run) == (1, 2, 11), "two things in one moment are two"


@pytest.mark.parametrize("value", ["5", None, True, [5], {"of": 5}, 1e15, -1e15])
def test_what_is_no_number_has_no_value(shop: Project, ada: Contact, value: object) -> None:
    run = make_goal(shop)
    tells(run, 10)
    does(ada, 20, price=value)
    does(ada, 21)
    assert reached(run) == (1, 2, 0)


def test_a_person_with_two_phones_counts_by_the_one_they_opened_last(shop: Project) -> None:
    bob = make_contact(shop)
    for platform in ("ios", "web"):
        make_device(bob, platform=platform)
    run = make_goal(shop)
    seq_of = dict(Recipient.objects.filter(run_id=run.pk).values_list("platform", "seq"))
    tells(run, 10, seq=seq_of["ios"])
    tells(run, 20, seq=seq_of["web"])
    does(bob, 30, price=5)
    assert summed(run, "platform") == {"web": Reached(1, 1, summed(run)[""].amount)}


def test_an_event_nobody_listens_to_costs_one_short_question(shop: Project, ada: Contact) -> None:
    run = make_goal(shop)
    tells(run, 10)
    with CaptureQueriesContext(connection) as asked:
        does(ada, 20, "opened_app")
    ours = [one["sql"] for one in asked if "goal" in one["sql"] or "touch" in one["sql"]]
    assert len(ours) == 1


def test_a_goal_of_another_project_hears_nothing(shop: Project, ada: Contact) -> None:
    other = make_project()
    bob = make_contact(other)
    run = make_goal(shop)
    tells(run, 10)
    does(bob, 20, price=5)
    assert reached(run) == NONE


def test_forgetting_a_run_forgets_who_reached_its_goal_and_keeps_the_sums(
    shop: Project, ada: Contact
) -> None:
    run = cancelled(shop)
    Run.objects.filter(pk=run.pk).update(goal_event="bought", started_at=minute(0))
    tells(run, 10)
    does(ada, 20)
    forgetting.forget(run, by="test", now=timezone.now() + timedelta(days=1))
    assert not Touch.objects.exists() and not Conversion.objects.exists()
    assert reached(run) == (1, 1, 0)


def test_old_events_that_are_removed_leave_what_they_counted_for(
    shop: Project, ada: Contact
) -> None:
    run = make_goal(shop)
    tells(run, 10)
    does(ada, 20, price=5)
    ada.delete()
    assert reached(run) == ONE


def test_the_next_run_of_a_series_has_the_goal(shop: Project, ada: Contact) -> None:
    run = make_run(shop, goal_event="bought", goal_after="received", goal_value="price")
    frozen = (run.goal_event, run.goal_after, run.goal_value, run.goal_within_seconds)
    assert frozen == ("bought", "received", "price", 86_400)


# --- In any order ---------------------------------------------------------------------------------

MINUTES = st.integers(0, 90)
DOING = st.tuples(st.just("does"), st.integers(0, 2), MINUTES, st.sampled_from(["bought", "sold"]),
                  st.integers(0, 3))  # fmt: skip
TELLING = st.tuples(st.just("tells"), st.integers(0, 3), MINUTES, st.integers(1, 4),
                    st.sampled_from([Event.RECEIVED, Event.OPENED, Event.DISMISSED]))  # fmt: skip
GOALS = (
    {"event": "bought"},
    {"event": "bought", "goal_within_seconds": 1_200},
    {"event": "bought", "goal_after": "received"},
    {"event": "sold", "goal_within_seconds": 86_400},
)


Fair = tuple[list[Contact], list[Run]]


def market(project: Project) -> Fair:
    """Three people with four phones, and four runs."""
    people = [make_contact(project, locale=locale) for locale in ("en", "ko", "de")]
    for person, platform in zip([*people, people[0]], ("ios", "web", "web", "web"), strict=True):
        make_device(person, platform=platform)
    return people, [make_goal(project, **goal) for goal in GOALS]


@pytest.fixture
def fair(db: None) -> Fair:
    return market(make_project())


def act(people: list[Contact], runs: list[Run], step: tuple[object, ...]) -> None:
    match step:
        case "does", int(who), int(at), str(name), int(price):
            does(people[who], at, name, **({"price": price} if price else {}))
        case "tells", int(run), int(at), int(seq), int(event):
            tells(runs[run], at, Event(event), seq)


def agree(runs: list[Run]) -> None:
    for run in runs:
        for by in CUTS:
            assert summed(run, by) == by_rows(run, by), (run.pk, by)


@given(story=st.lists(st.one_of(DOING, TELLING), max_size=14), dice=st.randoms())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_sums_are_those_of_the_rows_whatever_the_order(
    fair: Fair, story: list[tuple[object, ...]], dice: Random
) -> None:
    """And twice: in another order, with some of it told again, the same comes out."""
    people, runs = fair
    with transaction.atomic():
        for step in story:
            act(people, runs, step)
        agree(runs)
        again = [*story, *story[: len(story) // 2]]
        dice.shuffle(again)
        for step in again:
            act(people, runs, step)
        agree(runs)
        transaction.set_rollback(True)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", range(3))
def test_the_sums_are_those_of_the_rows_when_many_write_at_once(seed: int) -> None:
    dice = Random(seed)
    project = make_project()
    people, runs = market(project)
    told = [("tells", run, at, seq, event) for run in range(4) for seq in range(1, 5)
            for event in (Event.RECEIVED, Event.OPENED) for at in [dice.randrange(90)]]  # fmt: skip
    done = [("does", dice.randrange(3), dice.randrange(90), dice.choice(("bought", "sold")),
             dice.randrange(4)) for _ in range(40)]  # fmt: skip
    story = [*told, *done, *dice.sample(done, 20)]
    dice.shuffle(story)

    def work(part: int) -> None:
        try:
            for step in story[part::6]:
                act(people, runs, step)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert any(reached(run) != NONE for run in runs)
    agree(runs)


@pytest.mark.django_db(transaction=True)
def test_an_event_and_a_receipt_that_are_kept_at_once_do_not_overlook_each_other() -> None:
    project = make_project()
    (device,) = make_people(project, 1)
    run = make_goal(project)
    bought = writing.Event(device.contact.external_id, "bought", minute(20), {"price": 5})
    opened = Report(run.pk, 1, Event.OPENED, minute(10))
    at_once(first=lambda: writing.write(project.pk, [bought]), second=lambda: keep([opened]))
    assert reached(run) == ONE

    summer = make_goal(project)
    later = writing.Event(device.contact.external_id, "bought", minute(40), {"price": 5})
    at_once(
        first=lambda: keep([Report(summer.pk, 1, Event.OPENED, minute(30))]),
        second=lambda: writing.write(project.pk, [later]),
    )
    assert reached(summer) == ONE
