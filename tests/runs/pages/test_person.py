"""One person: found by id or by a device's address, and what was sent to them, and why."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from campaigns.engine import engine, forgetting, freezing
from campaigns.results.recipients import Filters, Row, page
from campaigns.results.sent import sent_to
from campaigns.runs.ledger import PERSON_INDEX, Delivery, Recipient, Retry
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import (
    make_audience,
    make_contact,
    make_device,
    make_people,
    make_project,
    make_run,
)
from tests.given.runs import ended_each_way

pytestmark = pytest.mark.django_db
NOBODY = {"all": [{"field": "attributes.plan", "op": "eq", "value": "none"}]}
TOKEN = "cXf3aPp:APA91bH0-" + "q" * 120 + "tail99"


def settle(run: Run, contact: Contact, status: str, reason: str = "") -> None:
    for sent in sent_to(contact.pk, [run.pk]):
        Delivery.objects.create(
            run_id=run.pk, seq=sent.seq, device_id=sent.device_id, status=status, reason=reason,
            attempt=1, at=timezone.now(),
        )  # fmt: skip


def test_who_waits_reads_until_when(desk: Desk, project: Project) -> None:
    person = make_contact(project, external_id="hopper")
    make_device(person)
    make_device(person)
    run = make_run(project)
    text = desk.open("person_sent", person.pk)
    assert text.count("Waiting") == 2 and "until" not in text, "for their turn"
    due = datetime(2031, 5, 7, 9, tzinfo=UTC)
    Retry.objects.create(
        run=run, seq=1, chunk=run.chunks.get(), tries=0, not_before=due, reason="quiet_hours"
    )
    text = desk.open("person_sent", person.pk)
    assert text.count("Waiting") == 2 and text.count("Waiting until 7 May 2031") == 1


def test_the_end_or_the_whole_of_an_address_finds_its_owner(desk: Desk, project: Project) -> None:
    make_device(make_contact(project, external_id="lovelace"), TOKEN)
    make_device(make_contact(project, external_id="hopper"), "another:APA91b")
    for asked in ("qqtail99", TOKEN, f" {TOKEN} "):
        text = desk.open("notifications_contact_changelist", q=asked)
        assert "lovelace" in text and "hopper" not in text
    assert "Nothing found" in desk.open("notifications_contact_changelist", q="il99")
    assert "Nothing found" in desk.open("notifications_contact_changelist", q="%%%%%%")


def test_a_search_by_id_never_reads_addresses(desk: Desk, project: Project) -> None:
    make_contact(project, external_id="lovelace")
    with CaptureQueriesContext(connection) as asked:
        assert "lovelace" in desk.open("notifications_contact_changelist", q="lovelace")
    assert not any("address" in query["sql"] and "LIKE" in query["sql"] for query in asked)


def test_the_profile_tells_devices_with_their_state_and_history(
    desk: Desk, project: Project
) -> None:
    contact = make_contact(project, external_id="lovelace", timezone="Asia/Seoul")
    make_device(contact, TOKEN, platform="ios", app_version="4.2")
    gone = make_device(contact)
    Device.objects.filter(pk=gone.pk).update(
        retired_at=timezone.now(), retired_reason="unregistered", retired_by="run:7"
    )
    text = desk.open("notifications_contact_change", contact.pk)
    assert "Receives on 1 device" in text and "1 retired" in text
    assert "app 4.2" in text and "address expired (run 7)" in text
    assert "tail99" in text and TOKEN not in text
    assert text.index("Active") < text.index("Retired ")


def test_a_person_without_an_active_device_is_said_to_be_out_of_reach(
    desk: Desk, project: Project
) -> None:
    contact = make_contact(project)
    assert "Nothing can reach this person" in desk.open("notifications_contact_change", contact.pk)


def test_the_page_of_a_person_tells_what_was_sent_and_who_was_meant(
    desk: Desk, project: Project
) -> None:
    make_people(project, 5)
    contact = make_contact(project, attributes={"plan": "pro"})
    make_device(contact, platform="ios")
    make_people(project, 5)
    rules = {"all": [{"field": "attributes.plan", "op": "eq", "value": "pro"}]}
    run = make_run(project, name="Spring", audience=make_audience(project, rules=rules))
    everybody = make_run(project, name="Summer")
    settle(run, contact, "rejected", "unregistered")

    text = desk.open("person_sent", contact.pk)

    assert text.index("Summer") < text.index("Waiting") < text.index("Spring")
    assert "Rejected" in text and "App uninstalled" in text and "comes back by itself" in text
    assert "Chosen by: plan is pro" in text and "Not chosen" not in text
    assert everybody.planned == 11


def test_a_run_that_passed_them_over_says_whom_it_was_for(desk: Desk, project: Project) -> None:
    contact = make_contact(project, attributes={"plan": "free"})
    make_device(contact)
    rules = {"all": [{"field": "attributes.plan", "op": "eq", "value": "pro"}]}
    make_run(project, name="Spring", audience=make_audience(project, rules=rules))
    text = desk.open("person_sent", contact.pk)
    assert "Not chosen for one run" in text and "Its audience: plan is pro" in text


def test_a_run_whose_recipients_were_removed_says_that_nobody_can_tell(
    desk: Desk, project: Project
) -> None:
    run = ended_each_way(project)
    forgetting.forget(run, by="test", now=timezone.now())
    contact = Contact.objects.get(external_id="got")
    text = desk.open("person_sent", contact.pk)
    assert "Not known for one run" in text and "Spring" in text
    assert "Nobody can tell any more: its recipients were removed on" in text
    assert "Not chosen" not in text and "Nothing was sent" not in text

    make_run(project, name="Summer", audience=make_audience(project, rules=NOBODY))
    text = desk.open("person_sent", contact.pk)
    assert "Nothing was sent to this person in the one run looked at" in text
    assert "Not chosen for one run" in text and "Not known for one run" in text


@pytest.mark.parametrize(
    ("cancelled", "said"),
    [
        (False, "Its people are still being chosen: this person is not among those chosen so far"),
        (True, "It was stopped before all its people were chosen"),
    ],
)
def test_a_run_that_has_not_come_to_a_person_yet_does_not_say_that_it_passed_them_over(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch, cancelled: bool, said: str
) -> None:
    monkeypatch.setattr(freezing, "DEVICES_AT_ONCE", 6)
    last = make_people(project, 8)[-1].contact
    run = make_run(project, name="Spring")
    assert run.freezing and last
    if cancelled:
        run.cancel()
    text = desk.open("person_sent", last.pk)
    assert "Not known for one run" in text and said in text
    assert "Not chosen" not in text and "Nothing was sent" not in text


def test_runs_of_other_projects_are_not_told(desk: Desk, project: Project) -> None:
    other = make_project(name="Museum")
    make_people(other, 1)
    make_run(other, name="Theirs")
    contact = make_contact(project)
    assert "No run has started yet" in desk.open("person_sent", contact.pk)


def test_older_runs_are_a_click_away(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("campaigns.runs.pages.sent_to_person.RUNS", 2)
    contact = make_contact(project)
    make_device(contact)
    runs = [make_run(project, name=f"Number {number}") for number in range(1, 4)]
    first = desk.open("person_sent", contact.pk)
    assert "Number 3" in first and "Number 2" in first and "Number 1" not in first
    assert "Look through older runs" in first
    second = desk.open("person_sent", contact.pk, before=runs[1].pk)
    assert "Number 1" in second and "Number 2" not in second and "older runs" not in second


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("release", ["this one", "the one before"])
def test_everybody_of_a_snapshot_is_found_and_nobody_else(
    project: Project, size: int, release: str
) -> None:
    people = []
    for number in range(size):
        people.append(make_contact(project, attributes={"group": "in"}))
        for _ in range(1 + number % 3):
            make_device(people[-1])
    stranger = make_contact(project, attributes={"group": "out"})
    make_device(stranger)
    rules = {"all": [{"field": "attributes.group", "op": "eq", "value": "in"}]}
    run = make_run(project, audience=make_audience(project, rules=rules))
    if release == "the one before":  # it made no index, and numbered by person, as these are
        forget_index(run)
    seqs = count(1)
    for number, contact in enumerate(people):
        found = [sent.seq for sent in sent_to(contact.pk, [run.pk])]
        assert found == [next(seqs) for _ in range(1 + number % 3)]
    assert sent_to(stranger.pk, [run.pk]) == []
    assert sent_to(0, [run.pk]) == []


def forget_index(run: Run) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX {PERSON_INDEX}{run.pk}")


def test_a_person_who_registers_another_phone_later_is_found(project: Project) -> None:
    people = [device.contact for device in make_people(project, 30)]
    second = [make_device(contact) for contact in people[:10]]
    run = make_run(project)

    for contact in people:
        rows = Recipient.objects.filter(run_id=run.pk, contact_id=contact.pk).order_by("seq")
        seqs = list(rows.values_list("seq", flat=True))
        assert len(seqs) == 1 + sum(device.contact_id == contact.pk for device in second)
        assert [sent.seq for sent in sent_to(contact.pk, [run.pk])] == seqs
        assert [row.seq for row in asked_for(run, contact)] == seqs


def asked_for(run: Run, contact: Contact) -> list[Row]:
    return page(run, Filters(person=contact.external_id), after=0, limit=10)


def test_a_person_who_lost_a_phone_is_found_in_the_run_it_was_in(project: Project) -> None:
    people = [device.contact for device in make_people(project, 8)]
    moved, removed = make_device(people[0]), make_device(people[1])
    run = make_run(project)

    Device.objects.filter(pk=moved.pk).update(contact=people[7])
    removed.delete()

    assert [sent.seq for sent in sent_to(people[0].pk, [run.pk])] == [1, 9]
    assert [sent.seq for sent in sent_to(people[1].pk, [run.pk])] == [2, 10]
    assert [sent.seq for sent in sent_to(people[7].pk, [run.pk])] == [8]


def test_a_person_is_found_while_the_run_is_being_frozen(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freezing, "DEVICES_AT_ONCE", 6)
    people = [device.contact for device in make_people(project, 5)]
    make_device(people[0])
    make_people(project, 1)

    run = make_run(project)

    assert run.freezing
    assert [sent.seq for sent in sent_to(people[0].pk, [run.pk])] == [1, 6]
    engine.advance(run.pk, now=timezone.now())
    assert not Run.objects.get(pk=run.pk).freezing
    assert [sent.seq for sent in sent_to(people[0].pk, [run.pk])] == [1, 6]
