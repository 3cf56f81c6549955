"""Who said no after the launch is skipped, and asked for again when the window opens."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from campaigns.runs import series
from campaigns.runs.claiming import Claim, Locked, Opened, claim
from campaigns.runs.ledger import Delivery, Window
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.people.consent.category import Category
from notifications.people.consent.record import EVERYTHING, ConsentAnswer, record_answers
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from tests.given.builders import make_people, make_run
from tests.given.consent import decline, never
from tests.given.waiting import eventually, somebody_waits
from tests.servers.fcm import Fcm

MARKETING, TRANSACTIONAL, CRITICAL = Category.Kind.values
Leaving = Callable[[Contact], object]


def erase(contact: Contact) -> None:
    contact.delete()


def make_category(project: Project, kind: str = MARKETING) -> Category:
    return Category.objects.create(project=project, name="Offers", slug="offers", kind=kind)


def ends_of(run: Run) -> dict[int, tuple[str, str]]:
    rows = Delivery.objects.filter(run_id=run.pk).values_list("device_id", "status", "reason")
    return {device: (status, reason) for device, status, reason in rows}


@pytest.fixture
def before_the_window(monkeypatch: pytest.MonkeyPatch) -> Callable[[Leaving, Device], None]:
    """Somebody leaves after the chunk was read, and before the window opens."""

    def leaves(how: Leaving, device: Device) -> None:
        open_window = Claim.open_window

        def after_they_left(claim: Claim, *args: Any) -> Opened | None:
            if Contact.objects.filter(pk=device.contact_id).exists():
                how(device.contact)
            return open_window(claim, *args)

        monkeypatch.setattr(Claim, "open_window", after_they_left)

    return leaves


LEAVES: list[tuple[Leaving, str]] = [
    (decline, "unsubscribed"),
    (never, "suppressed"),
    (erase, "device_gone"),
]


@pytest.mark.parametrize(("how", "reason"), LEAVES)
def test_who_leaves_after_the_freeze_is_skipped_for_that_reason(
    project: Project, fcm: Fcm, how: Leaving, reason: str
) -> None:
    leaver, stays = make_people(project, 2)
    run = make_run(project)
    how(leaver.contact)
    sending.send(run.pk, 1, run.epoch)
    assert ends_of(run) == {leaver.pk: ("skipped", reason), stays.pk: ("accepted", "")}
    assert [record["address"] for record in fcm.witness()] == [stays.address]


@pytest.mark.parametrize(("how", "reason"), LEAVES)
def test_who_leaves_between_the_reading_and_the_window_is_skipped_too(
    project: Project,
    fcm: Fcm,
    before_the_window: Callable[[Leaving, Device], None],
    how: Leaving,
    reason: str,
) -> None:
    leaver, stays = make_people(project, 2)
    run = make_run(project)
    before_the_window(how, leaver)
    sending.send(run.pk, 1, run.epoch)
    assert ends_of(run) == {leaver.pk: ("skipped", reason), stays.pk: ("accepted", "")}
    assert [record["address"] for record in fcm.witness()] == [stays.address]
    named = Window.objects.get(run=run).seqs  # the window names nobody to whom nothing left
    assert len(named) == 1


def test_a_no_in_a_pause_is_heard_when_the_run_goes_on(project: Project, fcm: Fcm) -> None:
    (device,) = make_people(project, 1)
    run = make_run(project)
    run.pause(Cause.BY_HAND)
    decline(device.contact)
    run.resume()
    run.refresh_from_db()
    run.chunks.update(state="queued")
    sending.send(run.pk, 1, run.epoch)
    assert ends_of(run) == {device.pk: ("skipped", "unsubscribed")}
    assert fcm.witness() == []


def test_who_is_back_by_their_turn_gets_it(project: Project, fcm: Fcm) -> None:
    (device,) = make_people(project, 1)
    decline(device.contact)
    run = make_run(project)
    yes = ConsentAnswer(device.contact.external_id, EVERYTHING, True)
    record_answers(project, [yes], source="app", by="key:abc", now=timezone.now())
    sending.send(run.pk, 1, run.epoch)
    assert ends_of(run) == {device.pk: ("accepted", "")}


@pytest.mark.parametrize(
    ("kind", "end"),
    [(MARKETING, "unsubscribed"), (TRANSACTIONAL, ""), (CRITICAL, "")],
)
@pytest.mark.parametrize("category", [EVERYTHING, "offers"])
def test_only_marketing_asks_whether_it_is_wanted(
    project: Project, fcm: Fcm, kind: str, end: str, category: str
) -> None:
    (device,) = make_people(project, 1)
    decline(device.contact, category)
    run = make_run(project, category=make_category(project, kind))
    sending.send(run.pk, 1, run.epoch)
    assert ends_of(run) == {device.pk: ("skipped" if end else "accepted", end)}


@pytest.mark.parametrize("kind", Category.Kind.values)
def test_suppressed_people_get_nothing_of_any_kind(project: Project, fcm: Fcm, kind: str) -> None:
    (device,) = make_people(project, 1)
    never(device.contact)
    run = make_run(project, category=make_category(project, kind))
    sending.send(run.pk, 1, run.epoch)
    assert ends_of(run) == {device.pk: ("skipped", "suppressed")}
    assert fcm.witness() == []


def test_who_declined_another_category_gets_this_one(project: Project, fcm: Fcm) -> None:
    (device,) = make_people(project, 1)
    decline(device.contact, "news")
    run = make_run(project, category=make_category(project))
    sending.send(run.pk, 1, run.epoch)
    assert ends_of(run) == {device.pk: ("accepted", "")}


def test_the_kind_in_force_is_the_one_of_the_launch(project: Project, fcm: Fcm) -> None:
    (device,) = make_people(project, 1)
    decline(device.contact)
    category = make_category(project)
    run = make_run(project, category=category)
    Category.objects.filter(pk=category.pk).update(kind=CRITICAL)
    assert series.repeated(run, timezone.now()).category_kind == MARKETING
    sending.send(run.pk, 1, run.epoch)
    assert ends_of(run) == {device.pk: ("skipped", "unsubscribed")}


def test_a_suppressed_person_who_is_written_anew_is_still_suppressed(
    project: Project, fcm: Fcm
) -> None:
    never(Contact(project=project, external_id="ada"))
    (device,) = make_people(project, 1)
    Contact.objects.filter(pk=device.contact_id).update(external_id="ada")
    run = make_run(project)
    sending.send(run.pk, 1, run.epoch)
    assert ends_of(run) == {device.pk: ("skipped", "suppressed")}


def pause(contact: Contact) -> None:
    Run.objects.get().pause(Cause.BY_HAND)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("how", [decline, pause])
def test_a_window_that_met_a_locked_chunk_hears_what_was_said_meanwhile(
    project: Project, how: Leaving
) -> None:
    make_people(project, 1)
    run = make_run(project)
    worker = claimed(run)
    tries: list[str] = []

    def noted(execute: Callable[..., Any], sql: str, *more: Any) -> Any:
        tries.append(sql)
        return execute(sql, *more)

    def open_window() -> Opened | None:
        with closing(connection), connection.execute_wrapper(noted):
            return worker.open_window([1], timezone.now())

    with ThreadPoolExecutor(1) as elsewhere:
        with transaction.atomic():
            run.chunks.select_for_update(no_key=True).get()  # as who sends again does
            asked = elsewhere.submit(open_window)
            eventually("the worker asks", lambda: len(tries) > 2 or somebody_waits())
            in_a_thread(lambda: how(Contact.objects.get()))
        opened = asked.result(30)
    assert not (opened and opened.seqs)


@pytest.mark.django_db(transaction=True)
def test_a_worker_whose_chunk_stays_locked_opens_no_window_and_keeps_its_chunk(
    project: Project,
) -> None:
    make_people(project, 1)
    run = make_run(project)
    worker = claimed(run)

    def open_window() -> None:
        with closing(connection), pytest.raises(Locked):
            worker.open_window([1], timezone.now())

    with ThreadPoolExecutor(1) as elsewhere, transaction.atomic():
        run.chunks.select_for_update(no_key=True).get()
        elsewhere.submit(open_window).result(30)
    assert not Window.objects.exists()
    assert worker.renew()


def claimed(run: Run) -> Claim:
    granted = claim(run.pk, 1, run.epoch, task_id=None)
    assert granted
    return granted


def in_a_thread(act: Callable[[], object]) -> None:
    def go() -> None:
        with closing(connection):
            act()

    with ThreadPoolExecutor(1) as elsewhere:
        elsewhere.submit(go).result(30)
