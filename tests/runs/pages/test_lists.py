"""A list of some of the people of a run, or of an audience, filled in parts."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns import tasks
from campaigns.audiences.audience import Audience, Member
from campaigns.audiences.lists import filling, outcomes
from campaigns.engine import engine, forgetting, unknowns
from campaigns.planning import launch_problems
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Delivery, Recipient, Retry
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_campaign, make_contact, make_device
from tests.given.runs import ENDS, doubtful, ended_each_way, on_list, opened_by_some


@pytest.fixture
def run(project: Project) -> Run:
    return ended_each_way(project)


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ("accepted", {"got", "one-of-two"}),
        ("not_reached", {"dead", "no-city", "no-name", "perhaps"}),
        ("rejected:unregistered", {"dead", "one-of-two"}),
        ("skipped:missing_value:city", {"no-city"}),
        ("unknown", {"perhaps"}),
        ("planned", {*ENDS}),
    ],
)
def test_a_list_is_made_of_an_outcome(desk: Desk, run: Run, who: str, expected: set[str]) -> None:
    desk.confirm("campaigns_run_make_list", run.pk, who=who)
    assert on_list(Audience.objects.get(kind="list")) == expected


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ("received", {"opened", "received", "dismissed", "pressed"}),
        ("displayed", {"opened", "dismissed", "pressed"}),
        ("opened", {"opened", "pressed"}),
        ("dismissed", {"dismissed"}),
        ("action_1", {"pressed"}),
        ("not_opened", {"received", "dismissed", "silent"}),
        ("not_opened:can_tell", {"received", "dismissed"}),
    ],
)
def test_a_list_is_made_of_what_phones_reported(
    desk: Desk, project: Project, who: str, expected: set[str]
) -> None:
    run = opened_by_some(project)
    said = desk.open("campaigns_run_make_list", run.pk)
    assert "3 people were accepted and are not known to have opened it" in said
    assert "1 of them has a phone that cannot tell: they may have opened it" in said
    assert "Pressed button 2" not in said
    reply = desk.client.get(reverse("admin:campaigns_run_make_list", args=[run.pk]))
    assert '<option value="not_opened" selected>' in reply.content.decode(), "those it counts"
    desk.confirm("campaigns_run_make_list", run.pk, who=who)
    assert on_list(Audience.objects.get(kind="list")) == expected


def test_before_any_phone_has_reported_nobody_is_said_not_to_have_opened_it(
    desk: Desk, run: Run
) -> None:
    said = desk.open("campaigns_run_make_list", run.pk)
    assert "opened" not in said
    for who in ("opened", "not_opened"):
        refused = desk.confirm("campaigns_run_make_list", run.pk, who=who)
        assert "Select a valid choice" in text_of(refused)


def test_the_choices_are_those_that_this_run_has(desk: Desk, run: Run) -> None:
    said = desk.open("campaigns_run_make_list", run.pk)
    assert "Skipped for lack of “city”" in said
    assert "Rejected: App uninstalled or address expired" in said
    assert "deadline" not in said
    refused = desk.confirm("campaigns_run_make_list", run.pk, who="skipped:expired")
    assert "Select a valid choice" in text_of(refused)
    assert not Audience.objects.filter(kind="list").exists()


def test_a_forgotten_run_offers_neither_a_list_nor_a_rest(desk: Desk, run: Run) -> None:
    forgetting.forget(run, by="test", now=timezone.now())
    shown = desk.open("campaigns_run_change", run.pk)
    assert "Send to the rest" not in shown and "Make a list" not in shown
    assert "Nobody is left to send to in this run" in text_of(
        desk.confirm("campaigns_run_rest", run.pk)
    )
    assert "are not available" in text_of(desk.confirm("campaigns_run_make_list", run.pk, who="x"))
    assert not Audience.objects.filter(kind="list").exists()


def test_an_audience_freezes_as_a_list_that_no_later_change_reaches(
    desk: Desk, project: Project
) -> None:
    rules = {"field": "attributes.plan", "op": "eq", "value": "pro"}
    pro = Audience.objects.create(project=project, name="Pro", rules=rules)
    ann = make_contact(project, external_id="ann", attributes={"plan": "pro"})
    make_contact(project, external_id="bob", attributes={"plan": "free"})

    desk.confirm("campaigns_audience_freeze", pro.pk)
    Contact.objects.filter(pk=ann.pk).update(attributes={"plan": "free"})

    made = Audience.objects.get(kind="list")
    assert made.name.startswith("Pro, ")
    assert on_list(made) == {"ann"}


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, enqueued: list[int]) -> list[int]:
    """A web request has time for one part of two people; the lists it enqueues are kept here."""
    monkeypatch.setattr(filling, "PEOPLE_AT_ONCE", 2)
    monkeypatch.setattr(filling, "AT_ONCE_SECONDS", 0.0)
    monkeypatch.setattr(filling, "statement_timeout", lambda **_budget: nullcontext())
    return enqueued


def test_a_long_list_is_filled_by_a_task_in_parts_and_cannot_be_launched_before(
    desk: Desk, project: Project, slow: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    for n in range(7):
        make_device(make_contact(project, external_id=f"u{n}"))
    everyone = Audience.objects.create(project=project, name="All", rules={"all": []})

    with django_capture_on_commit_callbacks(execute=True):
        desk.confirm("campaigns_audience_freeze", everyone.pk)

    made = Audience.objects.get(kind="list")
    assert slow == [made.pk] and len(on_list(made)) == 2
    assert "2 people are on it so far" in desk.open("campaigns_audience_change", made.pk)
    problems = launch_problems.problems(make_campaign(project, audience=made), timezone.now())
    assert "still being filled" in problems["audience"]
    naming = {"field": "list", "op": "ne", "value": made.pk}
    other = Audience(project=project, name="Others", rules=naming)
    with pytest.raises(Exception, match="is still being filled"):
        other.clean()

    assert filling.unfinished() == [made.pk]  # what the sweep rings
    make_contact(project, external_id="late")
    tasks.fill_list(made.pk)

    made.refresh_from_db()
    assert made.filling is None
    assert on_list(made) == {f"u{n}" for n in range(7)}
    assert filling.unfinished() == []


def test_a_task_rings_itself_until_the_list_is_whole(
    project: Project, slow: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(5):
        make_contact(project, external_id=f"u{n}")
    made = filling.begin(project.pk, "All", {"all": []})
    monkeypatch.setattr(tasks, "FILLING_SECONDS", 0.0)

    for _ in range(3):
        tasks.fill_list(made.pk)

    assert slow == [made.pk, made.pk]
    assert len(on_list(made)) == 5


def test_a_list_that_is_deleted_while_it_is_filled_ends_its_task(
    project: Project, slow: list[int]
) -> None:
    make_contact(project)
    made = filling.begin(project.pk, "All", {"all": []})
    made.delete()
    tasks.fill_list(made.pk)
    assert slow == []
    assert not Member.objects.exists()


def test_the_copy_of_a_half_filled_list_is_filled_to_its_end_too(
    project: Project, slow: list[int]
) -> None:
    for n in range(5):
        make_contact(project, external_id=f"u{n}")
    made = filling.begin(project.pk, "All", {"all": []})
    filling.at_once(made)

    copy = made.duplicate()

    assert set(filling.unfinished()) == {made.pk, copy.pk}
    filling.work(copy.pk, seconds=60)
    assert on_list(copy) == {f"u{n}" for n in range(5)}


def again(run: Run) -> None:
    """Somebody sends again to the unknown while a list of the rest is being filled."""
    assert unknowns.send_again(run) == 1


def end_again(run: Run, status: str) -> None:
    for row in Recipient.objects.filter(run_id=run.pk).order_by("-seq")[:1]:
        Delivery.objects.create(
            run_id=run.pk, seq=row.seq, device_id=row.device_id, status=status, reason="",
            attempt=2, at=timezone.now(),
        )  # fmt: skip
    Retry.objects.filter(run_id=run.pk).delete()
    run.refresh_from_db()
    closed = {status: getattr(run, status) + 1}
    run.chunks.update(state=Chunk.State.CLOSED, released=0, **closed)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert run.state == "finished"


def test_a_list_of_the_rest_waits_while_its_run_sends_again(
    desk: Desk, run: Run, slow: list[int]
) -> None:
    begun = filling.begin(run.project_id, "Rest", outcomes.rest(run, with_unknown=False), run=run)
    again(run)
    tasks.fill_list(begun.pk)

    begun.refresh_from_db()
    assert on_list(begun) == set() and begun.filling is not None
    assert filling.unfinished() == [begun.pk] and slow == []  # the sweep asks again, not itself
    said = desk.open("campaigns_audience_change", begun.pk)
    assert (
        f"Run {run.pk} is being sent again. This list will be filled once the run has ended."
        in said
    )


def test_whoever_was_reached_meanwhile_leaves_a_half_filled_list_of_the_rest(
    project: Project, slow: list[int]
) -> None:
    run = doubtful(project)  # the second is the unknown
    for n in range(5):
        make_contact(project, external_id=f"other{n}")
    begun = filling.begin(project.pk, "Rest", outcomes.rest(run, with_unknown=True), run=run)
    filling.at_once(begun)
    assert Member.objects.filter(audience=begun).count() == 1 and begun.filling
    again(run)
    end_again(run, "accepted")

    filling.work(begun.pk, seconds=60)

    begun.refresh_from_db()
    assert begun.filling is None and on_list(begun) == set()


def test_a_run_is_not_forgotten_while_a_list_of_it_is_filled(
    desk: Desk, run: Run, slow: list[int]
) -> None:
    begun = filling.begin(run.project_id, "Rest", outcomes.rest(run, with_unknown=True), run=run)
    filling.at_once(begun)
    with pytest.raises(Run.InvalidMove):
        forgetting.forget(run, by="test", now=timezone.now())
    run.refresh_from_db()
    assert run.forgotten_at is None
