"""FCM fails for everybody: a run keeps its people's requests, and goes on alone when it is back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.utils import timezone

from campaigns.engine import engine
from campaigns.results import reports
from campaigns.runs import sums
from campaigns.runs.ledger import Retry, Window
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.pacing import gate as pacing
from notifications.pacing.fcm_signals import AnswerCounts
from notifications.pacing.gate import Gate, Limit, pace_of
from notifications.people.project import Project
from tests.given.builders import make_people, make_run
from tests.given.by_hand import work
from tests.given.forgetting import flush_gate
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm
from tests.servers.relay import Relay

GAP = 1.5


@pytest.fixture
def quick_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """FCM is tried after a second, not after ten, and even so nobody waits that long."""
    monkeypatch.setattr(sending, "WORTH_WAITING", 0.8 * GAP)
    hurried = pacing.SCRIPT.replace("FIRST_GAP = 10 ", f"FIRST_GAP = {GAP} ")
    assert hurried != pacing.SCRIPT
    monkeypatch.setattr(pacing, "SCRIPT", hurried)
    pacing._script.cache_clear()


@pytest.fixture(autouse=True)
def the_scripts_own_gaps() -> Iterator[None]:
    yield
    pacing._script.cache_clear()


def pace(run: Run) -> pacing.PaceNow:
    return pace_of(run.project, run.reference, run.rate_per_second)


def tried(run: Run) -> list[int]:
    """How many people each window was for."""
    seqs = Window.objects.filter(run=run).order_by("pk").values_list("seqs", flat=True)
    return [len(each) for each in seqs]


def is_tried_next(run: Run) -> None:
    """Wait until somebody may try."""
    eventually("FCM may be tried", lambda: (until := pace(run).until) and until <= timezone.now())


@pytest.mark.parametrize("answer", ["internal", "unavailable"])
def test_an_outage_costs_one_window_and_the_chunk_waits_for_the_next_try(
    project: Project, fcm: Fcm, answer: str
) -> None:
    make_people(project, 500)
    run = make_run(project)
    fcm.script("answer", answer=answer)

    sending.send(run.pk, 1, run.epoch)

    assert tried(run) == [sending.TRIAL]
    assert fcm.counts()["requests"] == sending.TRIAL
    (chunk,) = run.chunks.all()
    assert chunk.state == "waiting"
    assert chunk.not_before is not None
    assert timedelta(0) < chunk.not_before - timezone.now() <= timedelta(seconds=11)
    run.refresh_from_db()
    assert run.state == "sending"
    assert pace(run).limit is Limit.FAILING


def test_fcms_retry_after_with_a_503_is_waited_for(project: Project, fcm: Fcm) -> None:
    make_people(project, 20)
    run = make_run(project)
    fcm.script("answer", answer="unavailable", retry_after=120)

    sending.send(run.pk, 1, run.epoch)

    until = pace(run).until
    assert until is not None
    assert timedelta(seconds=110) < until - timezone.now() < timedelta(seconds=135)


def test_whoever_was_never_tried_tries_first_and_a_failure_ends_the_try(
    project: Project, fcm: Fcm, quick_tries: None
) -> None:
    make_people(project, 102)
    run = make_run(project)
    fcm.script("answer", answer="unavailable")
    sending.send(run.pk, 1, run.epoch)
    Retry.objects.update(not_before=timezone.now() - timedelta(hours=1))
    is_tried_next(run)
    run.chunks.update(state="queued", not_before=None)

    sending.send(run.pk, 1, run.epoch)

    assert tried(run)[0] == 100 and set(tried(run)[1:]) == {1}
    tries = Counter(seq for window in Window.objects.all() for seq in window.seqs)
    assert tries[101] == 1
    assert max(tries.values()) == 1, "there were others left"


def test_a_good_answer_lets_the_same_chunk_go_on_at_once(
    project: Project, fcm: Fcm, quick_tries: None
) -> None:
    make_people(project, 300)
    run = make_run(project)
    fcm.script("answer", answer="internal")
    sending.send(run.pk, 1, run.epoch)
    fcm.mend()
    is_tried_next(run)
    run.chunks.update(state="queued", not_before=None)

    assert sending.send(run.pk, 1, run.epoch) == {"accepted": 200}

    assert tried(run)[:2] == [100, 1]
    assert pace(run).limit is not Limit.FAILING


def test_a_chunk_whose_last_person_was_the_try_reports_the_answer(
    project: Project, fcm: Fcm, quick_tries: None
) -> None:
    make_people(project, 1)
    run = make_run(project)
    Gate(project, reference="run:0").take(0, AnswerCounts(failing=9))
    is_tried_next(run)

    assert sending.send(run.pk, 1, run.epoch) == {"accepted": 1}

    assert pace(run).limit is not Limit.FAILING


def test_a_try_whose_person_is_gone_is_reported_as_no_try(
    project: Project, fcm: Fcm, quick_tries: None
) -> None:
    gone, _ = make_people(project, 2)
    run = make_run(project)
    gone.delete()
    Gate(project, reference="run:0").take(0, AnswerCounts(failing=9))
    is_tried_next(run)

    assert sending.send(run.pk, 1, run.epoch) == {"skipped": 1, "accepted": 1}


def test_no_chunk_is_rung_until_the_next_try_and_then_one_is(
    project: Project, quick_tries: None
) -> None:
    make_people(project, 5_000)
    run = make_run(project)
    run.chunks.update(state="waiting", queued_at=None)
    Gate(project, reference="run:0").take(0, AnswerCounts(failing=9, failing_for=60))

    assert engine.advance(run.pk, now=timezone.now()) is None
    rung = engine.advance(run.pk, now=timezone.now() + timedelta(seconds=58))
    assert rung is not None and rung.chunks == [1]
    assert engine.advance(run.pk, now=timezone.now() + timedelta(seconds=58)) is None


def test_after_a_good_answer_all_chunks_are_rung_at_once(
    project: Project, quick_tries: None
) -> None:
    make_people(project, 5_000)
    run = make_run(project)
    run.chunks.update(state="waiting", queued_at=None)
    gate = Gate(project, reference="run:0")
    gate.take(0, AnswerCounts(failing=9))
    is_tried_next(run)
    assert gate.take(9, AnswerCounts()).is_trial
    assert engine.advance(run.pk, now=timezone.now()) is None, "somebody is trying"
    gate.take(0, AnswerCounts(answered=1))

    rung = engine.advance(run.pk, now=timezone.now())

    assert rung is not None and rung.chunks == [1, 2, 3, 4, 5]


def test_a_run_whose_deadline_passes_in_an_outage_ends_without_a_request(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, 1_200)
    run = make_run(project, ttl_seconds=60)
    Run.objects.update(started_at=timezone.now() - timedelta(minutes=2))
    Gate(project, reference="run:0").take(0, AnswerCounts(failing=9))
    run.refresh_from_db()

    assert work(run).state == "finished"

    assert sums.totals_of(run).skipped == 1_200
    assert fcm.counts()["requests"] == 0


def test_a_run_whose_deadline_passes_while_the_gate_is_closed_ends_then(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, 1_200)
    run = make_run(project, ttl_seconds=300)
    Gate(project, reference="run:0").take(0, AnswerCounts(pushed_back=1, retry_after=3_000))

    assert work(run).state == "sending"

    assert {chunk.not_before for chunk in run.chunks.all()} == {run.deadline}
    Run.objects.update(started_at=timezone.now() - timedelta(minutes=6))
    run.chunks.update(not_before=timezone.now())
    assert work(run).state == "finished"
    assert reports.reasons_of(run) == {"expired": 1_200}
    assert fcm.counts()["requests"] == 0


def test_an_answer_that_nobody_knows_is_no_outage(project: Project, fcm: Fcm) -> None:
    make_people(project, [f"unheardof-{number}:x" for number in range(5)])
    run = make_run(project)

    sending.send(run.pk, 1, run.epoch)

    assert fcm.counts()["requests"] == 5
    assert pace(run).limit is not Limit.FAILING


def test_an_answer_that_nobody_knows_to_a_try_is_followed_by_the_next_try_soon(
    project: Project, fcm: Fcm, quick_tries: None
) -> None:
    make_people(project, ["unheardof-1:x"])
    run = make_run(project)
    Gate(project, reference="run:0").take(0, AnswerCounts(failing=9))
    is_tried_next(run)

    sending.send(run.pk, 1, run.epoch)

    until = pace(run).until
    assert pace(run).limit is Limit.FAILING
    assert until is not None and until - timezone.now() <= timedelta(seconds=1)


def test_a_flushed_gate_finds_out_again_at_the_cost_of_a_window(project: Project, fcm: Fcm) -> None:
    make_people(project, 500)
    run = make_run(project)
    fcm.script("answer", answer="unavailable")
    sending.send(run.pk, 1, run.epoch)
    flush_gate()
    run.chunks.update(state="queued", not_before=None)

    sending.send(run.pk, 1, run.epoch)

    assert tried(run) == [sending.TRIAL, sending.TRIAL]
    assert pace(run).limit is Limit.FAILING


def test_without_a_network_nobody_pays_and_everybody_is_reached_when_it_is_back(
    project: Project, fcm: Fcm, quick_tries: None, settings: LazySettings
) -> None:
    make_people(project, 300)
    run = make_run(project)
    wire = Relay(int(fcm.url.rpartition(":")[2]))
    settings.FCM_ENDPOINT = f"https://127.0.0.1:{wire.port}"
    wire.stop()
    sending.send(run.pk, 1, run.epoch)
    assert pace(run).limit is Limit.FAILING
    assert work(run).state == "sending", "it goes on by itself"

    wire = Relay(int(fcm.url.rpartition(":")[2]), at=("127.0.0.1", wire.port))
    is_tried_next(run)
    Retry.objects.update(not_before=timezone.now() - timedelta(hours=1))
    run.chunks.update(not_before=None)
    assert work(run).state == "finished"

    wire.stop()
    assert sums.totals_of(run).accepted == 300
    assert len(fcm.witness()) == 300
