"""The live page: totals that balance, causes with a next step, and verbs that fit the state."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.engine import engine
from campaigns.results.next_step import NEXT_STEP
from campaigns.runs.chunk import Chunk
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from notifications.people.device import Device
from notifications.people.project import Project
from tests.admin.desk import Desk, messages_of, text_of
from tests.given.builders import make_people, make_run
from tests.given.runs import settle

pytestmark = pytest.mark.django_db


def live(client: Client, run: Run, seen: str = "") -> HttpResponse:
    return client.get(reverse("admin:run_live", args=[run.pk]), {"seen": seen})  # type: ignore[return-value]


def test_the_totals_add_up_and_are_shown_to(desk: Desk, project: Project) -> None:
    make_people(project, 9)
    run = make_run(project, name="Spring")
    settle(run, accepted=3, rejected=2, skipped=1, unknown=1)
    text = desk.open("campaigns_run_change", run.pk)
    assert "9 planned = 3 accepted + 2 rejected + 1 skipped + 1 unknown + 2 waiting." in text
    assert "App uninstalled or address expired 2" in text
    assert "A value the text needs is missing for this person 1" in text
    assert "77.8 %" in text
    assert "alice launched it" in text
    assert "times in Asia/Seoul" in text


def test_the_page_asks_again_each_second_until_the_run_has_ended(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    run = make_run(project)
    assert b"every 1s" in live(desk.client, run).content

    settle(run, accepted=1)
    run.chunks.update(state=Chunk.State.CLOSED)
    engine.advance(run.pk, now=timezone.now())
    reply = live(desk.client, run, seen="sending-0")
    assert b"every 1s" not in reply.content
    assert "Finished: 100 % accepted." in text_of(reply)


def test_verbs_and_history_come_along_only_when_the_state_changed(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    run = make_run(project)
    same = live(desk.client, run, seen="sending-0").content
    assert b"run-verbs" not in same and b"run-spoken" not in same

    run.pause(Cause.BY_HAND, "by user:bob")
    changed = live(desk.client, run, seen="sending-0").content
    assert b"run-verbs" in changed and b"verb-resume" in changed and b"verb-pause" not in changed
    assert b"run-entries" in changed and b"run-spoken" in changed


@pytest.mark.parametrize("cause", list(Cause))
def test_a_pause_says_its_cause_and_the_next_step(
    desk: Desk, project: Project, cause: Cause
) -> None:
    run = make_run(project)
    Run.objects.filter(pk=run.pk).update(state="paused", finished_at=None, cause=cause)
    text = desk.open("campaigns_run_change", run.pk)
    assert str(cause.label).partition(". ")[0] in text
    assert str(NEXT_STEP[cause]) in text


def test_pause_resume_and_cancel_are_answered_with_a_message_and_an_entry(
    desk: Desk, project: Project
) -> None:
    make_people(project, 2)
    run = make_run(project)
    for verb, state, said in (
        ("pause", "paused", "is paused"),
        ("resume", "sending", "was resumed"),
        ("cancel", "cancelled", "is cancelled"),
    ):
        reply = desk.confirm(f"campaigns_run_{verb}", run.pk)
        assert reply["HX-Redirect"] == f"/admin/campaigns/run/{run.pk}/change/"
        assert said in messages_of(reply)[-1]
        assert Run.objects.get(pk=run.pk).state == state
    text = desk.open("campaigns_run_change", run.pk)
    assert "ada paused it" in text and "ada cancelled it" in text


def test_a_verb_that_came_too_late_is_refused_inside_the_dialog(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    run = make_run(project)
    run.cancel()
    reply = desk.confirm("campaigns_run_pause", run.pk)
    assert "A cancelled run cannot become paused." in text_of(reply)


def test_the_cancel_dialog_says_how_many_will_not_get_it(desk: Desk, project: Project) -> None:
    make_people(project, 5)
    run = make_run(project)
    settle(run, accepted=2)
    assert "3 of 5 recipients will not get it." in desk.open("campaigns_run_cancel", run.pk)


def test_quarantined_chunks_are_listed(desk: Desk, project: Project) -> None:
    make_people(project, 2)
    run = make_run(project)
    run.chunks.update(state=Chunk.State.QUARANTINED, lapses=5)
    text = desk.open("campaigns_run_change", run.pk)
    assert "Chunk 1: recipients 1 to 2, 5 workers lost" in text


def test_retries_say_how_many_and_until_when(desk: Desk, project: Project) -> None:
    make_people(project, 2)
    run = make_run(project)
    soon = timezone.now() + timedelta(seconds=30)
    run.retries.create(seq=1, chunk=run.chunks.get(), tries=1, not_before=soon, reason="throttled")
    assert "Waiting for another try 1 next" in desk.open("campaigns_run_change", run.pk)


def test_the_tasks_of_this_run_are_one_click_away_in_flower(desk: Desk, project: Project) -> None:
    run = make_run(project)
    page = desk.client.get(reverse("admin:campaigns_run_change", args=[run.pk])).content.decode()
    assert f"/tasks?name=campaigns.tasks.send_chunk%20kwargs:run_id={run.pk}" in page


def test_deliveries_are_filtered_and_paged_by_number(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("campaigns.runs.pages.deliveries.PAGE", 2)
    people = make_people(project, 4)
    run = make_run(project)
    settle(run, accepted=3, rejected=1)

    first = desk.open("run_deliveries", run.pk)
    assert people[0].contact.external_id in first and "Next" in first
    assert people[2].contact.external_id not in first
    assert people[2].contact.external_id in desk.open("run_deliveries", run.pk, after=2)
    refused = desk.open("run_deliveries", run.pk, status="rejected")
    assert people[3].contact.external_id in refused and people[0].contact.external_id not in refused
    empty = desk.open("run_deliveries", run.pk, reason="expired")
    assert "No recipient matches these filters" in empty


def test_deliveries_survive_people_and_devices_that_were_erased(
    desk: Desk, project: Project
) -> None:
    [device] = make_people(project, 1)
    run = make_run(project)
    settle(run, accepted=1)
    device.contact.delete()
    text = desk.open("run_deliveries", run.pk)
    assert "erased" in text and "removed" in text


def test_a_run_is_neither_added_nor_edited_nor_deleted(desk: Desk, project: Project) -> None:
    run = make_run(project)
    assert desk.post("campaigns_run_add").status_code == 403
    assert desk.post("campaigns_run_change", run.pk, state="finished").status_code == 403
    assert desk.post("campaigns_run_delete", run.pk, post="yes").status_code == 403
    assert desk.client.get("/admin/campaigns/run/999/change/").status_code == 302


def test_a_run_of_nobody_and_one_not_prepared_are_shown_without_a_crash(
    desk: Desk, project: Project
) -> None:
    desk.open("campaigns_run_change", make_run(project).pk)
    desk.open("campaigns_run_change", make_run(project, advanced=False).pk)
    later = timezone.now() + timedelta(hours=2)
    waiting = make_run(project, advanced=False, schedule_kind="at", at=later)
    assert "Starts by itself on" in desk.open("campaigns_run_change", waiting.pk)


def test_a_run_that_retired_devices_offers_to_take_them_back(desk: Desk, project: Project) -> None:
    device, other = make_people(project, 2)
    run = make_run(project)
    retired = {"retired_at": timezone.now(), "retired_reason": "unregistered"}
    Device.objects.filter(pk=device.pk).update(**retired, retired_by=run.reference)
    Device.objects.filter(pk=other.pk).update(**retired)
    assert "Take back retired devices" in desk.open("campaigns_run_change", run.pk)

    assert "1 device that this run retired" in desk.open("campaigns_run_restore_devices", run.pk)
    desk.confirm("campaigns_run_restore_devices", run.pk)

    assert list(Device.objects.filter(retired_at=None)) == [device]
    assert "Take back retired devices" not in desk.open("campaigns_run_change", run.pk)


def test_a_platform_that_is_held_back_is_named_while_the_others_go_on(
    desk: Desk, project: Project
) -> None:
    make_people(project, 2)
    run = make_run(project)
    run.hold_back("ios")

    text = desk.open("campaigns_run_change", run.pk)

    assert "iOS held back. Firebase refuses all of these devices" in text


def test_unknown_outcomes_can_be_sent_again_or_kept(desk: Desk, project: Project) -> None:
    make_people(project, 3)
    run = make_run(project, on_unknown="hold")
    settle(run, accepted=1, unknown=2)
    run.chunks.update(state=Chunk.State.CLOSED)
    engine.advance(run.pk, now=timezone.now())
    assert "It ended with 2 unknown outcomes." in desk.open("index")
    assert "Keep as unknown" in desk.open("campaigns_run_change", run.pk)

    desk.confirm("campaigns_run_send_again", run.pk)

    run.refresh_from_db()
    assert (run.state, run.chunks.get().waiting) == ("sending", 2)
    assert "Keep as unknown" not in desk.open("campaigns_run_change", run.pk)


def test_a_run_past_its_deadline_offers_nothing_to_send_again(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    run = make_run(project, on_unknown="hold")
    settle(run, unknown=1)
    asked = reverse("admin:campaigns_run_send_again", args=[run.pk])
    assert b'type="submit"' in desk.client.get(asked).content
    Run.objects.filter(pk=run.pk).update(ttl_seconds=0)
    reply = desk.client.get(asked)
    assert "The run's deadline has passed" in text_of(reply)
    assert b'type="submit"' not in reply.content


def test_nobody_is_asked_about_unknown_outcomes_that_were_kept(
    desk: Desk, project: Project
) -> None:
    make_people(project, 3)
    run = make_run(project)
    settle(run, accepted=1, unknown=2)
    run.chunks.update(state=Chunk.State.CLOSED)
    engine.advance(run.pk, now=timezone.now())

    desk.confirm("campaigns_run_keep_unknown", run.pk)

    page = desk.client.get(reverse("admin:campaigns_run_change", args=[run.pk]))
    assert "somebody chose to keep it as unknown" in text_of(page)
    for verb in ("send_again", "keep_unknown"):
        assert reverse(f"admin:campaigns_run_{verb}", args=[run.pk]) not in page.content.decode()
    assert "unknown outcomes" not in desk.open("index")


def test_requests_that_may_have_arrived_twice_are_counted_on_the_page(
    desk: Desk, project: Project
) -> None:
    make_people(project, 3)
    run = make_run(project)
    settle(run, accepted=2, unknown=1)
    run.chunks.update(copies=3, state=Chunk.State.CLOSED)
    engine.advance(run.pk, now=timezone.now())
    assert "arrived twice" not in desk.open("campaigns_run_change", run.pk)

    run.chunks.update(copies=5)
    said = desk.open("campaigns_run_change", run.pk)
    assert "up to 2 requests may have arrived twice. They carry the same tag" in said
    assert "There is nothing you need to do. Who was sent to again" in said
