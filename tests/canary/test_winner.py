"""The first part tries the variants, and the rest gets the one that did best."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from http import HTTPStatus
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from campaigns import control
from campaigns.canary import winner as choosing
from campaigns.canary.first_part import FirstPart
from campaigns.canary.winner import Tried, best, find_winner
from campaigns.engagement import by_group, certainty
from campaigns.engagement.receipt import Event, Report
from campaigns.engagement.store_receipts import keep
from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.planning.pages.form import CampaignForm
from campaigns.results.variants import compared
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from campaigns.runs.variants.group import REST
from notifications.people.contact import Contact
from notifications.people.events import writing
from notifications.people.project import Project
from notifications.people.retention import Retention
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk
from tests.api.caller import Caller, fields_at_fault
from tests.given.at_once import at_once
from tests.given.builders import addresses, make_campaign, make_people
from tests.given.by_hand import work
from tests.servers.fcm import Fcm
from tests.variants.shared import CONTROL, TITLES, counts, groups_by_seq, make_split, titles_read

PEOPLE, FIRST = 400, 100
WAIT = timedelta(minutes=15)


def make_trial(project: Project, **values: Any) -> Campaign:
    """A quarter of them tries two texts."""
    asked = {"first_percent": 25, "first_least": 50, "winner_by": "opened", **values}
    return make_split(project, **asked)


def look(run: Run, after: timedelta = timedelta()) -> engine.ReleasedWave | None:
    ring = engine.advance(run.pk, now=timezone.now() + after)
    run.refresh_from_db()
    return ring


def tried(project: Project, *, people: int | list[str] = PEOPLE, **values: Any) -> Run:
    """The first part is sent, and it is counted who can tell."""
    make_people(project, people)
    run = control.launch(make_trial(project, **values), by="user:alice", now=timezone.now())
    look(run)
    run = work(run)
    look(run)
    return run


def open_it(run: Run, variant: int, count: int) -> None:
    seqs = [seq for seq, group in sorted(groups_by_seq(run).items()) if group == variant]
    keep([Report(run.pk, seq, Event.OPENED, None) for seq in seqs[:count]])


def bought(run: Run, variant: int, count: int) -> None:
    seqs = [seq for seq, group in groups_by_seq(run).items() if group == variant][:count]
    ids = Recipient.objects.filter(run_id=run.pk, seq__in=seqs).values_list("contact_id", flat=True)
    names = Contact.objects.filter(pk__in=[*ids]).values_list("external_id", flat=True)
    events = [writing.Event(name, "bought", timezone.now(), {}) for name in names]
    assert writing.write(run.project_id, events) == set()


def slower(seconds: float) -> str:
    """The count of who opened it, after so long."""
    wait = f"WHERE (SELECT pg_sleep({seconds}) IS NOT NULL) AND"
    return by_group.OPENED.replace("WHERE", wait)


def read_by_rest(run: Run, fcm: Fcm) -> set[str]:
    """The titles that left for the rest."""
    groups = groups_by_seq(run)
    return {
        t for seq, titles in titles_read(fcm, run).items() if groups[seq] == REST for t in titles
    }


# --- Who tries them -------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_first_part_alone_tries_the_variants(project: Project, fcm: Fcm) -> None:
    run = tried(project)

    found = counts(run)
    assert found[REST] == PEOPLE - FIRST
    assert found[0] + found[1] == FIRST and min(found[0], found[1]) > 25
    assert {seq for seq, group in groups_by_seq(run).items() if group != REST} == {
        seq
        for chunk in run.chunks.filter(follows=False)
        for seq in range(chunk.first_seq, chunk.last_seq + 1)
    }
    assert run.split["people"] == {str(group): count for group, count in found.items()}
    assert read_by_rest(run, fcm) == set()
    assert (run.accepted, run.state) == (FIRST, "sending")


@pytest.mark.django_db
def test_the_control_group_gets_nothing_of_either_part(project: Project, fcm: Fcm) -> None:
    run = tried(project, control_percent=20)
    open_it(run, 1, 25)
    look(run, after=WAIT)
    work(run)

    found = counts(run)
    assert 40 < found[CONTROL] < 120
    assert run.skipped == found[CONTROL] and run.accepted == PEOPLE - found[CONTROL]
    assert read_by_rest(run, fcm) == {TITLES[1]}


@pytest.mark.django_db
def test_where_all_go_at_once_everybody_has_a_variant(project: Project, fcm: Fcm) -> None:
    run = tried(project, people=40)

    assert REST not in counts(run) and len(counts(run)) == 2
    assert (run.state, run.accepted) == ("finished", 40)


# --- Which one ------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize("better", [0, 1])
def test_the_rest_gets_the_variant_that_more_people_opened(
    project: Project, fcm: Fcm, better: int
) -> None:
    run = tried(project)
    open_it(run, better, 30)
    open_it(run, 1 - better, 1)

    look(run, after=WAIT - timedelta(seconds=30))
    assert FirstPart.objects.get(run=run).went_on_at is None
    look(run, after=WAIT)

    part = FirstPart.objects.get(run=run)
    assert (run.winner, part.decision) == (better, "good")
    work(run)
    assert (run.state, run.accepted) == ("finished", PEOPLE)
    assert read_by_rest(run, fcm) == {TITLES[better]}
    assert all(len(titles) == 1 for titles in titles_read(fcm, run).values())


@pytest.mark.django_db
def test_the_rest_gets_the_variant_that_brought_the_goal_about(project: Project, fcm: Fcm) -> None:
    run = tried(project, winner_by="goal", goal_event="bought")
    open_it(run, 0, 30)  # what is opened does not count here
    bought(run, 1, 30)

    look(run, after=WAIT)
    assert run.winner == 1


@pytest.mark.django_db
def test_without_evidence_the_run_asks_and_a_person_chooses(
    desk: Desk, project: Project, fcm: Fcm
) -> None:
    run = tried(project)
    open_it(run, 0, 20)
    open_it(run, 1, 22)

    look(run, after=WAIT)
    assert (run.state, run.cause, run.winner) == ("paused", "no_winner", None)
    assert "No variant is clearly better" in Caller(project).get(f"runs/{run.pk}").content.decode()
    page = desk.open("campaigns_run_change", run.pk)
    assert "waits until you choose a variant." in page and "ompare the variants" in page
    assert "ood enough." not in page and "who was rejected" not in page
    assert read_by_rest(run, fcm) == set()

    answer = Caller(project).post(f"runs/{run.pk}/go-on", {"variant": "B"})
    assert answer.status_code == HTTPStatus.OK, answer.json()
    assert answer.json()["first_part"]["winner"] == "B"
    look(run)
    work(run)
    assert (run.state, run.winner) == ("finished", 1)
    assert read_by_rest(run, fcm) == {TITLES[1]}
    entry = AuditEntry.objects.latest("pk")
    assert entry.action == "went on with the rest of"


@pytest.mark.django_db
def test_a_run_never_calls_a_variant_better_while_its_page_says_too_early(
    desk: Desk, project: Project, fcm: Fcm
) -> None:
    run = tried(project, no_winner="first")
    open_it(run, 0, 20)
    open_it(run, 1, 22)

    look(run, after=WAIT)

    found = compared(run)
    assert found is not None and "too early to say" in found.comparisons[0].sentence
    page = desk.open("campaigns_run_change", run.pk)
    assert "No variant was clearly better by then." in page and "It gets Variant A." in page
    assert "It was good enough" not in page
    assert (run.winner, FirstPart.objects.get(run=run).decision) == (0, "unsure")
    work(run)
    assert read_by_rest(run, fcm) == {TITLES[0]}


@pytest.mark.django_db
def test_without_evidence_the_rest_is_shared_out_where_the_campaign_says_so(
    desk: Desk, project: Project, fcm: Fcm
) -> None:
    run = tried(project, no_winner="split", control_percent=20)
    before = groups_by_seq(run)

    look(run, after=WAIT)
    work(run)

    after = groups_by_seq(run)
    assert (run.state, run.winner) == ("finished", None)
    assert FirstPart.objects.get(run=run).decision == "unsure"
    assert {seq: after[seq] for seq in before if before[seq] != REST} == {
        seq: group for seq, group in before.items() if group != REST
    }
    rest = Counter(after[seq] for seq, group in before.items() if group == REST)
    assert {*rest} == {0, 1} and min(rest.values()) > 60
    read = titles_read(fcm, run)
    assert all(read[seq] == [TITLES[after[seq]]] for seq in after if after[seq] != CONTROL)
    assert run.split["people"] == {str(group): count for group, count in counts(run).items()}
    page = desk.open("campaigns_run_change", run.pk)
    assert "The rest is split among the variants." in page


@pytest.mark.django_db
def test_a_variant_that_is_clearly_better_wins_whatever_was_planned_without_one(
    project: Project, fcm: Fcm
) -> None:
    run = tried(project, no_winner="split")
    open_it(run, 1, 30)

    look(run, after=WAIT)
    assert (run.winner, FirstPart.objects.get(run=run).decision) == (1, "good")


@pytest.mark.django_db
def test_a_choice_has_longer_to_count_than_a_page(
    monkeypatch: pytest.MonkeyPatch, project: Project, fcm: Fcm
) -> None:
    run = tried(project)
    open_it(run, 1, 30)
    monkeypatch.setattr(by_group, "OPENED", slower(0.02))
    monkeypatch.setattr(by_group, "COUNTING_SECONDS", 0.001)
    assert by_group.opened(run) is None

    look(run, after=WAIT)
    assert run.winner == 1


@pytest.mark.django_db
@pytest.mark.parametrize(("planned", "winner"), [("ask", None), ("first", 0)])
def test_a_count_that_takes_too_long_is_no_evidence_and_is_named(
    monkeypatch: pytest.MonkeyPatch,
    desk: Desk,
    project: Project,
    fcm: Fcm,
    planned: str,
    winner: int | None,
) -> None:
    run = tried(project, no_winner=planned)
    open_it(run, 1, 30)
    for budget in (by_group, choosing):
        monkeypatch.setattr(budget, "COUNTING_SECONDS", 0.001)
    monkeypatch.setattr(by_group, "OPENED", slower(1))

    look(run, after=WAIT)

    assert run.winner == winner
    if planned == "ask":
        said = "The variants could not be counted in time"
        assert said in Caller(project).get(f"runs/{run.pk}").content.decode()
        dialog = desk.open("campaigns_run_go_on", run.pk)
        assert "best one so far" not in dialog and "Variant A" in dialog and "Variant B" in dialog
        answer = Caller(project).post(f"runs/{run.pk}/go-on")
        assert answer.status_code == HTTPStatus.CONFLICT
        assert "Name one" in answer.content.decode()
        desk.confirm("campaigns_run_go_on", run.pk, variant="1")
        run.refresh_from_db()
        assert run.winner == 1


@pytest.mark.django_db
def test_the_goal_is_compared_by_variant_too_where_it_chooses_one(
    project: Project, fcm: Fcm
) -> None:
    run = tried(project, winner_by="goal", goal_event="bought", control_percent=20)
    bought(run, 1, 5)

    found = compared(run)
    assert found is not None
    assert {one.codes for one in found.comparisons if one.metric == "did"} == {
        ("B", "A"),
        ("sent", "control"),
    }


@pytest.mark.django_db
def test_a_run_that_asked_and_is_resumed_sends_the_best_one_so_far(
    desk: Desk, project: Project, fcm: Fcm
) -> None:
    run = tried(project)
    open_it(run, 1, 7)
    look(run, after=WAIT)
    assert run.state == "paused"
    assert "The rest gets the best variant so far." in desk.open("campaigns_run_resume", run.pk)

    control.resume(run, by="user:alice")
    look(run)

    assert run.winner == 1
    work(run)
    assert read_by_rest(run, fcm) == {TITLES[1]}


@pytest.mark.django_db
def test_a_first_part_that_is_not_good_enough_asks_before_any_variant_is_chosen(
    project: Project, fcm: Fcm
) -> None:
    run = tried(project, people=addresses(dead=40, live=360), first_most_dead=1)
    open_it(run, 1, 25)

    look(run, after=WAIT)
    assert (run.state, run.cause, run.winner) == ("paused", "first_part", None)


# --- A person is faster ---------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_person_overrules_while_the_rest_waits(desk: Desk, project: Project, fcm: Fcm) -> None:
    run = tried(project)
    open_it(run, 1, 30)
    dialog = desk.open("campaigns_run_go_on", run.pk)
    assert "The best one so far: Variant B" in dialog
    assert "Variant A: opened by 0 %" in dialog
    desk.confirm("campaigns_run_go_on", run.pk, variant="0")
    run.refresh_from_db()

    assert run.winner == 0
    look(run, after=WAIT)
    work(run)
    assert run.winner == 0
    assert read_by_rest(run, fcm) == {TITLES[0]}


@pytest.mark.django_db
@pytest.mark.parametrize("variant", ["C", "rest", "", 1, None])
def test_a_variant_that_the_run_has_not_is_refused(
    project: Project, fcm: Fcm, variant: object
) -> None:
    run = tried(project)

    answer = Caller(project).post(f"runs/{run.pk}/go-on", {"variant": variant})

    assert (answer.status_code, fields_at_fault(answer)) == (HTTPStatus.BAD_REQUEST, ["variant"])
    if variant == "C":
        assert "has no variant C. Choose one of A, B." in answer.content.decode()
    run.refresh_from_db()
    assert run.winner is None and FirstPart.objects.get(run=run).went_on_at is None


@pytest.mark.django_db(transaction=True)
def test_of_two_who_choose_at_once_one_does(project: Project, fcm: Fcm) -> None:
    run = tried(project)
    open_it(run, 0, 30)

    def choose(variant: int) -> int:
        return control.go_on(Run.objects.get(pk=run.pk), by="user:alice", variant=variant)

    assert at_once(first=lambda: choose(1), second=lambda: choose(0)) == 0

    look(run)
    assert run.winner == 1
    work(run)
    assert read_by_rest(run, fcm) == {TITLES[1]}


# --- What is shown --------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_comparison_is_of_those_who_tried_them(project: Project, fcm: Fcm) -> None:
    run = tried(project)
    open_it(run, 1, 30)
    look(run, after=WAIT)
    work(run)
    open_it(run, REST, 200)

    found = compared(run)
    assert found is not None
    assert [line.words for line in found.lines] == ["Variant A", "Variant B", "The rest: Variant B"]
    (one,) = found.comparisons
    assert (one.codes, one.count, one.of) == (("B", "A"), 30, counts(run)[1])


# --- Before the launch ----------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"first_percent": None}, "Say above how many percent try the variants."),
        ({"winner_by": "goal"}, "Name the goal's event, or choose by who opened it."),
        ({"winner_by": "luck"}, "Use own or opened or goal."),
    ],
)
def test_a_trial_that_could_not_be_judged_is_refused(
    project: Project, values: dict[str, Any], said: str
) -> None:
    campaign = make_trial(project)
    answer = Caller(project).patch(f"campaigns/{campaign.pk}", values)
    assert answer.status_code == HTTPStatus.BAD_REQUEST
    assert ("winner_by", said) in [
        (error["field"], error["message"]) for error in answer.json()["errors"]
    ]


def by_goal(project: Project, days_waited: int) -> Campaign:
    return make_trial(
        project,
        winner_by="goal",
        goal_event="bought",
        first_wait_seconds=days_waited * 86_400,
        ttl_seconds=28 * 86_400,
    )


TOO_LONG = (
    "The wait is too long to choose by a goal: events are kept for 2 days only. Shorten the wait, "
    "or keep events for longer."
)


@pytest.mark.django_db
@pytest.mark.parametrize(("days_waited", "status"), [(1, 200), (2, 400), (5, 400)])
def test_a_wait_that_outlasts_the_events_that_choose_is_refused(
    project: Project, days_waited: int, status: int
) -> None:
    Retention.objects.create(project=project, kind="events", days=2)
    campaign = by_goal(project, 1)
    asked = {"first_wait_seconds": days_waited * 86_400}
    answer = Caller(project).patch(f"campaigns/{campaign.pk}", asked)
    assert answer.status_code == status
    said = [(each["field"], each["message"]) for each in answer.json().get("errors", [])]
    assert said == ([] if status == HTTPStatus.OK else [("first_wait_seconds", TOO_LONG)])
    opened = {**asked, "winner_by": "opened"}
    assert Caller(project).patch(f"campaigns/{campaign.pk}", opened).status_code == HTTPStatus.OK


@pytest.mark.django_db
def test_a_trial_is_not_launched_once_its_events_are_kept_for_too_short(project: Project) -> None:
    make_people(project, 10)
    campaign = by_goal(project, 5)
    Retention.objects.create(project=project, kind="events", days=2)
    answer = Caller(project).post(f"campaigns/{campaign.pk}/launch")
    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert TOO_LONG in answer.content.decode()
    assert not Run.objects.exists()
    rehearsed = Caller(project).post(f"campaigns/{campaign.pk}/rehearse", {"sample": 100})
    assert rehearsed.status_code == HTTPStatus.ACCEPTED, "nobody goes first in a rehearsal"


@pytest.mark.django_db
def test_a_trial_without_variants_is_not_launched(project: Project) -> None:
    make_people(project, 10)
    campaign = make_campaign(project, first_percent=10, winner_by="opened")
    answer = Caller(project).post(f"campaigns/{campaign.pk}/launch")
    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert "There are no variants to choose from" in answer.content.decode()


@pytest.mark.django_db
def test_the_review_says_who_tries_them_and_who_gets_the_best_one(
    desk: Desk, project: Project
) -> None:
    make_people(project, PEOPLE)
    campaign = make_trial(project)
    page = desk.open("campaign_review", campaign.pk)
    assert "The rest gets the variant that clearly more people opened" in page
    assert "Without a clear winner, the run pauses and asks you." in page
    assert "the variant that does best" in page


def test_the_form_offers_by_what_the_variant_is_chosen() -> None:
    assert "winner_by" in CampaignForm.base_fields


# --- Pure -----------------------------------------------------------------------------------------

ROWS = st.lists(st.tuples(st.integers(0, 2_000), st.floats(0, 1)), min_size=1, max_size=5)
VARIANTS = ROWS.map(
    lambda rows: [Tried(n, people, round(people * part)) for n, (people, part) in enumerate(rows)]
)


def is_better(one: Tried, other: Tried, of: int) -> bool:
    sure = certainty.strength(one.count, one.people, other.count, other.people)
    return one.count * other.people > other.count * one.people and certainty.is_sure(
        sure, comparisons=of
    )


@given(VARIANTS)
def test_a_winner_is_clearly_better_and_no_surer_one_did_better(variants: list[Tried]) -> None:
    number, (main, *others) = find_winner(variants), variants
    better = [one for one in others if is_better(one, main, len(others))]
    if number is None:
        assert not better
        assert not others or not all(is_better(main, one, len(others)) for one in others)
    elif number == 0:
        assert all(is_better(main, one, len(others)) for one in others)
    else:
        mine = variants[number]
        assert mine in better
        assert all(one.count * mine.people <= mine.count * one.people for one in better)


@given(VARIANTS)
def test_the_order_of_the_others_does_not_matter(variants: list[Tried]) -> None:
    assert best(variants) == best(sorted(variants, key=lambda one: one.number))


@given(VARIANTS)
def test_no_variant_did_better_than_the_best_so_far(variants: list[Tried]) -> None:
    mine = variants[best(variants)]
    assert all(one.count * mine.people <= mine.count * one.people for one in variants)


def test_what_nobody_could_count_has_no_winner() -> None:
    assert find_winner(None) is None and find_winner([]) is None
