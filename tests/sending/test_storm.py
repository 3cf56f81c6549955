"""Far more requests than recipients: whatever the cause, the run stops and asks a person."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine
from campaigns.runs import claiming
from campaigns.runs.ledger import Delivery, Retry, Window
from campaigns.runs.reasons import Reason
from campaigns.sending import sending, settling
from campaigns.sending.judge_answers import Final, Judged
from campaigns.sending.unsettled import left_to_send
from notifications.people.project import Project
from tests.given.builders import make_people, make_run
from tests.given.by_hand import let_leases_lapse, work
from tests.given.forgetting import flush_gate
from tests.servers.fcm import Fcm


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "answer", "answer": {"status": status, "body": ""}}
        for status in (408, 500, 502, 503, 504)
    ]
    + [{"kind": "drop"}, {"kind": "cut"}],
    ids=str,
)
def test_a_storm_of_copies_pauses_the_run(project: Project, fcm: Fcm, fault: Any) -> None:
    """FCM takes everything, and every answer is bad or gets lost on its way back."""
    make_people(project, 30)
    run = make_run(project, on_unknown="resend")
    fcm.script(**fault, accepted=True)
    sending.send(run.pk, 1, run.epoch)
    assert run.chunks.get().copies == len(fcm.witness()) == 30
    run.chunks.update(copies=131)

    engine.advance(run.pk, now=timezone.now())

    run.refresh_from_db()
    assert (run.state, run.cause) == ("paused", "storm")
    assert (run.detail_code, run.detail_args) == ("storm", {"copies": 131, "planned": 30})

    fcm.mend()
    flush_gate()
    control.resume(run, by="user:alice")
    Retry.objects.update(not_before=timezone.now() - timedelta(seconds=30))
    run.chunks.update(not_before=None)
    assert work(run).state == "finished", "a person saw it, and has said to go on"
    assert run.accepted == 30


def test_what_dead_workers_had_in_flight_counts_towards_the_storm(project: Project) -> None:
    make_people(project, 150)
    run = make_run(project)
    for _ in range(3):
        claim = claiming.claim(run.pk, 1, run.epoch, task_id=None)
        assert claim is not None
        Window.objects.create(
            run=run, chunk=claim.chunk, attempt=claim.chunk.attempt, seqs=list(range(1, 121)),
            opened_at=timezone.now(),
        )  # fmt: skip
        let_leases_lapse()
        engine.advance(run.pk, now=timezone.now())
    claiming.claim(run.pk, 1, run.epoch, task_id=None)

    engine.advance(run.pk, now=timezone.now())

    run.refresh_from_db()
    assert (run.state, run.cause) == ("paused", "storm")


def test_copies_that_a_person_asked_for_make_no_storm(project: Project, fcm: Fcm) -> None:
    make_people(project, 80)
    run = make_run(project, on_unknown="hold")
    granted = claiming.claim(run.pk, 1, run.epoch, task_id=None)
    assert granted is not None
    lost = [
        Final(left, Delivery.Status.UNKNOWN, Reason.UNANSWERED) for left in left_to_send(granted)
    ]
    settling.settle(granted, None, Judged(lost))
    run.chunks.update(copies=80)
    assert granted.close()
    engine.advance(run.pk, now=timezone.now())

    for _ in range(3):
        assert control.send_again(run, by="user:alice") == 80
        fcm.script("cut", times=80)
        work(run)
        fcm.mend()
        flush_gate()

    run.refresh_from_db()
    assert (run.state, run.unknown, run.cause) == ("finished", 80, "")
    assert run.chunks.get().copies == 320


@pytest.mark.parametrize("answer", ["quota", "vague", {"status": 418, "body": "tea"}], ids=str)
def test_refusals_make_no_storm(project: Project, fcm: Fcm, answer: Any) -> None:
    make_people(project, 50)
    run = make_run(project)
    fcm.script("answer", answer=answer)

    sending.send(run.pk, 1, run.epoch)

    assert fcm.counts()["requests"] > 0
    assert run.chunks.get().copies == 0
