"""A run steered from a program: each verb where it fits, refused where it does not, once a key."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.runs.run import Run
from campaigns.verbs import VERBS
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.api_key import Scope
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_campaign
from tests.given.runs import (
    NOON,
    cancelled,
    doubtful,
    first_part,
    paused,
    retiring,
    scheduled,
    sending,
    unreported,
)

LATER = NOON + timedelta(hours=3)
BODIES: dict[str, Any] = {
    "change-rate": {"rate_per_second": 7},
    "change-text": {"revision": 1, "title": "Put right"},
    "move": {"at": LATER.isoformat()},
}
PATHS = [verb.path for verb in VERBS]


FITS: dict[str, Callable[[Project], Run]] = {
    "pause": sending,
    "resume": paused,
    "go-on": first_part,
    "change-rate": sending,
    "ignore-load": unreported,
    "change-text": sending,
    "move": scheduled,
    "cancel": sending,
    "restore-devices": retiring,
    "send-again": doubtful,
    "keep-unknown": doubtful,
}
RECORDED = {
    "pause": "paused",
    "resume": "resumed",
    "go-on": "went on with the rest of",
    "change-rate": "changed the rate of",
    "ignore-load": "went on without reports of the load in",
    "change-text": "changed the text of",
    "move": "moved",
    "cancel": "cancelled",
    "restore-devices": "restored devices",
    "send-again": "sent again to the unknown recipients of",
    "keep-unknown": "kept the unknown outcomes of",
}


def ask(caller: Caller, run: Run, verb: str, body: Any = None, **headers: str) -> Any:
    return caller.post(f"runs/{run.pk}/{verb}", body or BODIES.get(verb), **headers)


def as_it_is(run: Run) -> Any:
    return Run.objects.filter(pk=run.pk).values().get(), list(Device.objects.values())


@pytest.mark.parametrize(
    ("given", "verbs"),
    [
        (scheduled, ["pause", "change-rate", "change-text", "move", "cancel"]),
        (sending, ["pause", "change-rate", "change-text", "cancel"]),
        (paused, ["resume", "change-rate", "change-text", "cancel"]),
        (doubtful, ["send-again", "keep-unknown"]),
        (retiring, ["restore-devices"]),
        (cancelled, []),
    ],
)
def test_a_run_says_what_can_be_done_with_it_now(
    alice: Caller, ours: Project, given: Callable[[Project], Run], verbs: list[str]
) -> None:
    assert alice.get(f"runs/{given(ours).pk}").json()["verbs"] == verbs


@pytest.mark.parametrize("given", [scheduled, sending, paused, doubtful, retiring, cancelled])
@pytest.mark.parametrize("verb", PATHS)
def test_what_a_run_says_is_done_and_nothing_else(
    alice: Caller, ours: Project, verb: str, given: Callable[[Project], Run]
) -> None:
    run = given(ours)
    possible = alice.get(f"runs/{run.pk}").json()["verbs"]
    before = as_it_is(run)
    answer = ask(alice, run, verb)
    assert answer.status_code == (200 if verb in possible else 409)
    if verb not in possible:
        assert answer.json()["type"] == "urn:carillon:invalid-move"
        assert answer.json()["verbs"] == possible
        for each in possible:
            assert each in answer.json()["detail"], "what to do instead"
        assert as_it_is(run) == before
        assert not AuditEntry.objects.filter(actor=f"key:{alice.row.prefix}").exists()


@pytest.mark.parametrize("verb", PATHS)
def test_who_did_it_is_kept_and_the_run_is_looked_at(
    alice: Caller, ours: Project, verb: str, django_capture_on_commit_callbacks: Any
) -> None:
    run = FITS[verb](ours)
    with django_capture_on_commit_callbacks() as rung:
        answer = ask(alice, run, verb)
    assert answer.json()["id"] == run.pk
    assert len(rung) == 1
    entry = AuditEntry.objects.get(action=RECORDED[verb])
    assert (entry.actor, entry.subject_id) == (f"key:{alice.row.prefix}", run.pk)


@pytest.mark.parametrize("verb", PATHS)
def test_a_key_without_the_scope_steers_nothing(ours: Project, verb: str) -> None:
    run = FITS[verb](ours)
    before = as_it_is(run)
    reader = Caller(ours, [scope for scope in Scope.values if scope != Scope.LAUNCH])
    refused = ask(reader, run, verb)
    assert (refused.status_code, "“launch”" in refused.json()["detail"]) == (403, True)
    assert as_it_is(run) == before


@pytest.mark.parametrize("verb", PATHS)
def test_another_projects_run_is_not_there(charlie: Caller, ours: Project, verb: str) -> None:
    run = FITS[verb](ours)
    before = as_it_is(run)
    assert ask(charlie, run, verb).status_code == 404
    assert as_it_is(run) == before


@pytest.mark.parametrize("verb", PATHS)
def test_with_the_same_key_it_is_done_once(alice: Caller, ours: Project, verb: str) -> None:
    run = FITS[verb](ours)
    first = ask(alice, run, verb, Idempotency_Key="k1")
    again = ask(alice, run, verb, Idempotency_Key="k1")
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.content == first.content and again["Idempotent-Replayed"] == "true"
    assert AuditEntry.objects.filter(action=RECORDED[verb]).count() == 1


@pytest.mark.parametrize("verb", sorted(set(PATHS) - set(BODIES)))
def test_a_body_where_none_is_asked_for_is_refused_by_its_field(
    alice: Caller, ours: Project, verb: str
) -> None:
    run = FITS[verb](ours)
    before = as_it_is(run)
    refused = ask(alice, run, verb, {"why": "because"})
    assert (refused.status_code, fields_at_fault(refused)) == (400, ["why"])
    assert as_it_is(run) == before


# --- What they ask for ----------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [1, 100_000, None])
def test_a_rate_counts_from_now_on(alice: Caller, ours: Project, rate: int | None) -> None:
    run = sending(ours)
    assert ask(alice, run, "change-rate", {"rate_per_second": rate}).status_code == 200
    run.refresh_from_db()
    assert run.rate_per_second == rate
    assert AuditEntry.objects.latest("pk").changes == {"rate_per_second": [50, rate]}


@pytest.mark.parametrize("rate", [0, -1, 100_001, 1.5, "many", True, [], {}])
def test_a_rate_that_is_none_is_refused_by_its_field(
    alice: Caller, ours: Project, rate: Any
) -> None:
    run = sending(ours)
    refused = ask(alice, run, "change-rate", {"rate_per_second": rate})
    assert (refused.status_code, fields_at_fault(refused)) == (400, ["rate_per_second"])
    assert fields_at_fault(alice.post(f"runs/{run.pk}/change-rate")) == ["rate_per_second"]
    run.refresh_from_db()
    assert run.rate_per_second == 50


def test_a_moved_run_and_its_campaign_have_the_new_time(alice: Caller, ours: Project) -> None:
    run = scheduled(ours)
    wall = {"at": "2031-06-01T09:00", "timezone": "Asia/Seoul"}
    assert ask(alice, run, "move", wall).json()["scheduled_at"] == "2031-06-01T00:00:00Z"
    run.refresh_from_db()
    assert run.scheduled_at == run.campaign.at == datetime(2031, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("soon", "RFC 3339"),
        ("2031-06-01T09:00", "no UTC offset"),
        ("2020-06-01T09:00Z", "This time has passed"),
        (NOON.isoformat(), "due at this time already"),
    ],
)
def test_a_time_that_cannot_be_is_refused_by_its_field(
    alice: Caller, ours: Project, at: str, said: str
) -> None:
    run = scheduled(ours)
    refused = ask(alice, run, "move", {"at": at})
    assert (refused.status_code, fields_at_fault(refused)) == (400, ["at"])
    assert said in refused.json()["errors"][0]["message"]
    run.refresh_from_db()
    assert run.scheduled_at == NOON


def test_one_of_a_series_stays_before_the_next(alice: Caller, ours: Project) -> None:
    daily = make_campaign(ours, schedule_kind="recurring", repeat="daily", at=NOON)
    run = alice.post(f"campaigns/{daily.pk}/launch").json()["id"]
    refused = alice.post(f"runs/{run}/move", {"at": "2031-06-01T12:00:00Z"})
    assert (refused.status_code, fields_at_fault(refused)) == (400, ["at"])
    assert "Move it to before that" in refused.json()["errors"][0]["message"]


def test_whoever_is_sent_to_again_waits_once_more(alice: Caller, ours: Project) -> None:
    shown = ask(alice, doubtful(ours), "send-again").json()
    assert (shown["state"], shown["finished_at"]) == ("sending", None)
    assert (shown["totals"]["unknown"], shown["totals"]["waiting"]) == (0, 1)
    assert shown["verbs"] == ["pause", "change-rate", "change-text", "cancel"]


def test_past_its_deadline_a_run_sends_to_nobody_again(alice: Caller, ours: Project) -> None:
    run = doubtful(ours)
    Run.objects.filter(pk=run.pk).update(started_at=timezone.now() - timedelta(days=30))
    assert alice.get(f"runs/{run.pk}").json()["verbs"] == ["keep-unknown"]
    refused = ask(alice, run, "send-again")
    assert refused.status_code == 409
    assert "Duplicate it instead. Possible now: keep-unknown." in refused.json()["detail"]


def test_a_run_by_each_readers_clock_does_not_offer_to_be_moved(
    alice: Caller, ours: Project
) -> None:
    campaign = make_campaign(ours, schedule_kind="at", at=NOON, local_time=True)
    run = alice.post(f"campaigns/{campaign.pk}/launch").json()
    assert run["verbs"] == ["pause", "change-rate", "change-text", "cancel"]
    refused = alice.post(f"runs/{run['id']}/move", BODIES["move"])
    assert refused.status_code == 409
    assert refused.json()["verbs"] == run["verbs"]
    assert "This one goes by each reader's clock." in refused.json()["detail"]


def test_who_is_kept_as_unknown_stays_so_and_is_asked_about_no_more(
    alice: Caller, ours: Project
) -> None:
    shown = ask(alice, doubtful(ours), "keep-unknown").json()
    assert (shown["totals"]["unknown"], shown["reasons"]) == (1, {"let_be": 1})
    assert shown["verbs"] == []


def test_devices_that_are_taken_back_receive_pushes_again(alice: Caller, ours: Project) -> None:
    run = retiring(ours)
    assert ask(alice, run, "restore-devices").json()["verbs"] == []
    assert not Device.objects.filter(retired_at__isnull=False).exists()


def test_the_reference_says_what_each_verb_does_and_asks_for(alice: Caller) -> None:
    paths = alice.client.get("/api/schema/", {"format": "json"}).json()["paths"]
    for verb in VERBS:
        post = paths[f"/api/v1/runs/{{id}}/{verb.path}"]["post"]
        assert post["description"] == verb.reference
        assert {"200", "409"} <= set(post["responses"])
    bodies = {name: paths[f"/api/v1/runs/{{id}}/{name}"]["post"]["requestBody"] for name in BODIES}
    assert "RateRequest" in str(bodies["change-rate"]) and "MoveRequest" in str(bodies["move"])
