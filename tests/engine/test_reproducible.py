"""A run can be told apart and cut afterwards: its rows keep what they were, and a fingerprint."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from campaigns.engine import breakdowns, engine, freezing
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.run import Run
from campaigns.runs.sums import Breakdown
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device, make_people, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezing, "DEVICES_AT_ONCE", 4)
    monkeypatch.setattr(breakdowns, "RECIPIENTS_AT_ONCE", 4)


def step(run: Run) -> None:
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()


def frozen(project: Project) -> Run:
    run = make_run(project)
    while run.freezing:
        step(run)
    return run


def ended(run: Run, **statuses: str) -> Run:
    """Everybody accepted, but devices on these platforms."""
    for row in Recipient.objects.filter(run_id=run.pk):
        status = statuses.get(row.platform or "", "accepted")
        Delivery.objects.create(
            run_id=run.pk, seq=row.seq, device_id=row.device_id, status=status, attempt=1,
            reason="" if status == "accepted" else "too_long", at=timezone.now(),
        )  # fmt: skip
    for chunk in run.chunks.all():
        rows = Delivery.objects.filter(run_id=run.pk, seq__range=(chunk.first_seq, chunk.last_seq))
        sums = {name: rows.filter(status=name).count() for name in Delivery.Status.values}
        run.chunks.filter(pk=chunk.pk).update(state=Chunk.State.CLOSED, **sums)
    step(run)
    assert run.finished_at
    return run


def counted(run: Run) -> Any:
    for _ in range(10):
        if not breakdowns.has_more(run.pk):
            break
        step(run)
    return Breakdown.objects.get(run=run)


def test_a_recipient_keeps_what_they_were_when_the_run_was_frozen(project: Project) -> None:
    ada = make_contact(project, locale="de", timezone="Europe/Berlin")
    make_device(ada, platform="ios", app_version="4.1")

    run = frozen(project)
    Device.objects.all().delete()
    Contact.objects.all().delete()

    kept = Recipient.objects.get(run_id=run.pk)
    assert (kept.platform, kept.locale) == ("ios", "de")
    assert (kept.timezone, kept.app_version) == ("Europe/Berlin", "4.1")


def test_the_fingerprint_is_of_the_people_and_not_of_how_they_were_frozen(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 9)
    in_parts = frozen(project)
    monkeypatch.setattr(freezing, "DEVICES_AT_ONCE", 100)
    at_once = frozen(project)

    assert len(at_once.recipients_hash) == 32
    assert in_parts.recipients_hash == at_once.recipients_hash
    assert in_parts.evaluated_at and in_parts.started_at
    assert in_parts.evaluated_at > in_parts.started_at

    make_people(project, 1)
    assert frozen(project).recipients_hash not in ("", at_once.recipients_hash)


def test_an_unfinished_snapshot_has_no_fingerprint_yet(project: Project) -> None:
    make_people(project, 9)

    run = make_run(project)

    assert run.freezing
    assert (run.recipients_hash, run.evaluated_at) == ("", None)


def test_a_part_that_was_lost_on_the_way_does_not_spoil_the_fingerprint(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 9)
    whole = frozen(project)
    run = make_run(project)
    with monkeypatch.context() as broken:
        broken.setattr(freezing, "_people_of", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            freezing.freeze_next(run.pk, now=timezone.now())

    run.refresh_from_db()
    while run.freezing:
        step(run)

    assert run.recipients_hash == whole.recipients_hash


def test_an_ended_run_is_counted_by_platform_language_zone_and_version(project: Project) -> None:
    make_people(project, 5)
    for version in ("1.0", "1.1"):
        person = make_contact(project, locale="ko", timezone="Asia/Seoul")
        make_device(person, platform="ios", app_version=version)
    run = ended(frozen(project), ios="rejected")

    kept = counted(run)

    assert kept.is_of(run)
    assert kept.counts["platform"] == {"android": [5, 0, 0, 0], "ios": [0, 2, 0, 0]}
    assert kept.counts["locale"] == {"": [5, 0, 0, 0], "ko": [0, 2, 0, 0]}
    assert kept.counts["timezone"] == {"": [5, 0, 0, 0], "Asia/Seoul": [0, 2, 0, 0]}
    assert kept.counts["app_version"] == {
        "": [5, 0, 0, 0], "1.0": [0, 1, 0, 0], "1.1": [0, 1, 0, 0],
    }  # fmt: skip
    assert kept.others == {}


def test_a_count_whose_doorbell_was_lost_is_found_by_the_sweep(project: Project) -> None:
    make_people(project, 2)
    run = ended(frozen(project))
    assert not Breakdown.objects.exists()

    assert run.pk in engine.sweep(timezone.now())

    counted(run)
    assert run.pk not in engine.sweep(timezone.now())


def test_a_run_that_was_opened_again_is_counted_anew(project: Project) -> None:
    make_people(project, 2)
    run = ended(frozen(project), android="unknown")
    assert counted(run).counts["platform"] == {"android": [0, 0, 0, 2]}

    Delivery.objects.filter(run_id=run.pk).update(status="accepted", reason="")
    Run.objects.filter(pk=run.pk).update(finished_at=timezone.now())
    run.refresh_from_db()

    assert counted(run).counts["platform"] == {"android": [2, 0, 0, 0]}


def test_the_largest_of_very_many_values_are_kept_and_the_others_summed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(breakdowns, "MOST_VALUES", 3)
    monkeypatch.setattr(breakdowns, "SHOWN_VALUES", 2)
    person = make_contact(project)
    for version in "aaabbcd":
        make_device(person, app_version=version)

    kept = counted(ended(frozen(project)))

    assert kept.counts["app_version"] == {"a": [3, 0, 0, 0], "b": [2, 0, 0, 0]}
    assert kept.others["app_version"] == [2, 0, 0, 0]
