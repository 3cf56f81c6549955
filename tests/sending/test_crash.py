"""A worker that dies leaves rows that say what is ambiguous; nobody is lost, nothing is hidden."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from psycopg.types.range import Range

from campaigns.engine import engine, freezing
from campaigns.results import reports
from campaigns.runs import chunk, claiming, lapsing, sums
from campaigns.runs.chunk import Chunk
from campaigns.runs.claiming import Claim, Fenced
from campaigns.runs.lapsing import LAPSES_ALLOWED
from campaigns.runs.ledger import Delivery, Window
from campaigns.runs.reasons import Cause, Reason
from campaigns.runs.run import Run
from campaigns.sending import sending, settling
from campaigns.sending import worker_database as rows
from campaigns.sending.judge_answers import Final, Judged, Status
from notifications.people.project import Project
from tests.given.builders import make_people, make_run
from tests.given.by_hand import let_leases_lapse
from tests.servers.fcm import Fcm


def die_with_a_window_open(run: Run, seqs: list[int]) -> Claim:
    """As a worker would leave it: claimed, the intent committed, and then nothing."""
    claim = claiming.claim(run.pk, 1, run.epoch, task_id=None)
    assert claim is not None
    Window.objects.create(
        run=run, chunk=claim.chunk, attempt=claim.chunk.attempt, seqs=seqs, opened_at=timezone.now()
    )
    let_leases_lapse()
    return claim


def take_over(run: Run) -> dict[str, int]:
    engine.advance(run.pk, now=timezone.now())
    return sending.send(run.pk, 1, run.epoch)


def test_a_lease_that_ended_while_nothing_could_be_written_is_its_workers_still(
    project: Project,
) -> None:
    """PostgreSQL took no writes for a while: who looks first afterwards finds all leases over."""
    make_people(project, 2)
    run = make_run(project)
    worker = claiming.claim(run.pk, 1, run.epoch, task_id=None)
    assert worker is not None
    run.chunks.update(lease_until=timezone.now() - timedelta(seconds=3))

    engine.advance(run.pk, now=timezone.now())
    engine.advance(run.pk, now=timezone.now())

    assert worker.renew()
    engine.advance(run.pk, now=timezone.now())
    assert run.chunks.get().state == "leased"


def test_a_worker_found_silent_before_its_lease_ended_loses_it_then(project: Project) -> None:
    make_people(project, 2)
    run = make_run(project)
    assert claiming.claim(run.pk, 1, run.epoch, task_id=None)
    found_silent, ended = timezone.now() - timedelta(seconds=4), timezone.now()
    run.chunks.update(lease_until=ended, doubted_at=found_silent)

    engine.advance(run.pk, now=timezone.now())

    assert run.chunks.get().lapses == 1


def test_a_run_paused_in_the_midst_of_a_claim_is_not_claimed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 2)
    run = make_run(project)

    def pause(queued: object) -> bool:
        run.pause(Cause.BY_HAND)
        return True

    monkeypatch.setattr(claiming, "_take", pause)

    assert claiming.claim(run.pk, 1, run.epoch, task_id=None) is None
    assert (run.chunks.get().state, run.chunks.get().attempt) == ("queued", 0)


def test_under_resend_the_ambiguous_are_sent_again_and_marked(project: Project, fcm: Fcm) -> None:
    make_people(project, 5)
    run = make_run(project, on_unknown="resend")
    die_with_a_window_open(run, [1, 2])

    assert take_over(run) == {"accepted": 5}

    resent = Delivery.objects.filter(run_id=run.pk, resent=True)
    assert sorted(resent.values_list("seq", flat=True)) == [1, 2]
    assert len(fcm.witness()) == 5


def test_under_hold_the_ambiguous_are_unknown_and_never_sent(project: Project, fcm: Fcm) -> None:
    make_people(project, 5)
    run = make_run(project, on_unknown="hold")
    die_with_a_window_open(run, [1, 2])

    assert take_over(run) == {"accepted": 3}

    assert sums.totals_of(run).as_dict() == {
        "planned": 5, "accepted": 3, "rejected": 0, "skipped": 0, "unknown": 2, "waiting": 0,
    }  # fmt: skip
    assert reports.reasons_of(run) == {"interrupted": 2}
    assert len(fcm.witness()) == 3


def claim_again(run: Run) -> None:
    engine.advance(run.pk, now=timezone.now())
    assert claiming.claim(run.pk, 1, run.epoch, task_id=None) is not None


def everything_written(run: Run) -> list[object]:
    deliveries = Delivery.objects.filter(run_id=run.pk)
    return [list(rows.values()) for rows in (deliveries, run.chunks.all(), Window.objects.all())]


@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param(claim_again, id="while another worker is at it"),
        pytest.param(take_over, id="when another worker has done it all"),
    ],
)
def test_a_zombie_that_wakes_after_its_lease_writes_nothing(
    project: Project, fcm: Fcm, meanwhile: Callable[[Run], object]
) -> None:
    make_people(project, 2)
    run = make_run(project)
    zombie = die_with_a_window_open(run, [1])
    window = Window.objects.get()
    one, two = rows.choose_recipients(zombie)
    finals = [Final(left, Status.SKIPPED, Reason.EXPIRED, requested=False) for left in (one, two)]
    meanwhile(run)
    before = everything_written(run)

    with pytest.raises(Fenced):
        zombie.renew()
    with pytest.raises(Fenced):
        settling.settle(zombie, window, Judged(finals))

    assert everything_written(run) == before


def test_a_chunk_that_kills_every_worker_is_quarantined_and_the_run_asks_a_person(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, 1)
    run = make_run(project)
    for _ in range(LAPSES_ALLOWED):
        die_with_a_window_open(run, [])
        engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()

    assert run.chunks.get().state == Chunk.State.QUARANTINED
    assert (run.state, run.cause) == ("paused", "quarantined")
    assert fcm.counts()["requests"] == 0


def test_of_a_text_that_somebody_got_only_what_kills_workers_is_quarantined(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person is asked about two of a chunk of sixteen; the others have got it."""
    monkeypatch.setattr(freezing, "size_for", lambda _: 16)
    make_people(project, 32)
    run = make_run(project)
    sending.send(run.pk, 1, run.epoch)
    guilty, deaths = 23, 0
    while Run.objects.get(pk=run.pk).state == "sending":
        engine.advance(run.pk, now=timezone.now())
        for one in run.chunks.filter(state="queued").order_by("number"):
            if one.first_seq <= guilty <= one.last_seq:
                assert claiming.claim(run.pk, one.number, run.epoch, task_id=None)
                let_leases_lapse()
                deaths += 1
            else:
                sending.send(run.pk, one.number, run.epoch)

    run.refresh_from_db()
    assert (run.cause, run.accepted, run.waiting, deaths) == ("quarantined", 30, 2, LAPSES_ALLOWED)
    stuck = run.chunks.get(state=Chunk.State.QUARANTINED)
    assert (stuck.first_seq, stuck.last_seq) == (guilty, guilty + 1)
    assert sums.totals_of(run) == reports.recount(run)


@pytest.mark.parametrize("meanwhile", ["cancelled", "freezing"])
def test_a_chunk_is_not_cut_of_a_run_that_is_cancelled_or_being_frozen(
    project: Project, fcm: Fcm, meanwhile: str
) -> None:
    make_people(project, 4)
    run = make_run(project)
    die_with_a_window_open(run, [])
    run.chunks.update(lapses=1)
    more: dict[str, dict[str, Any]] = {
        "cancelled": {"state": "cancelled", "epoch": 1},
        "freezing": {"unfrozen": Range(10_000_000, 10_000_001)},
    }
    Run.objects.filter(pk=run.pk).update(accepted=1, **more[meanwhile])

    with transaction.atomic():
        assert lapsing.free_lapsed(Run.objects.get(pk=run.pk)) == 1

    assert run.chunks.get().lapses == 2


def test_a_cancelled_run_gives_everyone_a_row_and_calls_the_ambiguous_unknown(
    project: Project,
) -> None:
    make_people(project, 5)
    run = make_run(project)
    die_with_a_window_open(run, [1, 2])
    run.cancel()

    engine.advance(run.pk, now=timezone.now())

    run.refresh_from_db()
    assert run.finished_at is not None
    assert reports.recount(run).as_dict() == {
        "planned": 5, "accepted": 0, "rejected": 0, "skipped": 3, "unknown": 2, "waiting": 0,
    }  # fmt: skip
    assert sums.totals_of(run) == reports.recount(run)


def test_a_second_copy_is_admitted_even_when_the_run_is_cancelled_over_it(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, ["lost-1:x", ""])
    run = make_run(project)
    die_with_a_window_open(run, [1, 2])
    take_over(run)  # and its answer is lost as well
    run.cancel()

    engine.advance(run.pk, now=timezone.now())

    row = Delivery.objects.get(run_id=run.pk, seq=1)
    assert (row.status, row.resent) == ("unknown", True)


def test_who_was_tried_once_is_not_called_sent_again(project: Project, fcm: Fcm) -> None:
    make_people(project, 3)
    run = make_run(project, on_unknown="hold")
    die_with_a_window_open(run, [1, 2])
    take_over(run)

    assert not Delivery.objects.filter(run_id=run.pk, resent=True).exists()


def test_a_chunk_whose_doorbell_was_lost_is_rung_again(project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)

    assert engine.advance(run.pk, now=timezone.now()) is None, "a ring may still be on its way"
    again = engine.advance(run.pk, now=timezone.now() + timedelta(minutes=1))

    assert again is not None
    assert again.chunks == [1]


def test_a_dead_workers_lease_does_not_hide_that_the_other_doorbells_are_lost(
    project: Project,
) -> None:
    make_people(project, 1_001)
    run = make_run(project)
    dead = claiming.claim(run.pk, 1, run.epoch, task_id=None)
    assert dead is not None
    later = timezone.now() + timedelta(minutes=1)

    assert engine.advance(run.pk, now=later) is None, "its worker was heard of just now"

    silent_for_long = chunk.LEASE - chunk.RENEWED_WITHIN - timedelta(seconds=1)
    dead.held.update(lease_until=timezone.now() + silent_for_long)
    again = engine.advance(run.pk, now=later)
    assert again is not None
    assert again.chunks == [2]


def test_with_all_workers_down_doorbells_are_rung_ever_more_rarely(project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    now, minute = timezone.now(), timedelta(minutes=1)
    for passed in range(60):
        engine.advance(run.pk, now=now + passed * minute)

    rung = list(run.waves.order_by("number").values_list("rung_at", flat=True))
    silences = [later - earlier for earlier, later in pairwise(rung[1:])]  # the first by make_run
    assert len(silences) > 5, "it is rung again and again"
    assert silences == sorted(silences)
    assert engine.LONGEST_SILENCE <= silences[-1] <= engine.LONGEST_SILENCE + minute


def test_a_late_answer_of_an_older_epoch_does_not_pause_a_resumed_run(project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    claim = claiming.claim(run.pk, 1, run.epoch, task_id=None)
    assert claim is not None
    run.pause(Cause.UNAUTHORISED)
    run.resume()

    sending.Sending(claim)._pause(Cause.UNAUTHORISED, "refused")

    run.refresh_from_db()
    assert run.state == "sending"


def test_a_clock_that_was_ahead_and_jumps_back_costs_no_answer(project: Project, fcm: Fcm) -> None:
    make_people(project, 1)
    run = make_run(project)
    claim = claiming.claim(run.pk, 1, run.epoch, task_id=None)
    assert claim
    ahead = timezone.now() + timedelta(minutes=5)
    (left,) = rows.choose_recipients(claim)

    window = claim.open_window([1], ahead)
    assert window

    assert Window.objects.get().opened_at < timezone.now(), "PostgreSQL's clock is believed"
    Window.objects.update(opened_at=ahead)
    judged = Judged([Final(left, Status.SKIPPED, Reason.EXPIRED)])
    settling.settle(claim, Window(pk=window.pk, opened_at=ahead), judged)
    assert Delivery.objects.get(run_id=run.pk).at < timezone.now()
