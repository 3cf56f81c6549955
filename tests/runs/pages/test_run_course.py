"""How a run goes and went: its line, its chunks, its reasons, its recipients."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from campaigns import tasks
from campaigns.engine import engine, freezing
from campaigns.planning.campaign import Campaign
from campaigns.results.reason_steps import STEPS
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Window
from campaigns.runs.reasons import Cause, Reason
from campaigns.runs.run import Run
from notifications.admin.ui.axis import nice_top
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_contact, make_device, make_people, make_run
from tests.runs.pages.course import cells_of, settle

pytestmark = pytest.mark.django_db


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezing, "size_for", lambda _: 2)


def html_of(desk: Desk, page: str, *args: Any, **query: Any) -> str:
    return desk.client.get(reverse(f"admin:{page}", args=args), query).content.decode()


def names_on(page: str, people: list[str]) -> list[str]:
    return [name for name in people if re.search(rf"\b{name}\b", page)]


# --- Reasons --------------------------------------------------------------------------------------


def test_every_reason_says_what_to_do_next(desk: Desk, project: Project) -> None:
    make_people(project, len(Reason))
    run = make_run(project)
    for seq, reason in enumerate(Reason, start=1):
        unknown = reason in (Reason.UNANSWERED, Reason.INTERRUPTED)
        settle(run, seq, "unknown" if unknown else "skipped", reason)
    text = desk.open("campaigns_run_change", run.pk)
    assert [reason for reason in Reason if str(reason.label) not in text] == []
    assert [reason for reason in Reason if str(STEPS[reason]) not in text] == []
    assert str(STEPS[Reason.EXPIRED]) in desk.open("run_deliveries", run.pk, reason="expired")


def test_unknown_outcomes_stand_apart_from_refusals(desk: Desk, project: Project) -> None:
    make_people(project, 3)
    run = make_run(project, on_unknown="hold")
    settle(run, 1, "rejected", "unregistered")
    assert "whether the message arrived" not in desk.open("campaigns_run_change", run.pk)
    settle(run, 2, "unknown", "unanswered")
    settle(run, 3, "unknown", "unavailable")
    text = desk.open("campaigns_run_change", run.pk)
    refused, _, unknown = text.partition("Unknown: we cannot say whether the message arrived")
    assert "App uninstalled" in refused
    for reason in ("no answer came", "FCM was out of service, and may have taken it"):
        assert reason in unknown and reason not in refused
    assert "2 recipients: their requests left" in unknown and "never sends twice" in unknown


# --- The page that turns into the result ----------------------------------------------------------


def test_only_a_run_that_moves_is_asked_about_again_and_again(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    page = html_of(desk, "campaigns_run_change", run.pk)
    assert "every 1s" in page and "every 2s" in page
    run.pause(Cause.BY_HAND)
    paused = html_of(desk, "campaigns_run_change", run.pk)
    assert "every 1s" not in cells_free(paused) and "every 2s, visibilitychange" in paused
    later = timezone.now() + timedelta(hours=2)
    scheduled = make_run(project, advanced=False, schedule_kind="at", at=later)
    page = html_of(desk, "campaigns_run_change", scheduled.pk)
    assert not re.search(r"every \d+s", page) and re.search(r"load delay:7[12]\d\ds", page)
    Run.objects.filter(pk=scheduled.pk).update(scheduled_at=timezone.now() - timedelta(hours=1))
    assert "load delay" not in html_of(desk, "campaigns_run_change", scheduled.pk)


def cells_free(page: str) -> str:
    """Only what asks by itself."""
    return " ".join(re.findall(r'hx-trigger="([^"]*)"', page))


def test_the_end_brings_the_result_and_stops_the_asking(desk: Desk, project: Project) -> None:
    make_people(project, 2)
    run = make_run(project)
    settle(run, 1, "accepted")
    settle(run, 2, "rejected", "unregistered")
    run.chunks.update(state=Chunk.State.CLOSED)
    engine.advance(run.pk, now=timezone.now())
    reply = desk.client.get(reverse("admin:run_live", args=[run.pk]), {"seen": "sending-0"})
    assert "FCM accepted 1 of 2: 50 %." in text_of(reply)
    assert cells_of(reply.content.decode()) == "d"
    live = html_of(desk, "run_live", run.pk)
    assert re.search(r'id="run-live" *>', live), "the totals stand"
    engine.advance(run.pk, now=timezone.now())  # counts whom it was for
    assert "every " not in cells_free(html_of(desk, "campaigns_run_change", run.pk))


def test_the_page_speaks_the_share_that_the_totals_show(desk: Desk, project: Project) -> None:
    make_people(project, 8)
    run = make_run(project)
    settle(run, 1, "accepted")
    live = html_of(desk, "run_live", run.pk, seen="sending-0")
    assert re.search(r'id="run-spoken"[^>]*>Sending: 12.5 % done\.<', live)
    assert 'aria-valuetext="12.5 % done"' in live
    assert set(re.findall(r"[\d.]+ % \w+", live)) == {"12.5 % done"}


def test_a_cancelled_run_is_not_called_done(desk: Desk, project: Project) -> None:
    make_people(project, 5)
    run = make_run(project)
    for seq in (1, 2):
        settle(run, seq, "accepted")
    run.chunks.update(attempt=1)
    run.cancel()
    engine.advance(run.pk, now=timezone.now())
    Run.objects.get(pk=run.pk, accepted=2, skipped=3)
    live = desk.open("run_live", run.pk, seen="sending-0")
    assert "Cancelled: 2 of 5 accepted." in live and "100 %" not in live
    page = html_of(desk, "campaigns_run_change", run.pk)
    assert 'aria-valuetext="2 of 5 accepted"' in page
    listed = html_of(desk, "campaigns_run_changelist")
    assert 'aria-label="Cancelled: 40 % had been accepted"' in listed
    course = html_of(desk, "run_course", run.pk)
    assert cells_of(course) == "c" and "Cut short by cancelling: 1" in course


def test_a_wave_counts_only_once_it_called_back(desk: Desk, project: Project) -> None:
    """Its people are accepted long before: a 0 would contradict the totals above it."""
    make_people(project, 2)
    run = make_run(project)
    engine.advance(run.pk, now=timezone.now())
    settle(run, 1, "accepted")
    assert "not yet 1 –" in desk.open("campaigns_run_change", run.pk)
    tasks.wave_done([{"accepted": 1_200}, {}], run.pk, 1)
    page = desk.open("campaigns_run_change", run.pk)
    assert "not yet" not in page
    assert " 1 1,200 " in page


def test_a_callback_that_was_lost_is_not_waited_for_for_ever(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    engine.advance(run.pk, now=timezone.now())
    settle(run, 1, "accepted")
    run.chunks.update(state=Chunk.State.CLOSED)
    engine.advance(run.pk, now=timezone.now())
    page = desk.open("campaigns_run_change", run.pk)
    assert "never; the sweep continued it 1 –" in page
    assert "not yet" not in page


def test_a_run_of_nobody_says_so_when_it_ends(desk: Desk, project: Project) -> None:
    run = make_run(project)
    assert "Nobody matched the audience" in desk.open("campaigns_run_change", run.pk)


def test_a_run_is_duplicated_as_a_new_campaign(desk: Desk, project: Project) -> None:
    run = make_run(project, name="Spring")
    reply = desk.confirm("campaigns_run_duplicate", run.pk)
    copy = Campaign.objects.exclude(pk=run.campaign.pk).get()
    assert copy.name == "Spring (copy)" and not copy.runs.exists()
    assert reply["HX-Redirect"] == f"/admin/campaigns/campaign/{copy.pk}/change/"
    assert AuditEntry.objects.filter(action="created", subject__contains="Spring (copy)").exists()


# --- The line -------------------------------------------------------------------------------------


def test_the_line_tells_requests_a_second_since_the_start(desk: Desk, project: Project) -> None:
    make_people(project, 2)
    run = make_run(project)
    assert "The line begins with the first answers" in desk.open("campaigns_run_change", run.pk)
    start = timezone.now() - timedelta(seconds=4)
    Run.objects.filter(pk=run.pk).update(started_at=start)
    for second, count in enumerate((10, 30, 20)):
        at = start + timedelta(seconds=second + 0.5)
        Window.objects.create(
            run=run, chunk=run.chunks.get(), attempt=1, seqs=list(range(count)),
            opened_at=at, settled_at=at,
        )  # fmt: skip
    text = desk.open("campaigns_run_change", run.pk)
    assert "Requests a second, every 1 s: at most 30, on average 15." in text
    assert "<polyline" in html_of(desk, "run_course", run.pk)
    # Paused for an hour, it is not drawn as an hour of nothing.
    hour = timedelta(hours=1)
    paused = {"state": Run.State.PAUSED, "cause": Cause.BY_HAND, "started_at": start - hour}
    Run.objects.filter(pk=run.pk).update(**paused)
    Window.objects.update(opened_at=F("opened_at") - hour, settled_at=F("settled_at") - hour)
    assert "at most 30, on average 20." in desk.open("campaigns_run_change", run.pk)


@pytest.mark.parametrize(
    ("highest", "top"), [(0.4, 1), (1, 1), (3, 3), (24, 30), (30, 30), (4_711, 5_000), (9e4, 1e5)]
)
def test_the_axis_ends_at_a_round_number(highest: float, top: float) -> None:
    assert nice_top(highest) == top


# --- The chunks -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_chunks")
def test_each_chunk_is_one_cell_by_its_state(desk: Desk, project: Project) -> None:
    make_people(project, 12)
    run = make_run(project)
    states: list[dict[str, Any]] = [
        {"state": "waiting"},
        {"state": "waiting", "attempt": 1},
        {"state": "queued"},
        {"state": "leased", "lease_until": timezone.now()},
        {"state": "held"},
        {"state": "quarantined"},
    ]
    for number, values in enumerate(states, start=1):
        run.chunks.filter(number=number).update(**values)
    page = html_of(desk, "run_course", run.pk)
    assert cells_of(page) == "wtqshx"
    assert "Waits to be taken up again: 1" in page and "6 chunks" in page


@pytest.mark.usefixtures("small_chunks")
def test_one_chunk_tells_its_story_and_leads_to_its_recipients(
    desk: Desk, project: Project
) -> None:
    people = [device.contact.external_id for device in make_people(project, 4)]
    run = make_run(project)
    settle(run, 3, "rejected", "unregistered")
    run.chunks.filter(number=2).update(attempt=3, lapses=1)
    text = desk.open("run_chunk", run.pk, chunk=2)
    assert "Chunk 2: recipients 3 to 4" in text and "taken 3 times" in text
    assert "1 worker lost" in text and "1 rejected" in text and "1 waiting" in text
    assert names_on(desk.open("run_deliveries", run.pk, chunk=2), people) == people[2:]
    assert "choose one of them" in desk.open("run_chunk", run.pk, chunk=9)
    assert "choose one of them" in desk.open("run_chunk", run.pk, chunk="x'")


# --- Recipients -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_chunks")
def test_recipients_are_found_by_what_became_of_them(desk: Desk, project: Project) -> None:
    people = [device.contact.external_id for device in make_people(project, 6)]
    run = make_run(project)
    settle(run, 1, "accepted")
    settle(run, 2, "unknown", "unanswered")
    settle(run, 3, "accepted", resent=True)
    run.chunks.filter(number=2).update(attempt=2)

    def found(**query: Any) -> list[str]:
        return names_on(desk.open("run_deliveries", run.pk, **query), people)

    assert found() == people
    assert found(status="accepted") == [people[0], people[2]]
    assert found(status="unknown") == [people[1]]
    assert found(reason="unanswered") == [people[1]]
    assert found(status="waiting") == people[3:]
    assert found(resent=1) == [people[2]]
    assert found(platform="android") == people and found(platform="ios") == []
    assert found(status="waiting", chunk=2) == [people[3]]
    assert found(after=4) == people[4:]
    assert found(status="'--", chunk="x", after="-1") == people


def test_a_person_is_found_in_the_run_with_each_device(desk: Desk, project: Project) -> None:
    make_people(project, 3)
    person = make_contact(project, external_id="lovelace")
    make_device(person, platform="ios")
    make_device(person, platform="web")
    make_people(project, 3)
    run = make_run(project)
    text = desk.open("run_deliveries", run.pk, person="lovelace")
    assert sorted(re.findall(r"\d lovelace (iOS|Web) ", text)) == ["Web", "iOS"]
    assert "No recipient matches" in desk.open("run_deliveries", run.pk, person="hopper")


def test_the_csv_holds_what_the_filters_show(desk: Desk, project: Project) -> None:
    make_device(make_contact(project, external_id="=cmd()"), "secret-address")
    make_people(project, 1)
    run = make_run(project)
    settle(run, 1, "skipped", "missing_value")
    reply: Any = desk.client.get(reverse("admin:run_csv", args=[run.pk]), {"status": "skipped"})
    text = b"".join(reply.streaming_content).decode()
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["contact"], row["status"], row["reason"]) == ("'=cmd()", "skipped", "missing_value")
    assert "secret-address" not in text
    assert f'filename="run-{run.pk}-recipients.csv"' in reply["Content-Disposition"]
    everybody: Any = desk.client.get(reverse("admin:run_csv", args=[run.pk]))
    assert b"".join(everybody.streaming_content).decode().count("\n") == 3
