"""The first part goes, is waited for and judged; nobody of the rest is rung before that."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from campaigns import control
from campaigns.alerts.conditions import find_slow
from campaigns.canary.first_part import HELD_UNTIL, FirstPart
from campaigns.canary.progress import Phase, load_progress
from campaigns.engagement.receipt import Event, Report, Reporter
from campaigns.engagement.store_receipts import keep
from campaigns.engine import engine
from campaigns.results import reports
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.given.at_once import at_once
from tests.given.builders import addresses, make_people, make_run
from tests.given.by_hand import work
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db

PEOPLE, FIRST = 300, 30
WAIT = timedelta(minutes=15)


def make_first(project: Project, **values: Any) -> Run:
    """Of three hundred people, thirty go first."""
    make_people(project, values.pop("people", PEOPLE))
    return make_run(project, **{"first_percent": 10, "first_least": 10, **values})


def look(run: Run, after: timedelta = timedelta()) -> engine.ReleasedWave | None:
    ring = engine.advance(run.pk, now=timezone.now() + after)
    run.refresh_from_db()
    return ring


def sent_first(project: Project, **values: Any) -> Run:
    """All of the first part has an outcome, and it is counted who can tell."""
    run = work(make_first(project, **values))
    look(run)
    return run


def part(run: Run) -> FirstPart:
    return FirstPart.objects.select_related("run").get(run=run)


def rows_of_rest(run: Run) -> int:
    rest = run.chunks.filter(follows=True)
    return sum(
        Delivery.objects.filter(run_id=run.pk, seq__range=(chunk.first_seq, chunk.last_seq)).count()
        for chunk in rest
    )


def first_seqs(run: Run) -> list[int]:
    chunk = run.chunks.get(follows=False)
    return list(range(chunk.first_seq, chunk.last_seq + 1))


def phones_tell(run: Run, count: int, *, able: int) -> None:
    """Of the devices in the first part so many can tell, and so many received it."""
    rows = Recipient.objects.filter(run_id=run.pk, seq__in=first_seqs(run)).order_by("seq")
    before = timezone.now() - timedelta(days=3)
    Reporter.objects.bulk_create(
        Reporter(device_id=row.device_id, event=Event.RECEIVED, since=before) for row in rows[:able]
    )
    keep(Report(run.pk, row.seq, Event.RECEIVED, None) for row in rows[:count])


# --- Before it is judged --------------------------------------------------------------------------


def test_only_the_first_part_is_sent_to_and_then_it_waits(project: Project, fcm: Fcm) -> None:
    run = sent_first(project)

    assert (run.state, run.accepted, run.waiting) == ("sending", FIRST, PEOPLE - FIRST)
    assert rows_of_rest(run) == 0
    assert part(run).sent_at is not None and part(run).known == 0
    assert look(run, after=WAIT - timedelta(seconds=30)) is None
    assert part(run).went_on_at is None


def test_an_engine_that_knows_of_no_first_part_rings_nobody_of_the_rest(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = sent_first(project)
    monkeypatch.setattr(engine, "held", lambda run: None)

    assert look(run, after=timedelta(days=300)) is None

    assert run.state == "sending"
    assert run.chunks.filter(not_before=HELD_UNTIL, state=Chunk.State.WAITING).count() == 1


# --- Good enough ----------------------------------------------------------------------------------


def test_after_the_wait_the_rest_goes_and_the_run_ends(project: Project, fcm: Fcm) -> None:
    run = sent_first(project)

    ring = look(run, after=WAIT)

    assert ring is not None and len(ring.chunks) == 1
    first = part(run)
    assert (first.decision, first.went_on_at is not None) == ("good", True)
    assert (first.figures or {})["accepted"] == FIRST
    work(run)
    assert (run.state, run.accepted, run.waiting) == ("finished", PEOPLE, 0)
    assert reports.recount(run).accepted == PEOPLE


def test_judging_it_again_changes_nothing(project: Project, fcm: Fcm) -> None:
    run = sent_first(project)
    look(run, after=WAIT)
    decided = part(run).went_on_at

    assert look(run, after=WAIT + timedelta(seconds=1)) is None
    assert part(run).went_on_at == decided
    assert run.waves.count() == 2


def test_enough_phones_received_it(project: Project, fcm: Fcm) -> None:
    run = work(make_first(project))
    phones_tell(run, 9, able=FIRST)
    look(run)

    assert look(run, after=WAIT) is not None
    assert part(run).figures == {
        "sent": FIRST, "accepted": FIRST, "rejected": 0, "dead": 0, "able": FIRST, "received": 9,
    }  # fmt: skip


# --- Not good enough ------------------------------------------------------------------------------


def test_too_few_phones_received_it_so_it_asks(project: Project, fcm: Fcm) -> None:
    run = work(make_first(project))
    phones_tell(run, 8, able=FIRST)
    look(run)

    assert look(run, after=WAIT) is None

    assert (run.state, run.cause) == ("paused", "first_part")
    assert "of 30 that can tell, 26.7 % received it (at least 30 %)" in run.detail
    assert rows_of_rest(run) == 0


@pytest.mark.parametrize(
    ("kinds", "counted", "said"),
    [
        ({"dead": 45, "live": 255}, "dead", "of the addresses are dead (at most 3 %)"),
        ({"badmessage": 45, "live": 255}, "rejected", "were rejected (at most 2 %)"),
    ],
)
def test_too_many_refusals_ask_with_the_numbers(
    project: Project, fcm: Fcm, kinds: dict[str, int], counted: str, said: str
) -> None:
    bounds = {"first_most_dead": 3, "first_most_rejected": 2}
    run = sent_first(project, people=addresses(**kinds), first_percent=50, **bounds)

    look(run, after=WAIT)

    assert (run.state, run.cause) == ("paused", "first_part")
    assert said in run.detail
    assert part(run).judged_at is not None and part(run).went_on_at is None
    figures = part(run).figures or {}
    assert figures[counted] == run.rejected > 0
    assert figures["rejected"] + figures["dead"] == run.rejected


def test_a_resume_goes_on_with_the_rest(project: Project, fcm: Fcm) -> None:
    run = work(make_first(project))
    phones_tell(run, 0, able=FIRST)
    look(run)
    look(run, after=WAIT)

    control.resume(run, by="user:alice")
    work(run)

    assert (run.state, run.accepted) == ("finished", PEOPLE)
    assert part(run).decision == "person"


def test_a_cancel_leaves_the_rest_out_one_row_each(project: Project, fcm: Fcm) -> None:
    run = sent_first(project)

    control.cancel(run, by="user:alice")
    work(run)

    assert (run.state, run.accepted, run.skipped) == ("cancelled", FIRST, PEOPLE - FIRST)
    assert Delivery.objects.filter(run_id=run.pk, reason="cancelled").count() == PEOPLE - FIRST
    first = load_progress(run)
    assert first is not None and first.phase == Phase.STOPPED


# --- A person -------------------------------------------------------------------------------------


def test_a_person_goes_on_without_waiting(project: Project, fcm: Fcm) -> None:
    run = sent_first(project)

    assert control.go_on(run, by="user:alice") == PEOPLE - FIRST
    assert control.go_on(run, by="user:bob") == 0
    work(run)

    assert (run.state, run.accepted) == ("finished", PEOPLE)
    assert part(run).decision == "person"
    entry = AuditEntry.objects.get(action="went on with the rest of")
    assert (entry.actor, entry.detail["recipients"]) == ("user:alice", PEOPLE - FIRST)


def test_a_pause_by_hand_and_a_resume_do_not_end_the_wait(project: Project, fcm: Fcm) -> None:
    run = sent_first(project)
    control.pause(run, by="user:alice")
    assert control.go_on(run, by="user:bob") == 0
    assert look(run, after=WAIT) is None
    run.refresh_from_db()
    assert run.state == "paused"

    control.resume(run, by="user:alice")

    assert look(run) is None
    assert part(run).went_on_at is None
    assert look(run, after=WAIT) is not None


@pytest.mark.django_db(transaction=True)
def test_of_a_judgement_and_a_person_at_once_one_lets_the_rest_go(
    project: Project, fcm: Fcm
) -> None:
    run = sent_first(project)

    answer = at_once(
        first=lambda: look(run, after=WAIT), second=lambda: control.go_on(run, by="user:alice")
    )

    assert answer == 0
    assert part(run).decision == "good"
    assert run.waves.count() == 2


def test_who_decides_second_decides_nothing(project: Project, fcm: Fcm) -> None:
    run = sent_first(project)
    first, second = part(run), part(run)
    now = timezone.now()

    assert first.let_go(FirstPart.Decision.GOOD, {}, now) == PEOPLE - FIRST
    assert second.let_go(FirstPart.Decision.PERSON, {}, now) == 0
    assert part(run).decision == "good"


# --- What else looks at it ------------------------------------------------------------------------


def test_a_wait_is_not_too_slow_and_the_end_is_said_with_it(project: Project, fcm: Fcm) -> None:
    run = sent_first(project)
    began: datetime = timezone.now() - timedelta(minutes=30)
    Run.objects.filter(pk=run.pk).update(started_at=began, ttl_seconds=1_900)
    run.refresh_from_db()

    assert list(find_slow(timezone.now())) == []
    eta = reports.progress(run).eta_at
    assert eta is not None and eta >= (part(run).judges_at or eta)


def test_a_run_without_a_first_part_asks_nothing_more(project: Project, fcm: Fcm) -> None:
    make_people(project, 3)
    run = make_run(project)

    with CaptureQueriesContext(connection) as queries:
        engine.advance(run.pk, now=timezone.now())

    assert not [query for query in queries if "campaigns_firstpart" in query["sql"]]
