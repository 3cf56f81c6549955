"""After a run: a list of some of its people, and a new campaign to those it did not reach."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns import tasks
from campaigns.audiences.audience import Audience, Member
from campaigns.audiences.lists import filling, outcomes
from campaigns.engine import engine, forgetting, unknowns
from campaigns.planning.campaign import Campaign
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Delivery, Recipient, Retry
from campaigns.runs.run import Run
from notifications.people.consent.suppression import Suppression
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.postgres.budget import TooSlow
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_campaign, make_contact, make_device, make_run
from tests.given.runs import doubtful

ENDS = {
    "got": [("accepted", "", "")],
    "one-of-two": [("accepted", "", ""), ("rejected", "unregistered", "")],
    "dead": [("rejected", "unregistered", "")],
    "no-city": [("skipped", "missing_value", "'city' is undefined")],
    "no-name": [("skipped", "missing_value", "'name' is undefined")],
    "perhaps": [("unknown", "unanswered", "")],
}


@pytest.fixture
def run(project: Project) -> Run:
    """Finished: each person is called as it ended for them."""
    for name, ends in ENDS.items():
        person = make_contact(project, external_id=name)
        for _ in ends:
            make_device(person)
    found = make_run(project, name="Spring")
    flat = [(name, end) for name, ends in ENDS.items() for end in ends]
    for row in Recipient.objects.filter(run_id=found.pk).order_by("seq"):
        _name, (status, reason, detail) = flat[row.seq - 1]
        Delivery.objects.create(
            run_id=found.pk, seq=row.seq, device_id=row.device_id, status=status, reason=reason,
            detail=detail, attempt=1, at=timezone.now(),
        )  # fmt: skip
    reasons = {"unregistered": 2, "missing_value": 2, "unanswered": 1}
    found.chunks.update(
        accepted=2, rejected=2, skipped=2, unknown=1, reasons=reasons, state=Chunk.State.CLOSED
    )
    engine.advance(found.pk, now=timezone.now())
    found.refresh_from_db()
    assert found.state == "finished"
    return found


def on(audience: Audience) -> set[str]:
    members = Member.objects.filter(audience=audience).select_related("contact")
    return {member.contact.external_id for member in members}


def test_the_dialog_says_how_many_the_rest_are_and_how_many_are_unknown(
    desk: Desk, run: Run
) -> None:
    said = desk.open("campaigns_run_rest", run.pk)
    assert "4 people of this run were accepted on no device." in said
    assert "For 1 of them it is unknown whether the message arrived." in said
    assert "Without the tick the new campaign goes to 3." in said
    assert Campaign.objects.count() == 1  # looking made nothing


def test_the_result_page_offers_the_rest_among_what_to_do_next(desk: Desk, run: Run) -> None:
    shown = desk.open("campaigns_run_change", run.pk)
    assert "Write to those who were not reached in a new campaign" in shown


def test_the_rest_is_a_draft_for_those_never_accepted(desk: Desk, run: Run) -> None:
    desk.confirm("campaigns_run_rest", run.pk)

    twin = Campaign.objects.exclude(pk=run.campaign.pk).get()
    assert (twin.name, twin.template_id) == ("Spring (rest)", run.campaign.template_id)
    assert twin.audience.name == f"Rest of run {run.pk}"
    assert on(twin.audience) == {"dead", "no-city", "no-name"}
    assert not twin.runs.exists()
    entry = AuditEntry.objects.get(detail__rest_of_run=run.pk)
    assert entry.detail["copied_from"] == run.campaign_id


def test_the_unknown_are_among_the_rest_if_ticked(desk: Desk, run: Run) -> None:
    desk.confirm("campaigns_run_rest", run.pk, unknown="on")
    twin = Campaign.objects.exclude(pk=run.campaign.pk).get()
    assert on(twin.audience) == {"dead", "no-city", "no-name", "perhaps"}


def test_the_rest_of_a_series_is_launched_by_hand(desk: Desk, run: Run) -> None:
    Campaign.objects.filter(pk=run.campaign.pk).update(
        schedule_kind="recurring", repeat="daily", at=timezone.now()
    )
    desk.confirm("campaigns_run_rest", run.pk)
    twin = Campaign.objects.exclude(pk=run.campaign.pk).get()
    assert (twin.schedule_kind, twin.at, twin.repeat) == ("now", None, "")


def test_a_second_rest_takes_the_next_free_name(desk: Desk, run: Run) -> None:
    for _ in range(2):
        desk.confirm("campaigns_run_rest", run.pk)
    lists = Audience.objects.filter(kind="list").values_list("name", flat=True)
    assert {*lists} == {f"Rest of run {run.pk}", f"Rest of run {run.pk} 2"}


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
    assert on(Audience.objects.get(kind="list")) == expected


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
    assert on(made) == {"ann"}


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A web request has time for one part of two people; what it rings is kept here."""
    rung: list[int] = []
    monkeypatch.setattr(filling, "PEOPLE_AT_ONCE", 2)
    monkeypatch.setattr(filling, "AT_ONCE_SECONDS", 0.0)
    monkeypatch.setattr(filling, "within", lambda **_budget: nullcontext())
    monkeypatch.setattr(tasks, "_publish_list", rung.append)
    return rung


def test_a_long_list_is_filled_by_a_task_in_parts_and_cannot_be_launched_before(
    desk: Desk, project: Project, slow: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    for n in range(7):
        make_device(make_contact(project, external_id=f"u{n}"))
    everyone = Audience.objects.create(project=project, name="All", rules={"all": []})

    with django_capture_on_commit_callbacks(execute=True):
        desk.confirm("campaigns_audience_freeze", everyone.pk)

    made = Audience.objects.get(kind="list")
    assert slow == [made.pk] and len(on(made)) == 2
    assert "2 people are on it so far" in desk.open("campaigns_audience_change", made.pk)
    problems = make_campaign(project, audience=made).problems(timezone.now())
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
    assert on(made) == {f"u{n}" for n in range(7)}
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
    assert len(on(made)) == 5


def test_a_list_that_is_deleted_while_it_is_filled_ends_its_task(
    project: Project, slow: list[int]
) -> None:
    make_contact(project)
    made = filling.begin(project.pk, "All", {"all": []})
    made.delete()
    tasks.fill_list(made.pk)
    assert slow == []
    assert not Member.objects.exists()


def test_whoever_was_erased_is_not_put_on_a_list(desk: Desk, run: Run) -> None:
    Contact.objects.filter(external_id="dead").delete()
    desk.confirm("campaigns_run_rest", run.pk)
    twin = Campaign.objects.exclude(pk=run.campaign.pk).get()
    assert on(twin.audience) == {"no-city", "no-name"}


def test_a_rest_of_unknowns_alone_needs_the_tick(desk: Desk, project: Project) -> None:
    run = doubtful(project)
    refused = desk.confirm("campaigns_run_rest", run.pk)
    assert "Without the unknown outcomes nobody would get it" in text_of(refused)
    assert Campaign.objects.count() == 1
    desk.confirm("campaigns_run_rest", run.pk, unknown="on")
    assert Campaign.objects.count() == 2


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
    assert on(copy) == {f"u{n}" for n in range(5)}


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
    assert on(begun) == set() and begun.filling is not None
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
    assert begun.filling is None and on(begun) == set()


def test_a_run_is_not_forgotten_while_a_list_of_it_is_filled(
    desk: Desk, run: Run, slow: list[int]
) -> None:
    begun = filling.begin(run.project_id, "Rest", outcomes.rest(run, with_unknown=True), run=run)
    filling.at_once(begun)
    with pytest.raises(Run.InvalidMove):
        forgetting.forget(run, by="test", now=timezone.now())
    run.refresh_from_db()
    assert run.forgotten_at is None


def test_the_dialog_says_how_many_of_the_rest_can_be_reached_now(desk: Desk, run: Run) -> None:
    Contact.objects.filter(external_id="no-city").update(subscribed=False)
    Device.objects.filter(contact__external_id="dead").update(
        retired_at=timezone.now(), retired_reason="unregistered"
    )
    said = desk.open("campaigns_run_rest", run.pk)
    assert "2 of them can be reached now. Without the tick 1." in said
    assert "The others: " in said
    assert "1 unsubscribed" in said and "1 without an active device" in said


def test_the_rest_is_not_offered_and_is_refused_if_nobody_of_it_can_be_reached(
    desk: Desk, run: Run
) -> None:
    assert "Send to the rest" in desk.open("campaigns_run_change", run.pk)
    Contact.objects.exclude(external_id="dead").update(subscribed=False)
    Suppression.objects.create(project=run.project, external_id="dead", at=timezone.now())
    url = reverse("admin:campaigns_run_rest", args=[run.pk])
    page = desk.client.get(url)
    said = text_of(page)
    assert "None of them can be reached now." in said
    assert "They are: 3 unsubscribed, 1 suppressed." in said
    assert 'type="submit"' not in page.content.decode()
    for ticked in ({}, {"unknown": "on"}):
        refused = text_of(desk.confirm("campaigns_run_rest", run.pk, **ticked))
        assert "None of them can be reached now." in refused
    assert Campaign.objects.count() == 1 and not Audience.objects.filter(kind="list").exists()
    shown = desk.open("campaigns_run_change", run.pk)
    assert "Send to the rest" not in shown and "Write to those who were not reached" not in shown


def test_a_rest_of_which_only_the_unknown_can_be_reached_needs_the_tick(
    desk: Desk, run: Run
) -> None:
    Contact.objects.exclude(external_id="perhaps").update(subscribed=False)
    refused = desk.confirm("campaigns_run_rest", run.pk)
    assert "Without the unknown outcomes nobody would get it" in text_of(refused)
    assert Campaign.objects.count() == 1


def test_the_dialog_says_when_the_reachable_take_too_long_to_count(
    desk: Desk, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def within(*, seconds: float) -> Any:
        raise TooSlow

    monkeypatch.setattr(outcomes, "within", within)
    said = desk.open("campaigns_run_rest", run.pk)
    assert "takes too long to count" in said and "None of them" not in said


def test_the_link_to_who_did_not_get_it_shows_rejected_skipped_and_unknown(
    desk: Desk, run: Run
) -> None:
    page = desk.client.get(reverse("admin:campaigns_run_change", args=[run.pk])).content.decode()
    link = re.search(r'href="([^"]+)">See who did not get it', page)
    assert link
    shown = text_of(desk.client.get(link[1]))
    recipients = shown[shown.index("No. Person") :]
    for name in ("dead", "one-of-two", "no-city", "no-name", "perhaps"):
        assert name in recipients
    assert " got " not in recipients
    url = reverse("admin:run_csv", args=[run.pk]) + "?status=missed"
    lines = list(desk.client.get(url).streaming_content)  # type: ignore[attr-defined]
    assert len(b"".join(lines).splitlines()) == 1 + 5
