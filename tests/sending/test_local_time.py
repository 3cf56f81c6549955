"""A run that goes by each reader's clock rings everybody at that time where they are."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine
from campaigns.results import reports
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Delivery, Retry, Window
from campaigns.runs.run import Run
from campaigns.runs.tick import Tick
from campaigns.runs.wave import Wave
from campaigns.sending import sending
from campaigns.texts.rendering import Renderer
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device, make_run
from tests.rehearsals.shared import rehearse
from tests.servers.fcm import Fcm

HERE, WEST, EAST = "Etc/UTC", "Etc/GMT+3", "Etc/GMT-5"  # it is time here; in 3 h; it was 5 h ago
AN_HOUR = timedelta(hours=1)
A_MINUTE = timedelta(minutes=1)


def reader(project: Project, zone: str, **values: Any) -> Device:
    return make_device(make_contact(project, timezone=zone, **values))


def launch(project: Project, **values: Any) -> Run:
    """At the time that the clocks show here."""
    at = timezone.now().replace(microsecond=0)
    asked = {"schedule_kind": "at", "at": at, "timezone": "UTC", "local_time": True, **values}
    return make_run(project, **asked)


def send(run: Run) -> None:
    engine.advance(run.pk, now=timezone.now())
    for chunk in run.chunks.filter(state="queued"):
        sending.send(run.pk, chunk.number, run.epoch)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()


def passes(run: Run, time: timedelta) -> None:
    """As if everything of the run had been so much earlier."""
    run.refresh_from_db()
    assert run.hour is not None
    earlier = datetime.fromisoformat(run.hour["at"]) - time
    moments = ("launched_at", "scheduled_at", "started_at", "paused_at", "resumed_at")
    Run.objects.filter(pk=run.pk).update(
        hour={**run.hour, "at": earlier.isoformat()}, **{name: F(name) - time for name in moments}
    )
    Retry.objects.filter(run_id=run.pk).update(
        not_before=F("not_before") - time, first_tried_at=F("first_tried_at") - time
    )
    Chunk.objects.filter(run_id=run.pk).update(not_before=F("not_before") - time)
    Wave.objects.filter(run=run).update(rung_at=F("rung_at") - time)
    Window.objects.filter(run=run).update(opened_at=F("opened_at") - time)
    Tick.objects.update(at=F("at") - time)
    run.refresh_from_db()


def ends_of(run: Run) -> dict[int, tuple[str, str]]:
    rows = Delivery.objects.filter(run_id=run.pk).values_list("device_id", "status", "reason")
    return {device: (status, reason) for device, status, reason in rows}


def hours_until(moment: datetime) -> float:
    return round((moment - timezone.now()) / AN_HOUR, 1)


ACCEPTED = ("accepted", "")
TOO_LATE = ("skipped", "local_time")


def test_each_reader_gets_it_when_it_is_that_time_where_they_are(
    project: Project, fcm: Fcm
) -> None:
    here, west = reader(project, HERE), reader(project, WEST)
    run = launch(project)

    send(run)

    assert (run.state, ends_of(run)) == ("sending", {here.pk: ACCEPTED})
    assert Window.objects.filter(run=run).count() == 1, "nothing is to leave for the other"
    waits = Retry.objects.get(run=run)
    assert (waits.tries, waits.reason, hours_until(waits.not_before)) == (0, "local_time", 3)
    sleeping = reports.progress(run).sleeping
    assert (sleeping.count, sleeping.next_at) == (1, waits.not_before)

    passes(run, 3 * AN_HOUR + A_MINUTE)
    send(run)

    assert (run.state, ends_of(run)[west.pk]) == ("finished", ACCEPTED)
    assert not Delivery.objects.filter(run_id=run.pk, resent=True).exists()


@pytest.mark.parametrize(
    ("passed", "ends", "waits"),
    [("next_day", None, 19), ("now", ACCEPTED, None), ("skip", TOO_LATE, None)],
)
def test_where_the_time_has_passed_the_campaign_says_what_becomes_of_readers(
    project: Project, fcm: Fcm, passed: str, ends: tuple[str, str] | None, waits: int | None
) -> None:
    east = reader(project, EAST)
    run = launch(project, passed=passed)

    send(run)

    assert ends_of(run).get(east.pk) == ends
    due = [hours_until(row.not_before) for row in Retry.objects.filter(run=run)]
    assert due == ([waits] if waits else [])


@pytest.mark.parametrize(
    ("zoneless", "ends", "waits"),
    [
        ("project", ACCEPTED, None),
        ("campaign", None, 3),
        ("skip", ("skipped", "no_zone"), None),
    ],
)
def test_a_reader_without_a_zone_goes_by_the_clock_that_the_campaign_names(
    project: Project, fcm: Fcm, zoneless: str, ends: tuple[str, str] | None, waits: int | None
) -> None:
    Project.objects.filter(pk=project.pk).update(timezone=HERE)
    project.refresh_from_db()
    nowhere = reader(project, "")
    # The same time of the day, as a clock three hours behind shows it later.
    at = timezone.now().replace(microsecond=0) + 3 * AN_HOUR
    run = launch(project, zoneless=zoneless, timezone=WEST, at=at)

    send(run)

    assert ends_of(run).get(nowhere.pk) == ends
    due = [hours_until(row.not_before) for row in Retry.objects.filter(run=run)]
    assert due == ([waits] if waits else [])


def test_it_expires_so_long_after_the_time_of_each_reader(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    render, told = Renderer.render, []

    def rendered(self: Renderer, reader: Any, *, ttl_seconds: int, **more: Any) -> Any:
        told.append(ttl_seconds)
        return render(self, reader, ttl_seconds=ttl_seconds, **more)

    monkeypatch.setattr(Renderer, "render", rendered)
    west = reader(project, WEST)
    run = launch(project, ttl_seconds=3_600)
    send(run)
    assert run.deadline - run.scheduled_at >= 13 * AN_HOUR, "the last zone has its hour, too"

    passes(run, 3 * AN_HOUR + 10 * A_MINUTE)
    send(run)

    assert ends_of(run) == {west.pk: ACCEPTED}
    assert 2_900 <= told[-1] <= 3_000


def test_nobody_gets_it_after_it_expired_by_their_own_clock(project: Project, fcm: Fcm) -> None:
    west = reader(project, WEST)
    run = launch(project, ttl_seconds=3_600)
    send(run)

    passes(run, 4 * AN_HOUR + A_MINUTE)
    send(run)

    assert (run.state, ends_of(run)) == ("finished", {west.pk: ("skipped", "expired")})


@pytest.mark.parametrize(("paused_for", "ends"), [(14, ACCEPTED), (16, TOO_LATE)])
def test_a_pause_past_somebodys_time_makes_it_late_by_some_minutes_or_skips_them(
    project: Project, fcm: Fcm, paused_for: int, ends: tuple[str, str]
) -> None:
    west = reader(project, WEST)
    run = launch(project, max_lateness_seconds=900)
    send(run)
    control.pause(run, by="user:alice")

    passes(run, 3 * AN_HOUR + paused_for * A_MINUTE)
    control.resume(run, by="user:alice")
    run.refresh_from_db()
    send(run)

    assert (run.state, ends_of(run)) == ("finished", {west.pk: ends})


def test_a_pause_of_a_moment_skips_nobody_whom_a_slow_rate_had_made_late(
    project: Project, fcm: Fcm
) -> None:
    west = reader(project, WEST)
    run = launch(project, max_lateness_seconds=900)
    send(run)

    passes(run, 3 * AN_HOUR + 20 * A_MINUTE)
    control.pause(run, by="user:alice")
    control.resume(run, by="user:alice")
    run.refresh_from_db()
    send(run)

    assert ends_of(run) == {west.pk: ACCEPTED}


def test_a_second_pause_does_not_forget_how_long_the_first_one_was(
    project: Project, fcm: Fcm
) -> None:
    west = reader(project, WEST)
    run = launch(project, max_lateness_seconds=900)
    send(run)
    control.pause(run, by="user:alice")
    passes(run, 6 * AN_HOUR)
    control.resume(run, by="user:alice")
    passes(run, A_MINUTE)
    control.pause(Run.objects.get(pk=run.pk), by="user:alice")
    passes(run, A_MINUTE)
    control.resume(Run.objects.get(pk=run.pk), by="user:alice")
    run.refresh_from_db()

    send(run)

    assert (run.state, ends_of(run)) == ("finished", {west.pk: TOO_LATE})


@pytest.mark.parametrize(("away_for", "ends"), [(14, ACCEPTED), (16, TOO_LATE)])
def test_whose_time_came_while_the_system_was_down_gets_it_as_after_a_pause_as_long(
    project: Project, fcm: Fcm, away_for: int, ends: tuple[str, str]
) -> None:
    west = reader(project, WEST)
    run = launch(project, max_lateness_seconds=900)
    send(run)
    Tick.record(timezone.now())
    passes(run, 3 * AN_HOUR + away_for * A_MINUTE)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert (run.state, run.cause) == ("paused", "away")

    control.resume(run, by="user:alice")
    run.refresh_from_db()
    send(run)

    assert (run.state, ends_of(run)) == ("finished", {west.pk: ends})


@pytest.mark.parametrize(("late_by", "ends"), [(14, ACCEPTED), (16, TOO_LATE)])
def test_whose_time_came_while_a_run_could_not_begin_gets_it_as_after_a_pause_as_long(
    project: Project, fcm: Fcm, late_by: int, ends: tuple[str, str]
) -> None:
    west = reader(project, WEST)
    at = (timezone.now() + 20 * AN_HOUR).replace(microsecond=0)
    run = launch(project, at=at, advanced=False, max_lateness_seconds=900)
    passes(run, 23 * AN_HOUR + late_by * A_MINUTE)
    engine.sweep(timezone.now())
    run.refresh_from_db()
    assert (run.state, run.cause) == ("paused", "late")

    control.resume(run, by="user:alice")
    run.refresh_from_db()
    send(run)

    assert ends_of(run) == {west.pk: ends}


@pytest.mark.parametrize(
    ("address", "ended"),
    [
        ("unheardof-1:APA91b", ("rejected", "unknown_answer")),
        ("lost-1:APA91b", ("unknown", "unanswered")),
    ],
)
def test_who_is_sent_to_again_after_a_long_pause_gets_it(
    project: Project, fcm: Fcm, address: str, ended: tuple[str, str]
) -> None:
    """A person has seen how late it is."""
    here = make_device(make_contact(project, timezone=HERE), address)
    reader(project, WEST)
    run = launch(project, max_lateness_seconds=900, on_unknown="hold")
    send(run)
    if not ends_of(run):  # it is asked for twice
        Retry.objects.filter(run_id=run.pk, tries=1).update(not_before=F("not_before") - AN_HOUR)
        Chunk.objects.filter(run_id=run.pk).update(not_before=None)
        send(run)
    assert ends_of(run) == {here.pk: ended}
    control.pause(run, by="user:alice")
    passes(run, 2 * AN_HOUR)
    control.resume(run, by="user:alice")
    Device.objects.filter(pk=here.pk).update(address="live-9:APA91b")

    assert control.send_again(Run.objects.get(pk=run.pk), by="user:alice") == 1

    run.refresh_from_db()
    send(run)
    assert ends_of(run) == {here.pk: ACCEPTED}


def test_a_slow_rate_skips_nobody_whose_time_came_meanwhile(project: Project, fcm: Fcm) -> None:
    west = reader(project, WEST)
    run = launch(project, max_lateness_seconds=900)
    send(run)

    passes(run, 3 * AN_HOUR + 20 * A_MINUTE)
    send(run)

    assert ends_of(run) == {west.pk: ACCEPTED}


def test_whose_time_is_in_their_quiet_hours_gets_it_when_these_end(
    project: Project, fcm: Fcm
) -> None:
    now = timezone.now()
    begin, end = ((now + hours * AN_HOUR).time().replace(microsecond=0) for hours in (-1, 2))
    Project.objects.filter(pk=project.pk).update(quiet_from=begin, quiet_until=end)
    project.refresh_from_db()
    reader(project, HERE)
    reader(project, WEST)
    run = launch(project)

    send(run)

    assert ends_of(run) == {}
    due = sorted(hours_until(row.not_before) for row in Retry.objects.filter(run=run))
    assert due == [2, 5], "two hours after it is that time, wherever they are"
    assert {row.reason for row in Retry.objects.filter(run=run)} == {"quiet_hours"}


def test_whoever_travels_gets_it_once_by_their_new_clock(project: Project, fcm: Fcm) -> None:
    traveller = reader(project, WEST)
    run = launch(project)
    send(run)
    Contact.objects.filter(pk=traveller.contact_id).update(timezone="Etc/GMT+6")

    passes(run, 3 * AN_HOUR + A_MINUTE)
    send(run)
    assert ends_of(run) == {}, "it is not yet that time there"

    passes(run, 3 * AN_HOUR)
    send(run)
    assert (run.state, ends_of(run)) == ("finished", {traveller.pk: ACCEPTED})
    assert len(fcm.witness()) == 1


def test_whoever_travels_east_gets_it_within_the_hour(project: Project, fcm: Fcm) -> None:
    traveller, stays = reader(project, WEST), reader(project, WEST)
    run = launch(project, ttl_seconds=3_600)
    send(run)
    Contact.objects.filter(pk=traveller.contact_id).update(timezone="Etc/GMT+1")

    passes(run, AN_HOUR + A_MINUTE)
    send(run)
    assert ends_of(run) == {traveller.pk: ACCEPTED}, "and nobody else"

    passes(run, 2 * AN_HOUR)
    send(run)
    assert ends_of(run) == {traveller.pk: ACCEPTED, stays.pk: ACCEPTED}


def test_whoever_gets_nothing_anyway_does_not_wait_for_their_time(
    project: Project, fcm: Fcm
) -> None:
    gone = reader(project, WEST, subscribed=False)
    run = launch(project)
    send(run)
    assert (run.state, ends_of(run)) == ("finished", {gone.pk: ("skipped", "unsubscribed")})


def test_a_run_waits_for_the_first_zone_and_is_late_for_nobody(project: Project) -> None:
    at = (timezone.now() + 20 * AN_HOUR).replace(microsecond=0)
    run = launch(project, at=at, advanced=False)
    assert (run.state, run.scheduled_at) == ("scheduled", at - 14 * AN_HOUR)


def test_a_rehearsal_asks_for_everybody_at_once(project: Project, fcm: Fcm) -> None:
    reader(project, WEST)
    launched = launch(project, advanced=False)
    rehearsed = rehearse(launched.campaign).run
    assert (rehearsed.state, rehearsed.accepted) == ("finished", 1)
