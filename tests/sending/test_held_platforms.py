"""A platform whose key Firebase lacks is held back; the others go on, then a person is asked."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from campaigns import control
from campaigns.results import reports
from campaigns.runs import claiming, sums
from campaigns.runs.ledger import Delivery
from campaigns.runs.reasons import Reason
from campaigns.sending import sending, settling
from campaigns.sending.judge_answers import Final, Judged
from campaigns.sending.release_chunk import GATHERING, hand_back
from campaigns.sending.unsettled import UnsettledRecipient, left_to_send
from notifications.people.consent.record import EVERYTHING, ConsentAnswer, record_answers
from notifications.people.consent.suppression import suppress
from notifications.people.device import Device
from notifications.people.project import Project
from tests.given.builders import addresses, make_people, make_run
from tests.given.by_hand import work
from tests.servers import beside
from tests.servers.fcm import Fcm


def make_phones(project: Project, platform: str, given: Any) -> list[Device]:
    phones = make_people(project, given)
    Device.objects.filter(pk__in=[phone.pk for phone in phones]).update(platform=platform)
    return phones


def test_a_missing_apns_key_stops_ios_and_nothing_else(project: Project, fcm: Fcm) -> None:
    make_phones(project, "ios", addresses(thirdparty=40))
    make_people(project, 200)

    run = work(make_run(project))

    assert (run.state, run.cause) == ("paused", "platform_key")
    assert (run.detail_code, run.detail_args) == ("held", {"count": 40, "platforms": ["ios"]})
    totals = sums.totals_of(run)
    assert (totals.accepted, totals.waiting) == (200, 40)
    assert not Device.objects.filter(retired_at__isnull=False).exists()


def test_with_the_key_in_place_the_held_platform_goes_out(project: Project, fcm: Fcm) -> None:
    phones = make_phones(project, "ios", addresses(thirdparty=40))
    make_people(project, 200)
    run = work(make_run(project))
    for phone in phones:
        phone.address, phone.platform = f"live{phone.pk}:APA91b", "ios"
    Device.objects.bulk_update(phones, ["address", "platform"])

    control.resume(run, by="user:alice")
    run = work(run)

    assert run.state == "finished"
    assert sums.totals_of(run).accepted == 240
    assert len({record["address"] for record in fcm.witness()}) == 240


def test_one_odd_device_does_not_stop_its_platform(project: Project, fcm: Fcm) -> None:
    make_phones(project, "ios", addresses(live=20, thirdparty=1))

    run = work(make_run(project))

    assert run.state == "finished"
    assert Delivery.objects.get(run_id=run.pk, status="rejected").reason == "platform_key"


def test_a_platform_of_few_devices_is_held_as_well(project: Project, fcm: Fcm) -> None:
    """Four of each window, and the very first has worked: the key was deleted since."""
    make_phones(project, "ios", ["live0:x"])
    phones = [a for n in range(20) for a in (f"thirdparty-{n}:x", *[""] * 40)]
    make_people(project, phones)
    ios = Device.objects.filter(address__startswith="thirdparty")
    ios.update(platform="ios")

    run = work(make_run(project))

    assert (run.state, run.cause) == ("paused", "platform_key")
    assert run.detail_code == "held"
    assert run.detail_args and run.detail_args["platforms"] == ["ios"]


def test_a_person_who_knows_better_than_the_one_odd_phone_is_believed(
    project: Project, fcm: Fcm
) -> None:
    make_phones(project, "ios", addresses(thirdparty=1))
    make_people(project, 5)
    run = work(make_run(project))
    assert (run.state, run.cause) == ("paused", "platform_key")

    control.resume(run, by="user:alice")
    run = work(run)

    assert run.state == "finished"
    assert reports.reasons_of(run) == {"platform_key": 1}


def test_a_chunk_handed_back_by_a_worker_that_missed_the_resume_goes_out(
    project: Project, fcm: Fcm
) -> None:
    make_phones(project, "ios", 3)
    run = make_run(project)
    run.hold_back("ios")
    granted = claiming.claim(run.pk, 1, run.epoch, task_id=None)
    assert granted
    control.pause(run, by="user:alice")
    control.resume(run, by="user:alice")
    hand_back(granted, opens_at=None)
    assert run.chunks.get().state == "held"

    run = work(run)

    assert (run.state, run.accepted) == ("finished", 3)


@pytest.mark.django_db(transaction=True)
def test_a_chunk_is_not_held_when_a_person_sends_again_to_somebody_of_it(
    transactional_db: None, project: Project, fcm: Fcm
) -> None:
    make_phones(project, "ios", 3)
    make_people(project, 2)
    run = make_run(project, on_unknown="hold")
    run.hold_back("ios")
    granted = claiming.claim(run.pk, 1, run.epoch, task_id=None)
    assert granted
    settling.settle(granted, None, Judged([lost(left) for left in left_to_send(granted)]))
    parting = threading.Thread(target=hand_back_beside, args=[granted])
    with transaction.atomic():
        control.send_again(run, by="user:alice")
        parting.start()
        parting.join(0.5)  # it waits for us
    parting.join()

    assert run.chunks.get().state == "waiting"
    due = run.chunks.get().not_before
    assert due is None or due < timezone.now() + GATHERING


def hand_back_beside(granted: claiming.Claim) -> None:
    hand_back(granted, opens_at=None)
    connection.close()


def lost(left: UnsettledRecipient) -> Final:
    return Final(left, Delivery.Status.UNKNOWN, Reason.UNANSWERED)


def test_a_platform_is_held_back_though_the_runs_row_is_taken_for_a_while(
    transactional_db: None, project: Project, fcm: Fcm
) -> None:
    """By whoever writes it for long; the answers in hand must not be lost."""
    make_phones(project, "ios", addresses(thirdparty=20))
    make_people(project, 5)
    run = make_run(project)
    with beside.connected() as freezing:
        freezing.execute("SELECT FROM campaigns_run FOR NO KEY UPDATE")
        free = threading.Timer(4, freezing.rollback)
        free.start()

        settled = sending.send(run.pk, 1, run.epoch)

        free.join()
    assert settled == {"accepted": 5}
    assert len(fcm.witness()) == 5
    run.refresh_from_db()
    assert run.held_platforms == ["ios"]


def test_a_cancelled_run_closes_what_it_held_back(project: Project, fcm: Fcm) -> None:
    make_phones(project, "ios", addresses(thirdparty=20))
    make_people(project, 5)
    run = work(make_run(project))

    control.cancel(run, by="user:alice")
    run = work(run)

    assert reports.recount(run).as_dict() == {
        "planned": 25, "accepted": 5, "rejected": 0, "skipped": 20, "unknown": 0, "waiting": 0,
    }  # fmt: skip


def test_who_said_no_while_their_platform_was_held_is_skipped_when_it_goes_on(
    project: Project, fcm: Fcm
) -> None:
    phones = make_phones(project, "ios", addresses(thirdparty=40))
    make_people(project, 20)
    run = work(make_run(project))
    assert (run.state, sums.totals_of(run).waiting) == ("paused", 40)
    for phone in phones:
        phone.address, phone.platform = f"live{phone.pk}:APA91b", "ios"
    Device.objects.bulk_update(phones, ["address", "platform"])
    ids = [phone.contact.external_id for phone in phones]
    now = timezone.now()
    record_answers(
        project, [ConsentAnswer(ids[0], EVERYTHING, False)], source="app", by="key:abc", now=now
    )
    suppress(project, [ids[1]], reason="", by="user:alice", now=now)
    phones[2].contact.delete()

    control.resume(run, by="user:alice")
    run = work(run)

    assert run.state == "finished"
    rows = Delivery.objects.filter(run_id=run.pk)
    assert rows.count() == run.planned == 60
    left_out = {
        phones[0].pk: "unsubscribed",
        phones[1].pk: "suppressed",
        phones[2].pk: "device_gone",
    }
    skipped = rows.filter(status="skipped").values_list("device_id", "reason")
    assert dict(skipped) == left_out and len(skipped) == 3
    assert len({record["address"] for record in fcm.witness()}) == 57
    assert reports.recount(run) == sums.totals_of(run)
