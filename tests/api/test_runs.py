"""Runs through the API: watched, and steered."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from campaigns.engine import engine
from campaigns.results.next_step import NEXT_STEP
from campaigns.runs.chunk import Chunk
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from notifications.pacing.fcm_signals import AnswerCounts
from notifications.pacing.gate import Gate
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_people, make_run

MEMBERS = {
    "id", "campaign", "corrects", "state", "reason", "cause", "totals", "reasons",
    "rate_per_second", "rate_limit_per_second", "spread_seconds", "opens_per_second",
    "scheduled_at", "started_at", "finished_at", "eta_at", "sleeping", "pace", "foreseen",
    "first_part",
    "snapshot", "revision", "verbs",
}  # fmt: skip


def test_a_run_is_shown_as_the_contract_says(alice: Caller, ours: Project) -> None:
    make_people(ours, 3)
    run = make_run(ours)
    Chunk.objects.update(accepted=1, rejected=1, reasons={"unregistered": 1})
    shown = alice.get(f"runs/{run.pk}").json()
    assert set(shown) == MEMBERS
    assert shown["state"] == "sending"
    assert shown["totals"] == {
        "planned": 3, "accepted": 1, "rejected": 1, "skipped": 0, "unknown": 0, "waiting": 1,
    }  # fmt: skip
    assert shown["reasons"] == {"unregistered": 1}
    assert (shown["reason"], shown["cause"], shown["finished_at"]) == (None, None, None)
    assert shown["started_at"].endswith("Z")


def test_a_sending_run_says_what_limits_its_pace_and_until_when(
    alice: Caller, ours: Project
) -> None:
    make_people(ours, 3)
    run = make_run(ours)
    gate = Gate(ours, reference=run.reference)
    gate.take(0, AnswerCounts(failing=5))
    shown = alice.get(f"runs/{run.pk}").json()
    assert (shown["state"], shown["cause"]) == ("sending", None)
    pace = shown["pace"]
    assert (pace["limit"], pace["rate_per_second"]) == ("failing", 0)
    assert pace["text"].startswith("FCM fails or cannot be reached")
    assert timezone.now().isoformat() < pace["until"]

    run.refresh_from_db()
    run.pause(Cause.BY_HAND, "by ada")
    assert alice.get(f"runs/{run.pk}").json()["pace"] is None


def test_a_paused_run_says_why_in_words_and_as_a_code(alice: Caller, ours: Project) -> None:
    run = make_run(ours, advanced=False)
    run.pause(Cause.BAD_CREDENTIALS, "invalid_grant")
    shown = alice.get(f"runs/{run.pk}").json()
    assert shown["cause"]["code"] == "bad_credentials"
    assert "set a working service account" in shown["reason"]
    assert "invalid_grant" in shown["reason"]


@pytest.mark.parametrize("cause", list(Cause))
def test_a_paused_run_says_what_to_do_in_the_words_of_its_page(
    alice: Caller, ours: Project, cause: Cause
) -> None:
    run = make_run(ours, advanced=False)
    run.pause(cause, "so it was")
    told = f"{cause.label} {NEXT_STEP[cause]} so it was"
    assert alice.get(f"runs/{run.pk}").json()["reason"] == told


def test_pause_and_resume_are_rung_and_recorded(
    alice: Caller, ours: Project, django_capture_on_commit_callbacks: Any
) -> None:
    make_people(ours, 1)
    run = make_run(ours)
    with django_capture_on_commit_callbacks() as rung:
        paused = alice.post(f"runs/{run.pk}/pause")
        resumed = alice.post(f"runs/{run.pk}/resume", {})
    assert (paused.status_code, paused.json()["state"]) == (200, "paused")
    assert paused.json()["cause"]["code"] == "by_hand"
    assert (resumed.status_code, resumed.json()["state"]) == (200, "sending")
    assert len(rung) == 2
    by = f"key:{alice.row.prefix}"
    entries = AuditEntry.objects.order_by("id").values_list("actor", "action")
    assert list(entries) == [("user:alice", "launched"), (by, "paused"), (by, "resumed")]


def test_cancel_closes_everybody_as_skipped(alice: Caller, ours: Project) -> None:
    make_people(ours, 3)
    run = make_run(ours)
    assert alice.post(f"runs/{run.pk}/cancel").json()["state"] == "cancelled"
    engine.advance(run.pk, now=timezone.now())
    shown = alice.get(f"runs/{run.pk}").json()
    assert (shown["totals"]["skipped"], shown["totals"]["waiting"]) == (3, 0)
    assert shown["reasons"] == {"cancelled": 3}
    assert shown["finished_at"]


def test_a_run_that_ended_waits_for_nobody(alice: Caller, ours: Project) -> None:
    make_people(ours, 1)
    run = make_run(ours)
    alice.post(f"runs/{run.pk}/pause")
    alice.post(f"runs/{run.pk}/cancel")
    shown = alice.get(f"runs/{run.pk}").json()
    listed = alice.get("runs").json()["results"][0]
    assert shown["state"] == "cancelled"
    for seen in (shown, listed):
        assert (seen["reason"], seen["cause"]) == (None, None)


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel"])
def test_a_move_that_is_not_possible_is_a_conflict(alice: Caller, ours: Project, verb: str) -> None:
    run = make_run(ours, advanced=False)
    run.cancel()
    before = AuditEntry.objects.count()
    refused = alice.post(f"runs/{run.pk}/{verb}")
    assert refused.status_code == 409
    assert "cancelled" in refused.json()["detail"]
    assert AuditEntry.objects.count() == before


def test_runs_are_listed_newest_first_and_by_campaign(alice: Caller, ours: Project) -> None:
    make_people(ours, 2)
    old, new = make_run(ours), make_run(ours)
    listed = alice.get("runs").json()["results"]
    assert [run["id"] for run in listed] == [new.pk, old.pk]
    assert listed[0]["totals"]["planned"] == 2
    assert set(listed[0]) == MEMBERS - {
        "revision",
        "snapshot",
        "reasons",
        "rate_per_second",
        "rate_limit_per_second",
        "spread_seconds",
        "opens_per_second",
        "foreseen",
        "eta_at",
        "sleeping",
        "pace",
        "first_part",
        "verbs",
    }
    of_one = alice.get(f"runs?campaign={old.campaign_id}").json()["results"]
    assert [run["id"] for run in of_one] == [old.pk]
    assert alice.get("runs?campaign=x").status_code == 400


def test_a_finished_run_is_listed_with_its_final_totals(alice: Caller, ours: Project) -> None:
    make_people(ours, 2)
    run = make_run(ours)
    run.cancel()
    engine.advance(run.pk, now=timezone.now())
    totals = alice.get("runs").json()["results"][0]["totals"]
    assert totals == alice.get(f"runs/{run.pk}").json()["totals"]
    assert totals["skipped"] == 2
    assert Run.objects.get().skipped == 2


def test_a_run_says_whom_it_was_for_and_when_they_were_chosen(alice: Caller, ours: Project) -> None:
    make_people(ours, 3)
    run = make_run(ours)

    snapshot = alice.get(f"runs/{run.pk}").json()["snapshot"]

    assert (snapshot["rules"], snapshot["people"]) == (run.rules, 3)
    assert snapshot["recipients_hash"] == run.recipients_hash != ""
    assert snapshot["evaluated_at"].endswith("Z")


def test_a_breakdown_is_counted_once_the_run_has_ended(alice: Caller, ours: Project) -> None:
    make_people(ours, 3)
    run = make_run(ours)
    path = f"runs/{run.pk}/breakdown?by=platform"
    nothing = {"by": "platform", "counted": False, "items": [], "others": None}
    assert alice.get(path).json() == nothing

    run.cancel()
    for _ in range(3):
        engine.advance(run.pk, now=timezone.now())

    counts = {"recipients": 3, "accepted": 0, "rejected": 0, "skipped": 3, "unknown": 0}
    android = {"value": "android", **counts}
    assert alice.get(path).json() == {**nothing, "counted": True, "items": [android]}


@pytest.mark.parametrize("by", ["", "?by=shoe_size", "?by=platform&by=locale"])
def test_a_breakdown_by_what_is_not_kept_is_refused_with_what_is(
    alice: Caller, ours: Project, by: str
) -> None:
    run = make_run(ours)
    reply = alice.get(f"runs/{run.pk}/breakdown{by}")
    assert reply.status_code == 400 and fields_at_fault(reply) == ["by"]


def test_the_breakdown_of_another_project_is_not_found(charlie: Caller, ours: Project) -> None:
    run = make_run(ours)
    assert charlie.get(f"runs/{run.pk}/breakdown?by=platform").status_code == 404
