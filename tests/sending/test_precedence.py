"""Where two campaigns meet at a person's cap: the one of higher precedence gets the place."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine, freezing
from campaigns.runs.caps import reserved_places
from campaigns.runs.caps.counted_pushes import Counted
from campaigns.runs.caps.reserved_places import Place
from campaigns.runs.chunk import Chunk
from campaigns.runs.claiming import claim
from campaigns.runs.ledger import Delivery
from campaigns.runs.messages.taking import take
from campaigns.runs.prior_recipients import PriorRecipient
from campaigns.runs.run import Run
from campaigns.sending import sending
from campaigns.sending.sending import Sending
from notifications.people.consent.category import Category
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.erased_people import forget_people
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_audience, make_campaign, make_device, make_people
from tests.rehearsals.shared import rehearse
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db

ACCEPTED, CAPPED = "accepted", "skipped"


@pytest.fixture
def people(project: Project) -> list[Device]:
    """Two, with one message a day; the first is a guest."""
    Project.objects.update(cap_per_day=1)
    project.refresh_from_db()
    found = make_people(project, 2)
    found[0].contact.attributes["plan"] = "guest"
    found[0].contact.save()
    return found


def planned(project: Project, hours: float = 20, **values: Any) -> Run:
    """A campaign that goes to guests some hours from now."""
    guests = {"all": [{"field": "attributes.plan", "op": "eq", "value": "guest"}]}
    values.setdefault("audience", make_audience(project, rules=guests))
    at = timezone.now() + timedelta(hours=hours)
    values = {"precedence": "high", "schedule_kind": "at", "at": at, **values}
    return control.launch(make_campaign(project, **values), by="user:alice", now=timezone.now())


def begun(project: Project, **values: Any) -> Run:
    """One that goes to everybody at once, with its people chosen."""
    run = control.launch(make_campaign(project, **values), by="user:alice", now=timezone.now())
    engine.advance(run.pk, now=timezone.now())
    return Run.objects.get(pk=run.pk)


def ends(run: Run, now: datetime | None = None) -> list[tuple[str, str]]:
    """Sent to its end; what became of its people, and the detail."""
    for _ in range(3):
        engine.advance(run.pk, now=now or timezone.now())
        run.refresh_from_db()
        for chunk in run.chunks.filter(state=Chunk.State.QUEUED):
            sending.send(run.pk, chunk.number, run.epoch)
    ended = Delivery.objects.filter(run_id=run.pk).order_by("seq")
    return list(ended.values_list("status", "detail"))


def foretold(run: Run) -> list[tuple[str, int]]:
    told = Caller(run.project).get(f"campaigns/{run.campaign_id}/check").json()
    return [(one["reason"], one["devices"]) for one in told["skipped"]]


def test_a_lower_one_leaves_the_place_to_a_planned_one(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    higher = planned(project)
    lower = begun(project)
    assert foretold(lower) == [("capped", 1)]
    assert ends(lower) == [(CAPPED, f"kept for run {higher.pk}"), (ACCEPTED, "")]

    Run.objects.filter(pk=higher.pk).update(scheduled_at=timezone.now())
    engine.sweep(timezone.now())
    assert ends(higher) == [(ACCEPTED, "")]


@pytest.mark.parametrize("sample", [None, 100])
def test_a_rehearsal_leaves_the_place_as_the_run_does_and_keeps_none(
    project: Project, people: list[Device], fcm: Fcm, sample: int | None
) -> None:
    higher, campaign = planned(project), make_campaign(project)
    rehearsed = rehearse(campaign, sample=sample).run
    ended = Delivery.objects.filter(run_id=rehearsed.pk).order_by("seq")
    kept = (CAPPED, f"kept for run {higher.pk}")
    assert list(ended.values_list("status", "detail")) == [kept, (ACCEPTED, "")]
    assert not Place.objects.exists() and not Counted.objects.exists()

    lower = control.launch(campaign, by="user:alice", now=timezone.now())
    assert foretold(lower) == [("capped", 1)]
    assert ends(lower) == [kept, (ACCEPTED, "")]


def test_a_rehearsal_leaves_the_places_that_are_written_down(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    """Who does not fit what is planned any more: a place stands until that run has ended."""
    higher = planned(project)
    begun(project)
    Contact.objects.filter(pk=people[0].contact_id).update(attributes={"first_name": "Ada"})
    rehearsed = rehearse(make_campaign(project)).run
    ended = Delivery.objects.filter(run_id=rehearsed.pk).order_by("seq")
    assert [said for _, said in ended.values_list("status", "detail")] == [
        f"kept for run {higher.pk}", "",
    ]  # fmt: skip
    assert Place.objects.count() == 1


@pytest.mark.parametrize("values", [{"hours": 25}, {"precedence": "normal"}])
def test_a_rehearsal_leaves_no_place_to_what_comes_later_or_does_not_win(
    project: Project, people: list[Device], fcm: Fcm, values: dict[str, Any]
) -> None:
    planned(project, **values)
    assert rehearse(make_campaign(project)).run.accepted == 2


def test_a_rehearsal_of_what_keeps_to_no_caps_leaves_no_place(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    planned(project)
    exempt = Category.objects.create(project=project, name="E", slug="exempt", caps="exempt")
    assert rehearse(make_campaign(project, category=exempt)).run.accepted == 2


def test_a_run_leaves_no_place_to_a_rehearsal_of_a_higher_one(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    lower = begun(project)
    rehearse(make_campaign(project, precedence="high"))
    assert not Place.objects.exists()
    assert ends(lower) == [(ACCEPTED, "")] * 2


def test_a_place_goes_back_when_its_run_reaches_nobody(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    """Whoever is out by then, or lacks a value that it needs."""
    higher = planned(project, hours=1, template={"body": "{{ lacks }}"})
    lower = begun(project)
    assert Place.objects.count() == 1
    Run.objects.filter(pk=higher.pk).update(scheduled_at=timezone.now())
    engine.sweep(timezone.now())
    assert [status for status, _ in ends(higher)] == ["skipped"]
    assert ends(lower) == [(ACCEPTED, "")] * 2


def test_no_place_is_kept_for_who_does_not_want_what_is_planned(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    higher = planned(project, hours=0.001)
    Run.objects.filter(pk=higher.pk).update(scheduled_at=timezone.now())
    engine.sweep(timezone.now())
    engine.advance(higher.pk, now=timezone.now())
    Contact.objects.filter(pk=people[0].contact_id).update(subscribed=False)
    lower = begun(project)
    assert not Place.objects.exists()
    assert [said for _, said in ends(lower)] == ["", ""], "out, and nothing is said of a place"


def test_a_worker_in_the_middle_of_a_chunk_sees_who_is_above_by_now(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    lower = begun(project)
    granted = claim(lower.pk, 1, lower.epoch, task_id=None)
    assert granted and granted.above == []
    higher = planned(project, hours=1)
    Run.objects.filter(pk=higher.pk).update(scheduled_at=timezone.now())
    engine.sweep(timezone.now())
    engine.advance(higher.pk, now=timezone.now())
    granted.looked_above = 0.0
    Sending(granted).work()
    ended = Delivery.objects.filter(run_id=lower.pk).order_by("seq").values_list("status", "detail")
    assert list(ended) == [(CAPPED, f"kept for run {higher.pk}"), (ACCEPTED, "")]


def test_a_message_to_one_person_leaves_no_place_however_long_its_worker_is_at_it(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    planned(project)
    begun(project)
    assert Place.objects.filter(contact_id=people[0].contact_id).exists()
    to = {"contact": people[0].contact.external_id}
    taxi = {"to": to, "content": {"title": "Your taxi is here", "body": "x"}}
    assert Caller(project).post("messages", taxi).status_code == 202
    granted = take(Run.every.get(kind="messages"), lambda *_: None)
    assert granted and granted.above == []
    granted.looked_above = 0.0  # so it looks again

    Sending(granted).work()

    ended = Delivery.objects.filter(run_id=granted.run.pk)
    assert list(ended.values_list("status", "detail")) == [(ACCEPTED, "")]


def test_one_by_each_readers_clock_leaves_places_to_what_comes_while_it_lasts(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    """Its last people have their time a day after it begins."""
    planned(project, hours=30)
    at = timezone.now().replace(microsecond=0)
    begun(project, schedule_kind="at", at=at, timezone="UTC", local_time=True)
    assert Place.objects.count() == 1


def test_one_that_begins_while_a_lower_one_chooses_people_keeps_its_places(
    project: Project, people: list[Device]
) -> None:
    lower = control.launch(make_campaign(project), by="user:alice", now=timezone.now())
    assert lower.state == Run.State.PREPARING
    begun(project, precedence="high")
    assert Place.objects.count() == 2


@pytest.mark.parametrize(
    "values",
    [
        {"hours": 25},
        {"precedence": "normal"},
        {"precedence": "low"},
    ],
)
def test_nothing_is_kept_for_what_comes_later_or_does_not_win(
    project: Project, people: list[Device], fcm: Fcm, values: dict[str, Any]
) -> None:
    planned(project, **values)
    lower = begun(project)
    assert foretold(lower) == []
    assert ends(lower) == [(ACCEPTED, "")] * 2
    assert not Place.objects.exists()


def test_nothing_is_kept_for_what_does_not_count(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    free = Category.objects.create(project=project, name="Free", slug="free", caps="free")
    planned(project, category=free)
    assert ends(begun(project)) == [(ACCEPTED, "")] * 2


def test_whom_nothing_holds_back_leaves_no_place(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    planned(project)
    exempt = Category.objects.create(project=project, name="E", slug="exempt", caps="exempt")
    assert ends(begun(project, category=exempt)) == [(ACCEPTED, "")] * 2


def test_where_the_cap_has_two_places_both_get_one(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    Project.objects.update(cap_per_day=2)
    planned(project)
    first, second = begun(project), begun(project)
    assert ends(first) == [(ACCEPTED, "")] * 2
    assert [status for status, _ in ends(second)] == [CAPPED, ACCEPTED]


def test_a_place_counts_for_each_cap_only_if_it_comes_within_its_time(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    Project.objects.update(cap_per_day=None, cap_gap_minutes=60)
    planned(project, hours=0.5, precedence="normal")
    planned(project, hours=2)
    assert ends(begun(project, precedence="low"))[1] == (ACCEPTED, "")
    Project.objects.update(cap_gap_minutes=150)
    assert ends(begun(project))[0][0] == CAPPED


def test_who_is_kept_for_a_cancelled_run_gets_the_message(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    higher, lower = planned(project), begun(project)
    assert Place.objects.count() == 1
    higher.cancel()
    assert ends(lower) == [(ACCEPTED, "")] * 2
    reserved_places.remove_old()
    assert not Place.objects.exists()


def test_of_two_that_go_at_once_the_higher_gets_those_who_have_had_neither(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    """It starts when the people of the lower one are chosen, and none was sent to."""
    lower = begun(project, precedence="low")
    higher = begun(project)
    assert {status for status, _ in ends(lower)} == {CAPPED}
    assert ends(higher) == [(ACCEPTED, "")] * 2


def test_a_run_that_began_before_is_left_its_places_too(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    higher = begun(project, precedence="high")
    lower = begun(project)
    assert ends(lower) == [(CAPPED, f"kept for run {higher.pk}")] * 2
    assert ends(higher) == [(ACCEPTED, "")] * 2


def test_what_is_kept_goes_with_who_is_erased(project: Project, people: list[Device]) -> None:
    planned(project)
    begun(project)
    forget_people([people[0].contact_id])
    assert not Place.objects.exists()


def test_a_precedence_that_nobody_knows_is_refused_by_its_field(
    project: Project, people: list[Device]
) -> None:
    campaign = make_campaign(project)
    reply = Caller(project).patch(f"campaigns/{campaign.pk}", {"precedence": "urgent"})
    assert reply.status_code == 400
    assert [one["field"] for one in reply.json()["errors"]] == ["precedence"]


def test_no_place_is_left_to_who_gets_nothing_of_the_higher_one(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    higher = planned(project, once_each=True)
    assert higher.campaign_id
    person = people[0].contact_id
    PriorRecipient.objects.create(contact_id=person, campaign_id=higher.campaign_id, run_id=0)
    lower = begun(project)
    assert foretold(lower) == []
    assert ends(lower) == [(ACCEPTED, ""), (ACCEPTED, "")]


@pytest.mark.parametrize(("hours_ago", "reason"), [(30, CAPPED), (80, ACCEPTED)])
def test_a_place_of_one_by_each_readers_clock_stands_until_it_is_around_the_earth(
    project: Project, people: list[Device], fcm: Fcm, hours_ago: int, reason: str
) -> None:
    higher = planned(project)
    hour = {"at": "2031-05-14T09:00:00", "zone": "UTC", "passed": "skip"}
    past = timezone.now() - timedelta(hours=hours_ago)
    Run.objects.filter(pk=higher.pk).update(hour=hour, scheduled_at=past)
    assert ends(begun(project))[0][0] == reason


def test_who_got_the_higher_one_long_ago_has_no_place_in_it_any_more(
    project: Project, people: list[Device], fcm: Fcm
) -> None:
    Project.objects.update(cap_per_day=None, cap_gap_minutes=60)
    project.refresh_from_db()
    higher = planned(project)
    Run.objects.filter(pk=higher.pk).update(scheduled_at=timezone.now())
    engine.sweep(timezone.now())
    assert ends(higher) == [(ACCEPTED, "")]
    Run.objects.filter(pk=higher.pk).update(state="sending", finished_at=None)
    reserved_places.keep(higher.pk, "SELECT %s::bigint AS contact_id", [people[0].contact_id])
    Counted.objects.update(at=timezone.now() - timedelta(hours=2))
    assert ends(begun(project)) == [(ACCEPTED, ""), (ACCEPTED, "")]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("values", [{}, {"first_percent": 50}])
def test_two_that_leave_places_to_the_same_run_choose_their_people_one_after_the_other(
    project: Project, monkeypatch: pytest.MonkeyPatch, values: dict[str, Any]
) -> None:
    """Both would write the same rows: the second waited two seconds for them, and began anew."""
    Project.objects.update(cap_per_day=1)
    make_people(project, 20)
    higher = planned(project, audience=make_audience(project))
    lower = [make_campaign(project, **values) for _ in range(2)]
    runs = [control.launch(one, by="user:alice", now=timezone.now()) for one in lower]
    wrote, slowly = threading.Event(), iter([2.5])

    def written(_name: str) -> None:
        wrote.set()
        time.sleep(next(slowly, 0))

    monkeypatch.setattr(freezing, "hit", written)
    monkeypatch.setattr(freezing, "DEVICES_AT_ONCE", 6)

    def begins(run: Run) -> None:
        try:
            engine.advance(run.pk, now=timezone.now())
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as both:
        first = both.submit(begins, runs[0])
        wrote.wait(10)
        second = both.submit(begins, runs[1])
    assert (first.exception(), second.exception()) == (None, None)
    assert Place.objects.filter(run_id=higher.pk).count() >= 6


@pytest.mark.django_db(transaction=True)
def test_a_place_goes_back_though_two_workers_write_at_once_that_it_reached_no_device(
    project: Project,
) -> None:
    Project.objects.update(cap_per_day=1)
    [device] = make_people(project, 1)
    make_device(device.contact)
    begun(project, precedence="low")
    higher = begun(project, precedence="high")

    def rejected(seq: int) -> None:
        row = {"status": "rejected", "reason": "unregistered", "attempt": 1}
        ids = {"run_id": higher.pk, "seq": seq, "device_id": seq}
        Delivery.objects.create(**ids, **row, at=timezone.now())
        reserved_places.give_back(higher.pk, [device.contact_id])

    def other() -> None:
        with transaction.atomic():
            rejected(2)
        connection.close()

    assert Place.objects.filter(run_id=higher.pk).count() == 1
    with ThreadPoolExecutor(1) as elsewhere:
        with transaction.atomic():
            rejected(1)
            second = elsewhere.submit(other)
            time.sleep(0.5)
        second.result()
    assert not Place.objects.filter(run_id=higher.pk).exists()
