"""While somebody's quiet hours are on, nothing leaves for them: it waits, or is skipped."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns import control, tasks
from campaigns.corrections.change_running_text import NewText
from campaigns.engine import engine, messages
from campaigns.results import chunk_grid, reports
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Delivery, Retry, Window
from campaigns.runs.reasons import Reason
from campaigns.runs.run import Run
from campaigns.sending import sending
from campaigns.sending.worker_database import WorkerDatabase
from notifications.people.consent.category import Category
from notifications.people.device import Device
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_automation, make_campaign, make_contact, make_device, make_run
from tests.rehearsals.shared import rehearse
from tests.servers.fcm import Fcm
from tests.triggers.doing import did, tell

HELLO = {"title": "Hello", "body": "x"}
HERE, FAR = "Etc/UTC", "Etc/GMT-12"  # no summer time: noon there is midnight here
AN_HOUR = timedelta(hours=1)


@pytest.fixture
def quiet(project: Project) -> Project:
    """It is in the middle of the quiet hours here, and not on the other side of the world."""
    now = timezone.now()
    begin, end = (
        (now + hours * AN_HOUR).time().replace(second=0, microsecond=0) for hours in (-3, 3)
    )
    Project.objects.filter(pk=project.pk).update(quiet_from=begin, quiet_until=end)
    project.refresh_from_db()
    return project


def morning_comes(run: Run) -> None:
    """The hours pass, for those who wait and for their project."""
    Retry.objects.filter(run_id=run.pk).update(not_before=timezone.now() - AN_HOUR)
    Chunk.objects.filter(run_id=run.pk).update(not_before=None)
    Project.objects.filter(pk=run.project_id).update(quiet_from=None, quiet_until=None)


def in_json(waits: Retry) -> str:
    return waits.not_before.isoformat().replace("+00:00", "Z")


def reader(project: Project, zone: str, **values: Any) -> Device:
    return make_device(make_contact(project, timezone=zone, **values))


def send(run: Run) -> None:
    engine.advance(run.pk, now=timezone.now())
    for chunk in run.chunks.filter(state="queued"):
        sending.send(run.pk, chunk.number, run.epoch)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()


def ends_of(run: Run) -> dict[int, tuple[str, str]]:
    rows = Delivery.objects.filter(run_id=run.pk).values_list("device_id", "status", "reason")
    return {device: (status, reason) for device, status, reason in rows}


def category(project: Project, kind: str, quiet_hours: str = "wait") -> Category:
    return Category.objects.create(
        project=project, name="Offers", slug="offers", kind=kind, quiet_hours=quiet_hours
    )


def test_who_sleeps_gets_a_campaign_in_the_morning_and_the_others_at_once(
    quiet: Project, fcm: Fcm
) -> None:
    awake, asleep = reader(quiet, FAR), reader(quiet, HERE)
    run = make_run(quiet)

    send(run)

    assert (run.state, ends_of(run)) == ("sending", {awake.pk: ("accepted", "")})
    assert not Window.objects.filter(run=run, seqs__contains=[2]).exists(), "nothing was to leave"
    waits = Retry.objects.get(run=run)
    assert (waits.tries, waits.reason, waits.ambiguous) == (0, "quiet_hours", False)
    assert timedelta(hours=2) < waits.not_before - timezone.now() <= timedelta(hours=3)
    sleeping = reports.progress(run).sleeping
    assert (sleeping.count, sleeping.last_at) == (1, waits.not_before)

    told = Caller(quiet).get(f"runs/{run.pk}").json()["sleeping"]
    assert told == {"count": 1, "next_at": in_json(waits), "last_at": in_json(waits)}
    its_chunk = chunk_grid.one(run, 1, timezone.now())
    assert (its_chunk["sleeping"], its_chunk["retrying"]) == (1, 0)

    morning_comes(run)
    send(run)

    assert (run.state, run.accepted) == ("finished", 2)
    assert ends_of(run)[asleep.pk] == ("accepted", "")
    assert not Delivery.objects.filter(run_id=run.pk, resent=True).exists()
    assert not Retry.objects.filter(run=run).exists()


def test_what_expires_before_somebody_wakes_is_skipped_and_says_why(
    quiet: Project, fcm: Fcm
) -> None:
    asleep = reader(quiet, HERE)
    run = make_run(quiet, ttl_seconds=3_600)

    send(run)

    assert (run.state, ends_of(run)) == ("finished", {asleep.pk: ("skipped", "quiet_hours")})


def test_whoever_gets_nothing_anyway_does_not_wait_for_the_morning(
    quiet: Project, fcm: Fcm
) -> None:
    gone = reader(quiet, HERE, subscribed=False)
    run = make_run(quiet)

    send(run)

    assert (run.state, ends_of(run)) == ("finished", {gone.pk: ("skipped", "unsubscribed")})


@pytest.mark.parametrize(
    ("kind", "quiet_hours", "rings"),
    [
        ("marketing", "wait", False),
        ("transactional", "wait", False),
        ("transactional", "send", True),
        ("marketing", "send", True),
        ("critical", "wait", True),
    ],
)
def test_a_category_says_whether_it_waits_and_what_is_critical_never_does(
    quiet: Project, fcm: Fcm, kind: str, quiet_hours: str, rings: bool
) -> None:
    reader(quiet, HERE)
    run = make_run(quiet, category=category(quiet, kind, quiet_hours))
    send(run)
    assert run.accepted == int(rings)


def test_a_rehearsal_asks_fcm_at_any_hour(quiet: Project, fcm: Fcm) -> None:
    reader(quiet, HERE)
    assert ends_of(rehearse(make_campaign(quiet)).run) == {
        Device.objects.get().pk: ("accepted", "")
    }


def test_a_message_to_somebody_who_sleeps_waits_and_its_page_says_until_when(
    quiet: Project, fcm: Fcm
) -> None:
    reader(quiet, HERE, external_id="ada")
    call = Caller(quiet)
    sent = call.post("messages", {"to": {"contact": "ada"}, "content": HELLO}).json()

    tasks.send_messages()

    run = Run.every.get(project=quiet)
    assert not ends_of(run)
    (waits,) = call.get(f"messages/{sent['id']}").json()["devices"]
    wakes_at = Retry.objects.get(run_id=run.pk).not_before
    assert (waits["status"], waits["reason"]) == ("waiting", "quiet_hours")
    assert datetime.fromisoformat(waits["due"]) == wakes_at
    assert messages.due_soon() == [], "no doorbell is rung for them the whole night"
    morning_comes(run)
    tasks.send_messages()
    (rings,) = call.get(f"messages/{sent['id']}").json()["devices"]
    assert (rings["status"], rings["reason"], rings["due"]) == ("accepted", "", None)


def test_what_an_automation_answers_at_night_waits_for_the_morning(
    quiet: Project, fcm: Fcm
) -> None:
    reader(quiet, HERE, external_id="ada")
    make_automation(quiet)
    tell(Caller(quiet), did("ada"))
    tasks.decide_triggers()

    tasks.send_messages()

    run = Run.every.get(project=quiet)
    assert Retry.objects.filter(run_id=run.pk, reason=Reason.QUIET_HOURS).count() == 1
    assert not ends_of(run)


def test_somebody_who_falls_asleep_while_a_chunk_is_sent_is_not_rung(
    quiet: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hours begin after the chunk was read, and before the window opens."""
    reader(quiet, HERE)
    run = make_run(quiet)
    read, looks = WorkerDatabase.people, []

    def people(rows: Any) -> Any:
        found = read(rows)
        looks.append(len(found))
        return found

    begins = timezone.now()

    def awake_at_first(left: Any, now: datetime) -> tuple[datetime, Reason] | None:
        return (begins + 3 * AN_HOUR, Reason.QUIET_HOURS) if looks else None

    monkeypatch.setattr(WorkerDatabase, "people", people)
    monkeypatch.setattr(
        "campaigns.sending.unsettled.UnsettledRecipient.waits_until", awake_at_first
    )

    send(run)

    assert (looks[:1], ends_of(run)) == ([1], {})
    assert Retry.objects.get(run=run).reason == "quiet_hours"


def test_whoever_sleeps_while_a_run_is_cancelled_is_not_rung_in_the_morning(
    quiet: Project, fcm: Fcm
) -> None:
    asleep = reader(quiet, HERE)
    run = make_run(quiet)
    send(run)
    run.cancel()
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert run.finished_at and ends_of(run) == {asleep.pk: ("skipped", "cancelled")}
    assert not Retry.objects.filter(run=run).exists()


def test_whoever_sleeps_reads_the_text_that_was_put_right_at_night(
    quiet: Project, fcm: Fcm
) -> None:
    reader(quiet, HERE)
    run = make_run(quiet)
    send(run)
    control.change_text(run, new=NewText(1, {"title": "Put right"}), by="user:alice")
    morning_comes(run)
    send(run)
    assert [push["title"] for push in fcm.witness()] == ["Put right"]
