"""What FCM said without accepting is kept, person by person; where it accepted, nothing is."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from campaigns.engine import engine, forgetting
from campaigns.runs.claiming import Fenced, claim
from campaigns.runs.ledger import MAX_ANSWERS, Answer, Delivery, Retry, Window
from campaigns.runs.run import Run
from campaigns.sending import sending, settling
from campaigns.sending.judge_answers import Judged
from campaigns.sending.unsettled import left_to_send
from notifications.gateway import Arrived, Outcome, Verdict
from notifications.people.device import Device
from notifications.people.project import Project
from tests.given.builders import make_people, make_run
from tests.servers.fcm import Fcm


def try_again(run: Run) -> None:
    """Whatever waits for another try is due now."""
    Retry.objects.update(not_before=timezone.now() - timedelta(hours=1))
    engine.advance(run.pk, now=timezone.now() + timedelta(minutes=5))
    sending.send(run.pk, 1, run.epoch)


def answers_to(device: Device) -> list[Answer]:
    return list(Answer.objects.filter(contact_id=device.contact_id).order_by("attempt"))


def test_nothing_is_written_for_a_window_whose_answers_are_all_acceptances(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, 3)
    run = make_run(project)

    with CaptureQueriesContext(connection) as asked:
        assert sending.send(run.pk, 1, run.epoch) == {"accepted": 3}

    assert not [query for query in asked if "campaigns_answer" in query["sql"]]
    assert not Answer.objects.exists()


@pytest.mark.parametrize(
    ("address", "http", "code", "reason", "may_have_arrived"),
    [
        ("dead-1:APA91b", 404, "UNREGISTERED", "unregistered", False),
        ("throttled-1:APA91b", 429, "QUOTA_EXCEEDED", "throttled", False),
        ("broken-1:APA91b", 500, "INTERNAL", "server_error", True),
        ("lost-1:APA91b", 0, "", "unanswered", True),
    ],
)
def test_an_answer_is_kept_as_fcm_gave_it(
    project: Project, fcm: Fcm, address: str, http: int, code: str, reason: str,
    may_have_arrived: bool,
) -> None:  # fmt: skip
    device, _ = make_people(project, [address, ""])
    run = make_run(project)

    sending.send(run.pk, 1, run.epoch)

    (answer,) = answers_to(device)
    assert (answer.http, answer.code, answer.reason) == (http, code, reason)
    assert answer.may_have_arrived is may_have_arrived
    assert answer.detail
    window = Window.objects.get(run=run)
    assert window.settled_at == answer.at >= window.opened_at
    assert Answer.objects.count() == 1, "who was accepted has none"


def test_each_try_has_its_own(project: Project, fcm: Fcm) -> None:
    (device,) = make_people(project, ["broken-1:APA91b"])
    run = make_run(project)
    sending.send(run.pk, 1, run.epoch)
    for _ in range(2):
        fcm.reset()  # it has forgotten the request, and answers the same once more
        try_again(run)

    assert [answer.attempt for answer in answers_to(device)] == [1, 2, 3]
    assert Delivery.objects.get(run_id=run.pk).reason == "server_error"


def test_of_nobody_more_than_so_many_are_kept(project: Project, fcm: Fcm) -> None:
    often, once = make_people(project, ["devicerate-1:APA91b", "devicerate-2:APA91b"])
    run = make_run(project)
    sending.send(run.pk, 1, run.epoch)
    run.chunks.update(attempt=MAX_ANSWERS + 20)
    kept = Answer.objects.get(contact_id=often.contact_id)
    for attempt in range(2, MAX_ANSWERS + 1):
        kept.pk = (run.pk, kept.seq, attempt)
        kept.save(force_insert=True)
    fcm.reset()
    try_again(run)

    assert len(answers_to(often)) == MAX_ANSWERS
    assert len(answers_to(once)) == 2


def test_an_answer_that_only_stops_the_run_is_kept_too(project: Project, fcm: Fcm) -> None:
    (device,) = make_people(project, 1)
    run = make_run(project)
    fcm.script("answer", answer="norole")
    sending.send(run.pk, 1, run.epoch)

    run.refresh_from_db()
    assert run.state == "paused"
    (answer,) = answers_to(device)
    assert (answer.http, answer.verdict) == (403, "unauthorised")


def test_who_lost_the_chunk_writes_none(project: Project, fcm: Fcm) -> None:
    """Another worker has claimed it meanwhile."""
    make_people(project, ["dead-1:APA91b"])
    run = make_run(project)
    lost = claim(run.pk, 1, run.epoch, task_id=None)
    assert lost is not None
    (left,) = left_to_send(lost)
    run.chunks.update(attempt=2)
    outcome = Outcome(
        reference=left.reader.reference, verdict=Verdict.DEAD_ADDRESS, arrived=Arrived.NO
    )
    with pytest.raises(Fenced):
        settling.settle(lost, None, Judged(unaccepted=[(left, outcome)]))
    assert not Answer.objects.exists()


def test_they_go_with_their_run(project: Project, fcm: Fcm) -> None:
    make_people(project, ["dead-1:APA91b"])
    run = make_run(project)
    sending.send(run.pk, 1, run.epoch)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert run.state == "finished" and Answer.objects.exists()

    forgetting.forget(run, by="user:alice", now=timezone.now())

    assert not Answer.objects.exists()


def test_they_go_with_their_person_and_the_delivery_stays(project: Project, fcm: Fcm) -> None:
    ada, bob = make_people(project, ["dead-1:APA91b", "dead-2:APA91b"])
    run = make_run(project)
    sending.send(run.pk, 1, run.epoch)

    ada.contact.delete()

    assert not answers_to(ada)
    assert len(answers_to(bob)) == 1
    assert Delivery.objects.filter(run_id=run.pk).count() == 2
