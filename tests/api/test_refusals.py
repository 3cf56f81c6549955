"""A refused verb says one thing: the sentence, and the verbs that would do, are of one moment."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from campaigns.planning import moving
from campaigns.runs.api import steering
from campaigns.runs.run import Run
from notifications.api.base.problems import Problem
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_campaign
from tests.given.runs import NOON, cancelled, paused, scheduled, sending

PAUSED = {"state": "paused", "cause": "by_hand"}
LATER = "2031-06-01T12:00:00Z"


def test_what_changes_after_the_refusal_does_not_contradict_it(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = sending(ours)
    refused_as = steering._refused

    def once_it_is_paused(run: Run, error: Run.InvalidMove) -> Problem:
        Run.objects.filter(pk=run.pk).update(**PAUSED)
        return refused_as(run, error)

    monkeypatch.setattr(steering, "_refused", once_it_is_paused)
    refused = alice.post(f"runs/{run.pk}/resume")
    assert refused.status_code == 409
    assert refused.json()["detail"].startswith("A sending run cannot be resumed. Possible now: ")
    assert refused.json()["verbs"] == ["pause", "change-rate", "change-text", "cancel"]


def test_what_becomes_possible_while_it_is_refused_is_done(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = sending(ours)
    reads = Run.refresh_from_db

    def once_it_is_paused(self: Run, *args: Any, **kwargs: Any) -> None:
        monkeypatch.setattr(Run, "refresh_from_db", reads)
        Run.objects.filter(pk=self.pk).update(**PAUSED)
        reads(self, *args, **kwargs)

    monkeypatch.setattr(Run, "refresh_from_db", once_it_is_paused)
    answer = alice.post(f"runs/{run.pk}/resume")
    assert (answer.status_code, answer.json()["state"]) == (200, "sending")
    assert AuditEntry.objects.filter(action="resumed").count() == 1


def test_a_move_that_loses_says_to_a_program_what_a_program_can_do(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = scheduled(ours)

    def somebody_else_is_faster(run: Run, *_args: Any) -> str:
        Run.objects.filter(pk=run.pk).update(state="sending", started_at=NOON)
        return ""

    monkeypatch.setattr(moving, "problem", somebody_else_is_faster)
    refused = alice.post(f"runs/{run.pk}/move", {"at": LATER})
    assert refused.status_code == 409
    assert refused.json()["detail"] == (
        "It was moved or started in the meantime. Get the run again, then decide. "
        "Possible now: pause, change-rate, change-text, cancel."
    )
    assert refused.json()["verbs"] == ["pause", "change-rate", "change-text", "cancel"]
    assert not AuditEntry.objects.filter(action="moved").exists()


# --- The true reason ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        ("send-again", "This run was cancelled: it cannot send again."),
        ("keep-unknown", "This run was cancelled: its unknown outcomes stay unknown."),
    ],
)
def test_of_the_unknown_of_a_cancelled_run_the_reason_is_that_it_was_cancelled(
    alice: Caller, ours: Project, verb: str, said: str
) -> None:
    run = cancelled(ours)
    run.chunks.update(skipped=1, unknown=1, reasons={"unanswered": 1})
    refused = alice.post(f"runs/{run.pk}/{verb}")
    assert refused.status_code == 409 and refused.json()["detail"].startswith(said)


def test_a_stop_of_what_does_not_repeat_names_the_run_to_cancel(
    alice: Caller, ours: Project
) -> None:
    run = scheduled(ours)
    refused = alice.post(f"campaigns/{run.campaign_id}/stop")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:carillon:invalid-move")
    name = run.campaign.name
    assert refused.json()["detail"] == f"“{name}” does not repeat; cancel run {run.pk} instead."
    alice.post(f"runs/{run.pk}/cancel")
    refused = alice.post(f"campaigns/{run.campaign_id}/stop")
    assert refused.json()["detail"] == f"“{name}” does not repeat."


# --- The end of a series --------------------------------------------------------------------------


def test_the_last_of_a_series_is_not_moved_past_its_end(alice: Caller, ours: Project) -> None:
    last = make_campaign(
        ours, schedule_kind="recurring", repeat="daily", at=NOON, until=NOON + timedelta(hours=8)
    )
    run = alice.post(f"campaigns/{last.pk}/launch").json()["id"]
    refused = alice.post(f"runs/{run}/move", {"at": "2035-01-01T00:00:00Z"})
    assert (refused.status_code, fields_at_fault(refused)) == (400, ["at"])
    assert refused.json()["errors"][0]["message"] == (
        "Its series ends on 31 May 2031, 20:00 UTC. Move it to before that."
    )
    assert Run.objects.get().scheduled_at == NOON
    assert alice.post(f"runs/{run}/move", {"at": "2031-05-31T20:00:00Z"}).status_code == 200


# --- What helps whoever was refused ---------------------------------------------------------------


def test_the_reference_names_the_members_that_help(alice: Caller, ours: Project) -> None:
    problem = alice.client.get("/api/schema/", {"format": "json"}).json()["components"]["schemas"][
        "Problem"
    ]
    assert {"verbs", "run", "run_url", "reason"} <= set(problem["properties"])
    assert set(problem["required"]) == {"type", "title", "status", "detail", "errors"}
    run = paused(ours)
    refused = alice.post(f"campaigns/{run.campaign_id}/launch").json()
    assert (refused["run"], refused["run_url"]) == (
        run.pk,
        f"http://testserver/api/v1/runs/{run.pk}",
    )


# --- The rate that was set ------------------------------------------------------------------------


def test_the_rate_that_was_set_is_shown_beside_the_one_that_is_reached(
    alice: Caller, ours: Project
) -> None:
    path = f"runs/{scheduled(ours).pk}"
    assert alice.get(path).json()["rate_limit_per_second"] is None
    answer = alice.post(f"{path}/change-rate", {"rate_per_second": 7})
    assert answer.json()["rate_limit_per_second"] == 7
    shown = alice.get(path).json()
    assert (shown["rate_limit_per_second"], shown["rate_per_second"]) == (7, 0.0)


# --- Who paused it --------------------------------------------------------------------------------


def test_a_pause_by_a_program_names_its_key(alice: Caller, ours: Project) -> None:
    ApiKey.objects.filter(pk=alice.row.pk).update(name="eng-launch")
    run = sending(ours)
    alice.post(f"runs/{run.pk}/pause")
    ApiKey.objects.filter(pk=alice.row.pk).update(name="other")
    said = f"It was the API key eng-launch ({alice.row.prefix}…)."
    assert alice.get(f"runs/{run.pk}").json()["cause"]["text"].endswith(said)
