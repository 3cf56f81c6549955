"""A run by best hours rings everybody in the hour in which they opened most, by their own clock."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db.models import F
from django.utils import timezone

from campaigns.engine import engine
from campaigns.runs import best_hour
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Delivery, Recipient, Retry, Window
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device, make_run
from tests.rehearsals.shared import rehearse
from tests.servers.fcm import Fcm

A_DAY = timedelta(days=1)
ACCEPTED = ("accepted", "")


def morning() -> str:
    """A zone where it is between six and seven just now, so that the day is not over in a test."""
    offset = 6 - timezone.now().astimezone(UTC).hour
    offset += 24 if offset < -12 else 0
    return f"Etc/GMT{-offset:+d}"


@pytest.fixture
def here() -> str:
    return morning()


def reader(project: Project, zone: str, *hours: int, **values: Any) -> Device:
    """They opened a message at each of these hours, on different days."""
    contact = make_contact(project, timezone=zone, **values)
    opened(contact, *hours)
    return make_device(contact)


def opened(contact: Contact, *hours: int) -> None:
    today = timezone.now().astimezone(ZoneInfo(contact.timezone)).replace(minute=30)
    moments = [today.replace(hour=hour) - (n + 1) * A_DAY for n, hour in enumerate(hours)]
    best_hour.keep((contact.pk, contact.timezone, at) for at in moments)


def launch(project: Project, zone: str, **values: Any) -> Run:
    """At noon there, or at their best hour of today."""
    noon = timezone.now().astimezone(ZoneInfo(zone)).replace(hour=12, minute=0, second=0)
    asked = {
        "schedule_kind": "at", "at": noon.replace(microsecond=0), "timezone": zone,
        "local_time": True, "best_hour": True, **values,
    }  # fmt: skip
    return make_run(project, **asked)


def soon(zone: str) -> datetime:
    """Eight o'clock there: to come, and near enough that the first zone has reached its own."""
    return timezone.now().astimezone(ZoneInfo(zone)).replace(hour=8, minute=0, second=0)


def send(run: Run) -> None:
    engine.advance(run.pk, now=timezone.now())
    for chunk in run.chunks.filter(state="queued"):
        sending.send(run.pk, chunk.number, run.epoch)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()


def a_day_passes(run: Run) -> None:
    """As if everything of the run had been a day earlier."""
    run.refresh_from_db()
    assert run.hour is not None
    earlier = datetime.fromisoformat(run.hour["at"]) - A_DAY
    Run.objects.filter(pk=run.pk).update(
        hour={**run.hour, "at": earlier.isoformat()},
        **{
            name: F(name) - A_DAY
            for name in ("scheduled_at", "started_at", "paused_at", "resumed_at")
        },
    )
    Retry.objects.filter(run_id=run.pk).update(not_before=F("not_before") - A_DAY)
    Chunk.objects.filter(run_id=run.pk).update(not_before=F("not_before") - A_DAY)
    run.refresh_from_db()


def ends_of(run: Run) -> dict[int, tuple[str, str]]:
    rows = Delivery.objects.filter(run_id=run.pk).values_list("device_id", "status", "reason")
    return {device: (status, reason) for device, status, reason in rows}


def waits(run: Run, zone: str) -> dict[int, tuple[int, int]]:
    """Of each device, in how many days and at which hour of that clock it is tried."""
    device = dict(Recipient.objects.filter(run_id=run.pk).values_list("seq", "device_id"))
    today = timezone.now().astimezone(ZoneInfo(zone)).date()
    due = {row.seq: row.not_before.astimezone(ZoneInfo(zone)) for row in run.retries.all()}
    return {device[seq]: ((at.date() - today).days, at.hour) for seq, at in due.items()}


def test_each_reader_gets_it_in_the_hour_in_which_they_open_most(
    project: Project, fcm: Fcm, here: str
) -> None:
    ada = reader(project, here, 9, 20, 9, 9)
    bob = reader(project, here, 20, 8, 20)
    run = launch(project, here)

    send(run)

    assert waits(run, here) == {ada.pk: (0, 9), bob.pk: (0, 20)}
    assert {row.reason for row in run.retries.all()} == {"local_time"}
    assert not Window.objects.filter(run=run).exists(), "nothing is to leave yet"

    a_day_passes(run)
    send(run)

    assert (run.state, ends_of(run)) == ("finished", {ada.pk: ACCEPTED, bob.pk: ACCEPTED})


def test_who_has_no_best_hour_goes_by_the_time_of_the_schedule(
    project: Project, fcm: Fcm, here: str
) -> None:
    never = reader(project, here)
    twice = reader(project, here, 9, 9)
    scattered = reader(project, here, 8, 9, 10)
    long_ago = reader(project, here)
    year_ago = timezone.now() - timedelta(days=365)
    best_hour.keep([(long_ago.contact_id, here, year_ago)] * 9)
    run = launch(project, here)

    send(run)

    noon = (0, 12)
    assert waits(run, here) == dict.fromkeys(
        (d.pk for d in (never, twice, scattered, long_ago)), noon
    )


def test_it_begins_when_the_day_does_in_the_first_zone_and_lasts_until_its_end_in_the_last(
    project: Project,
) -> None:
    at = datetime.combine(timezone.now().date() + 3 * A_DAY, time(9), UTC)
    run = launch(project, "UTC", at=at, ttl_seconds=3_600, advanced=False)
    midnight = at.replace(hour=0)
    assert (run.state, run.scheduled_at) == ("scheduled", midnight - timedelta(hours=14))
    last = midnight + timedelta(hours=23 + 12)
    assert run.local_time is not None and run.local_time.last == last
    assert run.deadline == last + timedelta(hours=1)


@pytest.mark.parametrize(
    ("passed", "ends", "due"),
    [
        ("next_day", None, (1, 3)),
        ("now", ACCEPTED, None),
        ("skip", ("skipped", "local_time"), None),
    ],
)
def test_whose_hour_has_passed_gets_what_the_campaign_says(
    project: Project, fcm: Fcm, here: str, passed: str, ends: Any, due: Any
) -> None:
    early = reader(project, here, 3, 3, 3)
    run = launch(project, here, passed=passed)

    send(run)

    assert ends_of(run).get(early.pk) == ends
    assert waits(run, here) == ({early.pk: due} if due else {})


def test_who_has_no_time_zone_any_more_has_no_hour_by_their_own_clock(
    project: Project, fcm: Fcm, here: str
) -> None:
    Project.objects.filter(pk=project.pk).update(timezone=here)
    project.refresh_from_db()
    lost = reader(project, here, 9, 9, 9)
    Contact.objects.filter(pk=lost.contact_id).update(timezone="")
    run = launch(project, here)
    send(run)
    assert waits(run, here) == {lost.pk: (0, 12)}


def test_whose_hour_is_in_their_quiet_hours_gets_it_when_these_end(
    project: Project, fcm: Fcm, here: str
) -> None:
    Project.objects.filter(pk=project.pk).update(quiet_from=time(20), quiet_until=time(7))
    project.refresh_from_db()
    owl = reader(project, here, 22, 22, 22)
    run = launch(project, here)
    send(run)
    assert waits(run, here) == {owl.pk: (1, 7)}
    assert [row.reason for row in run.retries.all()] == ["quiet_hours"]


def test_the_hour_is_that_of_the_moment_at_which_the_run_was_frozen(
    project: Project, fcm: Fcm, here: str
) -> None:
    ada = reader(project, here, 9, 9, 15, 16)
    run = launch(project, here)
    opened(Contact.objects.get(pk=ada.contact_id), 15, 15, 15)
    send(run)
    assert waits(run, here) == {ada.pk: (0, 9)}
    then = Recipient.objects.get(run_id=run.pk)
    assert (then.best_hour, then.opened_then, then.opened) == (9, 2, 4)


def test_a_run_that_does_not_ask_for_it_knows_nobodys_best_hour(
    project: Project, fcm: Fcm, here: str
) -> None:
    reader(project, here, 9, 9, 9)
    run = launch(project, here, best_hour=False, at=soon(here))
    then = Recipient.objects.get(run_id=run.pk)
    assert (then.best_hour, then.opened_then, then.opened) == (None, None, None)


def test_a_rehearsal_asks_for_everybody_at_once(project: Project, fcm: Fcm, here: str) -> None:
    reader(project, here, 9, 9, 9)
    launched = launch(project, here, advanced=False)
    rehearsed = rehearse(launched.campaign).run
    assert (rehearsed.state, rehearsed.accepted) == ("finished", 1)
