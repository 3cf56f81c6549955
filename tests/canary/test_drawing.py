"""Who goes first: a share of everybody by chance, whole people, the same ones each time."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from campaigns import control
from campaigns.canary import choose_people
from campaigns.canary.first_part import HELD_UNTIL, FirstPart
from campaigns.engine import engine, freezing
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from notifications.people.device import Device
from notifications.people.project import Project
from tests.given.builders import make_campaign, make_contact, make_device, make_people, make_run

FIRST: dict[str, Any] = {"first_percent": 10, "first_least": 5}


def first_devices(run: Run) -> list[int]:
    """In the order of the devices' ids."""
    found: list[int] = []
    for chunk in run.chunks.filter(follows=False):
        rows = Recipient.objects.filter(run_id=run.pk, seq__range=(chunk.first_seq, chunk.last_seq))
        found += rows.values_list("device_id", flat=True)
    return sorted(found)


@given(st.integers(0, 10_000_000), st.integers(1, 50), st.integers(1, 1_000_000))
def test_the_first_part_is_the_share_or_the_least_and_never_everybody(
    devices: int, percent: int, least: int
) -> None:
    first = choose_people.size_of(devices, percent, least)
    if devices <= least:
        assert first == 0
    else:
        assert least <= first < devices
        assert first >= devices * percent / 100
        assert first == least or first < devices * percent / 100 + 1


def test_without_a_share_nobody_goes_first() -> None:
    assert choose_people.size_of(1_000_000, None, 1) == 0


@pytest.mark.django_db
@given(run_id=st.integers(1, 2**31), start=st.integers(1, 2**40))
def test_the_draw_is_even_wherever_the_ids_lie_and_the_same_for_a_run(
    run_id: int, start: int
) -> None:
    lower, all_of_it = _below_zero(run_id, start)
    assert all_of_it == 2_000
    assert 850 < lower < 1_150  # 6.7 standard deviations
    assert (lower, all_of_it) == _below_zero(run_id, start)


def _below_zero(run_id: int, start: int) -> tuple[int, int]:
    """How many of two thousand people in a row have a place in the lower half."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FILTER (WHERE {choose_people.place(run_id)} < 0), count(*)"
            " FROM generate_series(%s::bigint, %s) AS people (contact_id)",
            [start, start + 1_999],
        )
        lower, everybody = cursor.fetchone()
    return lower, everybody


@pytest.mark.django_db
def test_a_tenth_goes_first_by_chance_and_not_who_came_first(project: Project) -> None:
    devices = [device.pk for device in make_people(project, 200)]

    one, other = make_run(project, **FIRST), make_run(project, **FIRST)

    drawn = first_devices(one)
    assert len(drawn) == 20 == FirstPart.objects.get(run=one).devices
    assert drawn != devices[:20] and drawn[-1] > devices[100]
    assert drawn != first_devices(other)
    held = one.chunks.filter(follows=True)
    assert {chunk.not_before for chunk in held} == {HELD_UNTIL}
    assert sum(chunk.size for chunk in one.chunks.all()) == one.planned == 200


@pytest.mark.django_db
def test_all_devices_of_a_person_go_together_though_frozen_in_other_parts(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freezing, "DEVICES_AT_ONCE", 30)
    people = [device.contact for device in make_people(project, 100)]
    for _ in range(2):
        for person in people:
            make_device(person)

    run = make_run(project, **FIRST)

    drawn = first_devices(run)
    owners = Device.objects.filter(pk__in=drawn).values_list("contact_id", flat=True).distinct()
    assert 30 <= len(drawn) <= 32
    assert len(drawn) == 3 * owners.count()
    parts = {device // 30 for device in drawn}
    assert len(parts) > 5, "it is drawn from all parts"
    assert (run.planned, run.people, run.freezing) == (300, 100, False)


@pytest.mark.django_db
def test_of_too_few_all_go_at_once(project: Project) -> None:
    make_people(project, 5)

    run = make_run(project, **FIRST)

    assert not FirstPart.objects.exists()
    assert run.state == "sending"
    assert not run.chunks.filter(follows=True).exists()


@pytest.mark.django_db
def test_of_one_person_with_many_devices_none_waits(project: Project) -> None:
    owner = make_contact(project)
    for _ in range(8):
        make_device(owner)

    run = make_run(project, **FIRST)

    assert not FirstPart.objects.exists()
    assert run.chunks.get().size == 8


@pytest.mark.django_db
def test_a_run_without_a_first_part_is_numbered_and_asked_as_ever(project: Project) -> None:
    devices = make_people(project, 30)
    run = make_run(project)

    rows = Recipient.objects.filter(run_id=run.pk).order_by("seq")
    assert list(rows.values_list("device_id", flat=True)) == [device.pk for device in devices]
    assert not run.chunks.filter(follows=True).exists()


@pytest.mark.django_db
def test_who_dies_in_the_draw_leaves_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 30)
    run = control.launch(make_campaign(project, **FIRST), by="user:a", now=timezone.now())

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as then:
        then.setattr(freezing, "_cut_drawn", dies)
        with pytest.raises(KeyboardInterrupt):
            engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert (run.state, run.planned, run.chunks.count()) == ("preparing", None, 0)

    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert (run.state, run.planned) == ("sending", 30)
    assert FirstPart.objects.get(run=run).devices == 5
