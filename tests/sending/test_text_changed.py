"""Somebody changes the text while a run is under way: whoever waits gets the new one, and each row
says which text left for whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.corrections.change_running_text import NewText
from campaigns.engine import engine
from campaigns.results import reports
from campaigns.runs import claiming, sums
from campaigns.runs.claiming import Claim, Opened, TextChanged
from campaigns.runs.ledger import Delivery, Retry, Window
from campaigns.runs.revisions import shares
from campaigns.runs.revisions.revision import revise
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device, make_people, make_run
from tests.given.by_hand import let_leases_lapse, work
from tests.given.forgetting import flush_gate
from tests.servers.fcm import Fcm

OLD, NEW = "Hello Ada", "See you at noon"
Change = Callable[..., None]


def change(run: Run, title: str = NEW, **texts: Any) -> int:
    run = Run.objects.get(pk=run.pk)
    new = NewText(run.revision, {"title": title, **texts}, accept_skips=True)
    return control.change_text(run, new=new, by="user:alice")


def revisions(run: Run) -> dict[tuple[str, int], int]:
    """How many rows have which status and revision."""
    rows = Delivery.objects.filter(run_id=run.pk).values_list("status", "revision")
    return dict(Counter(rows))


def counted(run: Run) -> dict[tuple[str, int], int]:
    """The same, as the chunks have added it up."""
    by_revision = shares.by_revision(run).items()
    each = {(status, n): count for n, one in by_revision for status, count in one.items()}
    return {key: count for key, count in each.items() if count}


def titles(fcm: Fcm) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for record in fcm.witness():
        found.setdefault(record["address"], []).append(record["title"])
    return found


@pytest.fixture
def before_window(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], object]], None]:
    """Somebody does something when the chunk is read and rendered, before its window of that
    number opens."""

    def at(number: int, deed: Callable[[], object]) -> None:
        open_window, opened = Claim.open_window, [0]

        def after_the_deed(claim: Claim, *args: Any) -> Opened | None:
            opened[0] += 1
            if opened[0] == number:
                deed()
            return open_window(claim, *args)

        monkeypatch.setattr(Claim, "open_window", after_the_deed)

    return at


def test_a_chunk_under_way_takes_the_new_text_up_with_its_next_window(
    project: Project, fcm: Fcm, before_window: Callable[..., None]
) -> None:
    people = make_people(project, 350)
    run = make_run(project)
    before_window(2, lambda: change(run))  # the first is the trial, of a hundred

    assert sending.send(run.pk, 1, run.epoch) == {"accepted": 350}

    assert revisions(run) == {("accepted", 1): 100, ("accepted", 2): 250}
    read = titles(fcm)
    assert {len(each) for each in read.values()} == {1}
    said = {1: OLD, 2: NEW}
    rows = Delivery.objects.filter(run_id=run.pk).values_list("device_id", "revision")
    assert {device: said[n] for device, n in rows} == {
        device.pk: read[device.address][0] for device in people
    }
    windows = Window.objects.filter(run=run).order_by("pk").values_list("revision", flat=True)
    assert list(windows) == [1, 2, 2]
    run.refresh_from_db()
    assert run.content["title"] == "Hello {{ first_name }}", "what the launch froze stays"
    assert counted(run) == revisions(run)


def test_no_window_opens_for_a_text_that_was_changed_since_it_was_rendered(
    project: Project,
) -> None:
    make_people(project, 2)
    run = make_run(project)
    worker = claiming.claim(run.pk, 1, run.epoch, task_id=None)
    assert worker is not None
    change(run)
    with pytest.raises(TextChanged) as told:
        worker.open_window([1, 2], timezone.now())
    assert told.value.revision == 2
    assert not Window.objects.filter(run=run).exists()
    assert worker.renew(), "it goes on, with the new text"


def test_whom_the_old_text_would_skip_reads_the_new_one(
    project: Project, fcm: Fcm, before_window: Callable[..., None]
) -> None:
    """Nobody of them has a city, so there is not even a window to open."""
    make_people(project, 3)
    run = make_run(project, template={"title": "Rain in {{ city }}"})
    before_window(1, lambda: change(run))
    assert sending.send(run.pk, 1, run.epoch) == {"accepted": 3}
    assert {record["title"] for record in fcm.witness()} == {NEW}


@pytest.mark.parametrize(
    ("policy", "ends", "read"),
    [("resend", ("accepted", 2, True), [NEW]), ("hold", ("unknown", 1, False), [])],
)
def test_after_a_death_the_rows_say_which_text_may_have_left(
    project: Project, fcm: Fcm, policy: str, ends: tuple[str, int, bool], read: list[str]
) -> None:
    """Who is sent to again gets the new text. Who is not may have the old one."""
    make_people(project, 1)
    run = make_run(project, on_unknown=policy)
    dead = claiming.claim(run.pk, 1, run.epoch, task_id=None)
    assert dead is not None and dead.open_window([1], timezone.now())
    change(run)
    let_leases_lapse()
    engine.advance(run.pk, now=timezone.now())
    sending.send(run.pk, 1, run.epoch)

    row = Delivery.objects.get(run_id=run.pk)
    assert (row.status, row.revision, row.resent) == ends
    assert [record["title"] for record in fcm.witness()] == read
    windows = Window.objects.filter(run=run).order_by("pk").values_list("revision", flat=True)
    assert list(windows) == [1, 2][: 1 + bool(read)]
    run.refresh_from_db()
    assert counted(run) == revisions(run)


def test_a_cancel_tells_the_text_that_may_have_left_from_the_one_nobody_got(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, 3)
    run = make_run(project)
    dead = claiming.claim(run.pk, 1, run.epoch, task_id=None)
    assert dead is not None and dead.open_window([1], timezone.now())
    change(run)
    let_leases_lapse()
    run.refresh_from_db()
    control.cancel(run, by="user:alice")
    engine.advance(run.pk, now=timezone.now())

    assert revisions(run) == {("unknown", 1): 1, ("skipped", 2): 2}
    run.refresh_from_db()
    assert counted(run) == revisions(run)


def test_who_is_tried_again_gets_the_new_text(project: Project, fcm: Fcm) -> None:
    make_people(project, 1)
    fcm.script("answer", answer="unavailable", times=1)
    run = make_run(project)
    sending.send(run.pk, 1, run.epoch)
    assert Retry.objects.filter(run=run).exists()
    change(run)
    Retry.objects.update(not_before=timezone.now() - timedelta(hours=1))
    run.chunks.update(not_before=None)
    flush_gate()
    run = work(run)

    row = Delivery.objects.get(run_id=run.pk)
    assert (row.status, row.revision) == ("accepted", 2)
    assert [record["title"] for record in fcm.witness()][-1] == NEW


def test_the_unknown_who_are_sent_to_again_get_the_newest_text(project: Project, fcm: Fcm) -> None:
    make_people(project, ["lost-1:APA91b", "", ""])
    run = make_run(project, on_unknown="hold")
    sending.send(run.pk, 1, run.epoch)
    assert revisions(run) == {("unknown", 1): 1, ("accepted", 1): 2}

    control.send_again(Run.objects.get(pk=run.pk), by="user:alice")
    change(run)
    run.refresh_from_db()
    run = work(run)

    assert revisions(run) == {("accepted", 1): 2, ("accepted", 2): 1}
    assert counted(run) == revisions(run)
    assert reports.recount(run) == sums.totals_of(run)


def test_an_unknown_of_a_later_text_that_is_taken_back_is_counted_no_more(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, ["lost-1:APA91b", ""])
    run = make_run(project, on_unknown="hold")
    change(run)
    sending.send(run.pk, 1, run.epoch)
    run.refresh_from_db()
    assert counted(run) == {("unknown", 2): 1, ("accepted", 2): 1}
    control.send_again(run, by="user:alice")
    assert counted(run) == {("accepted", 2): 1} == revisions(run)


def test_a_new_text_that_fcm_refuses_for_everybody_stops_the_run_though_the_old_one_went(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, 1_300)
    run = make_run(project)
    sending.send(run.pk, 1, run.epoch)
    assert sums.totals_of(run).accepted == 1_000
    # Past the checks of whoever changes it, as something that only FCM knows would be.
    content = {**run.content, "body": "too long " * 600}
    revise(run, {0: content}, of=1, by="user:alice", next_runs=False)
    run = work(run)

    assert (run.state, run.cause) == ("paused", "refused_message")
    assert sums.totals_of(run).waiting == 300, "nobody pays for our text"


def test_each_language_reads_its_own_changed_text(project: Project, fcm: Fcm) -> None:
    for locale in ("ko", "en"):
        make_device(make_contact(project, locale=locale))
    run = make_run(project, template={"locales": {"ko": {"title": "안녕"}}})
    change(run, "Noon", locales={"ko": {"title": "정오에 만나요"}})
    sending.send(run.pk, 1, run.epoch)
    assert {record["title"] for record in fcm.witness()} == {"Noon", "정오에 만나요"}
