"""A message over which workers die is alone at last: everybody else gets theirs, and it is told."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.engine import messages
from campaigns.results import reports
from campaigns.runs import sums
from campaigns.runs.claiming import Claim, Fenced
from campaigns.runs.lapsing import LAPSES_ALLOWED
from campaigns.runs.ledger import Delivery, Retry, Window
from campaigns.runs.messages.message import Message
from campaigns.runs.messages.taking import take
from campaigns.runs.run import Run
from campaigns.sending import sending, settling
from campaigns.sending.judge_answers import Final, Judged, Status
from campaigns.sending.sending import Sending
from campaigns.sending.unsettled import left_to_send
from notifications.dispatch import dispatch
from notifications.people.project import Project
from notifications.webhooks.event_types import EventType
from notifications.webhooks.outbox import Outgoing
from tests.api.caller import Caller
from tests.given.builders import make_contact, make_device
from tests.given.by_hand import let_leases_lapse
from tests.given.endpoints import make_endpoint
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db
HELLO = {"title": "Hello", "body": "x"}


def people(project: Project, count: int) -> list[str]:
    names = [f"p{number}" for number in range(count)]
    for name in names:
        make_device(make_contact(project, external_id=name))
    return names


def to_each(project: Project, names: list[str], **other: Any) -> Run:
    """A message of its own to each of them."""
    for name in names:
        body = {"to": {"contact": name}, "content": HELLO, **other}
        assert Caller(project).post("messages", body).status_code == 202
    return Run.every.get(project=project)


def to_all(project: Project, names: list[str]) -> Run:
    """One call for all of them."""
    body = {"to": {"contacts": names}, "content": HELLO}
    assert Caller(project).post("messages", body).status_code == 202
    return Run.every.get(project=project)


def taken(run: Run) -> Claim | None:
    return take(run, lambda *_: None)


def taken_soon(run: Run) -> Claim | None:
    """On a busy machine the gate asks a worker to wait: it hands the chunk back for a moment."""
    waiting = run.chunks.filter(state="waiting")
    if waiting.filter(not_before__lt=timezone.now() + timedelta(seconds=5)).exists():
        eventually("it is due", lambda: waiting.filter(not_before__lte=timezone.now()).exists())
    return taken(run)


def die(run: Run) -> None:
    let_leases_lapse()
    messages.look_after(timezone.now())
    run.refresh_from_db()


def work(run: Run, *, dies_of: set[int]) -> int:
    """Until nothing is left to take: how many workers died of these messages."""
    deaths = 0
    while claim := taken(run) or taken_soon(run):
        if dies_of & {left.message for left in left_to_send(claim)}:
            deaths += 1
            die(run)
        else:
            Sending(claim).work()
    return deaths


def ends(run: Run) -> dict[tuple[str, str], int]:
    rows = Delivery.objects.filter(run_id=run.pk).values_list("status", "reason")
    return dict(Counter(rows))


def numbers(run: Run) -> list[int]:
    found = Message.objects.filter(run_id=run.pk).order_by("number")
    return list(found.values_list("number", flat=True))


def test_only_the_message_that_kills_workers_is_given_up_and_its_callers_hear_of_it(
    project: Project, fcm: Fcm
) -> None:
    make_endpoint(project, "https://hooks.example.com/", kinds=EventType.values)
    run = to_each(project, people(project, 20))
    guilty = numbers(run)[13]

    deaths = work(run, dies_of={guilty})

    assert ends(run) == {("accepted", ""): 19, ("skipped", "crashed_workers"): 1}
    assert LAPSES_ALLOWED <= deaths <= LAPSES_ALLOWED + 5
    assert len(fcm.witness()) == 19
    run.refresh_from_db()
    assert sums.totals_of(run) == reports.recount(run)
    assert not run.chunks.exclude(state="closed").exists()
    told = [event for row in Outgoing.objects.all() for event in row.events]
    assert Counter(event["type"] for event in told) == {
        "message.accepted": 19,
        "message.skipped": 1,
    }
    (skipped,) = [event["data"] for event in told if event["type"] == "message.skipped"]
    assert skipped == {
        "message": f"{run.pk}-{guilty}", "contact": "p13", "platform": "android",
        "device": skipped["device"], "status": "skipped", "reason": "crashed_workers",
        "fcm_message_id": None, "resent": False,
    }  # fmt: skip
    assert skipped["device"].startswith("live")


def test_a_message_that_crashes_its_worker_once_requests_leave_takes_no_other_with_it(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = to_each(project, people(project, 60), on_unknown="resend")
    guilty = f"{run.pk}:14"

    class Died(Exception):
        pass

    def dies(gateway: Any, pushes: Any, permit: Any) -> Any:
        if guilty in [push.reference for push in pushes]:
            raise Died
        return dispatch(gateway, pushes, permit)

    monkeypatch.setattr(sending, "dispatch", dies)
    deaths = 0
    while claim := taken(run) or taken_soon(run):
        try:
            Sending(claim).work()
        except Died:
            deaths += 1
            die(run)

    assert (deaths, ends(run)) == (3, {("accepted", ""): 59, ("unknown", "interrupted"): 1})
    assert Delivery.objects.get(run_id=run.pk, status="unknown").seq == 14
    assert len(fcm.witness()) == 59


def test_all_devices_of_the_message_end_with_it(project: Project, fcm: Fcm) -> None:
    ada = make_contact(project, external_id="ada")
    for _ in range(3):
        make_device(ada)
    run = to_each(project, ["ada", *people(project, 1)])

    assert work(run, dies_of={numbers(run)[0]}) == LAPSES_ALLOWED

    assert ends(run) == {("accepted", ""): 1, ("skipped", "crashed_workers"): 3}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("hold", {("unknown", "interrupted"): 3, ("accepted", ""): 5}),
        ("resend", {("accepted", ""): 8}),
    ],
)
def test_whose_request_may_have_left_stays_in_doubt_in_both_halves(
    project: Project, fcm: Fcm, policy: str, expected: dict[tuple[str, str], int]
) -> None:
    run = to_each(project, people(project, 8), on_unknown=policy)
    assert taken(run)
    die(run)
    assert run.chunks.count() == 1, "a single death is chance"
    claim = taken(run)
    assert claim and claim.open_window([2, 4, 6], timezone.now())
    die(run)
    assert run.chunks.count() == 2
    windows = {window.chunk.number: window.seqs for window in Window.objects.filter(run=run)}
    assert windows == {1: [2, 4], 2: [6]}

    assert work(run, dies_of=set()) == 0

    assert ends(run) == expected
    resent = Delivery.objects.filter(run_id=run.pk, resent=True)
    assert sorted(resent.values_list("seq", flat=True)) == ([2, 4, 6] if policy == "resend" else [])
    assert sum(run.chunks.values_list("copies", flat=True)) == len(fcm.witness()) + 3


def test_a_worker_that_was_taken_for_dead_writes_nothing_in_either_half(
    project: Project, fcm: Fcm
) -> None:
    run = to_each(project, people(project, 4))
    assert taken(run)
    die(run)
    zombie = taken(run)
    assert zombie
    everybody = left_to_send(zombie)
    opened = zombie.open_window([1, 2, 3, 4], timezone.now())
    assert opened
    die(run)
    again = taken(run)
    assert again and again.chunk.last_seq == 2

    for left in everybody:
        judged = Judged([Final(left, Status.ACCEPTED)])
        with pytest.raises(Fenced):
            settling.settle(zombie, Window(pk=opened.pk, opened_at=timezone.now()), judged)
    with pytest.raises(Fenced):
        zombie.renew()
    assert not zombie.close()
    assert not Delivery.objects.filter(run_id=run.pk).exists()


def test_whoever_waits_for_another_try_waits_on_in_their_half(project: Project, fcm: Fcm) -> None:
    run = to_each(project, people(project, 4))
    claim = taken(run)
    assert claim
    late = timezone.now() + timedelta(hours=1)
    Retry.objects.create(
        run=run, chunk=claim.chunk, seq=4, tries=1, not_before=late, reason="throttled"
    )
    die(run)
    assert taken(run)
    die(run)

    work(run, dies_of=set())

    assert ends(run) == {("accepted", ""): 3}
    upper = run.chunks.get(last_seq=4)
    assert (Retry.objects.get(run=run).chunk_id, upper.state) == (upper.pk, "waiting")
    assert upper.not_before and upper.not_before > late


def test_a_text_that_kills_for_everybody_ends_its_call_after_some_deaths(
    project: Project, fcm: Fcm
) -> None:
    """Not after two for each person: workers die all that time."""
    run = to_all(project, people(project, 40))
    others = to_each(project, [f"p{number}" for number in range(3)])
    guilty = set(numbers(run)[:40])

    deaths = work(run, dies_of=guilty)

    assert ends(others) == {("accepted", ""): 3, ("skipped", "crashed_workers"): 40}
    assert deaths < 70
