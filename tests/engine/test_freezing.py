"""An audience is frozen in parts: it sends meanwhile, and nobody is in it twice or left out."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from campaigns import control, tasks
from campaigns.engine import engine, freezing
from campaigns.results import reports
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.run import Run
from notifications.people.device import Device
from notifications.people.project import Project
from tests.given.builders import make_audience, make_contact, make_device, make_people, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def four_devices_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezing, "DEVICES_AT_ONCE", 4)
    monkeypatch.setattr(freezing, "size_for", lambda _: 3)


def advanced(run: Run) -> engine.ReleasedWave | None:
    ring = engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    return ring


def freeze(run: Run) -> None:
    """Step by step to the end, which must come."""
    for _ in range(20):
        if run.freezing:
            advanced(run)
    assert not run.freezing


def frozen(run: Run) -> list[tuple[int, int]]:
    rows = Recipient.objects.filter(run_id=run.pk).order_by("seq")
    return list(rows.values_list("seq", "device_id"))


def chunks(run: Run) -> list[tuple[int, int, int]]:
    return list(run.chunks.order_by("number").values_list("number", "first_seq", "last_seq"))


def accept_all(run: Run) -> None:
    """As if the workers had sent what is rung."""
    for chunk in run.chunks.exclude(state=Chunk.State.CLOSED):
        whom = Recipient.objects.filter(run_id=run.pk, seq__range=(chunk.first_seq, chunk.last_seq))
        Delivery.objects.bulk_create(
            Delivery(
                run_id=run.pk,
                seq=each.seq,
                device_id=each.device_id,
                status=Delivery.Status.ACCEPTED,
                attempt=1,
                at=timezone.now(),
            )
            for each in whom
        )
        run.chunks.filter(pk=chunk.pk).update(state=Chunk.State.CLOSED, accepted=len(whom))


def test_the_first_wave_leaves_while_the_rest_is_being_frozen(project: Project) -> None:
    make_people(project, 10)
    run = make_run(project, advanced=False)

    ring = advanced(run)

    assert ring is not None and ring.chunks == [1, 2]
    assert (run.state, run.planned, run.people, run.freezing) == ("sending", 4, 4, True)


def test_at_the_end_everybody_is_in_once_and_in_order(project: Project) -> None:
    devices = make_people(project, 9)
    twice = make_contact(project)
    devices += [make_device(twice), make_device(twice, platform="ios")]
    run = make_run(project)

    freeze(run)

    assert frozen(run) == [(seq, device.pk) for seq, device in enumerate(devices, start=1)]
    assert (run.planned, run.people) == (11, 10)
    assert chunks(run) == [(1, 1, 3), (2, 4, 4), (3, 5, 7), (4, 8, 8), (5, 9, 11)]


def test_a_part_is_as_long_as_its_devices_however_few_people_own_them(project: Project) -> None:
    owner = make_contact(project)
    for _ in range(10):
        make_device(owner)
    run = make_run(project)
    assert (run.planned, run.freezing) == (4, True)

    freeze(run)

    assert (run.planned, run.people) == (10, 1)


def test_a_person_with_devices_in_several_parts_is_one_person(project: Project) -> None:
    owners = [device.contact for device in make_people(project, 5)]
    for owner in owners:
        make_device(owner)
    run = make_run(project)

    freeze(run)

    assert (run.planned, run.people) == (10, 5)


@pytest.mark.parametrize("people", [0, 3, 4, 5, 8])
def test_a_part_that_is_just_full_hides_nobody(project: Project, people: int) -> None:
    make_people(project, people)
    run = make_run(project)
    freeze(run)
    assert run.planned == people


def test_parts_without_anybody_to_send_to_do_not_end_the_run(project: Project) -> None:
    make_people(project, 6)
    late = make_contact(project, attributes={"plan": "pro"})
    make_device(late)
    rules = {"field": "attributes.plan", "op": "eq", "value": "pro"}
    run = make_run(project, audience=make_audience(project, rules=rules), advanced=False)

    assert advanced(run) is None
    assert (run.state, run.planned) == ("sending", 0)
    ring = advanced(run)

    assert ring is not None and ring.chunks == [1]
    assert (run.planned, run.freezing) == (1, False)


def test_a_run_whose_first_part_is_done_waits_for_the_others(project: Project) -> None:
    make_people(project, 6)
    run = make_run(project)
    accept_all(run)

    advanced(run)

    assert (run.state, run.planned, run.waiting) == ("sending", 6, 2)
    accept_all(run)
    advanced(run)
    assert (run.state, reports.recount(run).accepted) == ("finished", 6)


def test_a_crash_costs_the_part_and_nothing_before_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 10)
    run = make_run(project)
    before = frozen(run), chunks(run)

    def die(where: str) -> None:
        raise SystemExit

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(freezing, "hit", die)
        advanced(run)
    run.refresh_from_db()

    assert (frozen(run), chunks(run)) == before
    assert (run.planned, run.freezing) == (4, True)
    freeze(run)
    assert run.planned == 10


def test_a_pause_changes_nobody_who_is_in(project: Project) -> None:
    make_people(project, 6)
    run = make_run(project)
    control.pause(run, by="user:alice")
    advanced(run)
    make_people(project, 3)
    assert (run.state, run.planned, run.freezing) == ("paused", 6, False)

    control.resume(run, by="user:alice")
    advanced(run)

    assert (run.state, run.planned) == ("sending", 6)


def test_a_cancel_meanwhile_closes_those_who_are_in(project: Project) -> None:
    make_people(project, 10)
    run = make_run(project)
    control.cancel(run, by="user:alice")

    advanced(run)

    assert run.finished_at is not None
    assert (run.planned, run.skipped, run.waiting) == (4, 4, 0)


def test_whoever_leaves_before_their_part_is_not_in(project: Project) -> None:
    gone = make_people(project, 6)[-1]
    run = make_run(project)
    Device.objects.filter(pk=gone.pk).delete()

    advanced(run)

    assert run.planned == 5


def test_a_person_who_registers_while_a_run_is_frozen_is_not_in_it(project: Project) -> None:
    make_people(project, 6)
    run = make_run(project)
    make_people(project, 3)

    freeze(run)

    assert run.planned == 6


def test_no_device_can_be_in_a_run_twice(project: Project) -> None:
    device = make_people(project, 1)[0]
    run = make_run(project)
    with pytest.raises(IntegrityError), transaction.atomic():
        Recipient.objects.create(
            run_id=run.pk, seq=2, contact_id=device.contact_id, device_id=device.pk
        )


def test_a_run_that_is_not_frozen_whole_cannot_be_called_finished(project: Project) -> None:
    make_people(project, 6)
    run = make_run(project)
    with pytest.raises(IntegrityError), transaction.atomic():
        run.move_to(Run.State.FINISHED, finished_at=timezone.now(), accepted=4)


@pytest.mark.django_db(transaction=True)
def test_the_task_enqueues_itself_until_everybody_is_frozen(
    project: Project, enqueued: list[int]
) -> None:
    """In a transaction, and counted before the broker: no worker of another test takes part."""
    make_people(project, 10)
    run = make_run(project, advanced=False)

    counts = []
    for _ in range(3):
        tasks.advance(run_id=run.pk)
        counts.append(len(enqueued))

    assert counts == [1, 2, 2]


def test_a_run_paused_by_hand_whose_rules_no_longer_work_enqueues_nothing(
    project: Project, enqueued: list[int]
) -> None:
    make_people(project, 9)
    run = make_run(project)
    control.pause(run, by="user:ada")
    assert run.freezing
    Run.objects.filter(pk=run.pk).update(rules={"field": "nonsense", "op": "eq", "value": 1})

    tasks.advance(run_id=run.pk)

    run.refresh_from_db()
    assert (run.state, run.cause, enqueued) == ("paused", "broken", [])
    assert "nonsense" in run.detail
