"""A program makes a list and a correction out of a run."""

from __future__ import annotations

from typing import Any

import pytest

from campaigns.audiences.audience import Audience
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.staff.api_key import Scope
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.runs import ended_each_way, on_list, opened_by_some, paused


@pytest.fixture
def run(ours: Project) -> Run:
    return opened_by_some(ours)


def test_a_list_is_made_of_those_who_have_not_opened_it(alice: Caller, run: Run) -> None:
    reply = alice.post(f"runs/{run.pk}/list", {"who": "not_opened:can_tell", "name": "Remind"})
    assert reply.status_code == 201, reply.content
    made = Audience.objects.get(pk=reply.json()["id"])
    assert reply["Location"].endswith(f"/lists/{made.pk}")
    assert (made.name, on_list(made)) == ("Remind", {"received", "dismissed"})
    entry = AuditEntry.objects.get(action="created", detail__from_run=run.pk)
    assert entry.actor.startswith("key:")


def test_a_list_without_a_name_says_of_which_run_and_of_whom_it_is(alice: Caller, run: Run) -> None:
    names = [alice.post(f"runs/{run.pk}/list", {"who": "opened"}).json()["name"] for _ in range(2)]
    assert names == [f"Run {run.pk}: Opened", f"Run {run.pk}: Opened 2"]


def test_a_list_is_made_of_a_reason_and_of_a_missing_value(alice: Caller, ours: Project) -> None:
    run = ended_each_way(ours)
    reply = alice.post(f"runs/{run.pk}/list", {"who": "skipped:missing_value:city"})
    assert on_list(Audience.objects.get(pk=reply.json()["id"])) == {"no-city"}


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({}, "who", "is missing"),
        ({"who": "skipped"}, "who", "This run has no such people. Use one of planned, accepted"),
        ({"who": "not_opened:city"}, "who", "Use one of"),
        ({"who": "planned", "name": "a\nb"}, "name", "line break"),
        ({"who": "planned", "named": "x"}, "named", "unknown"),
    ],
)
def test_a_list_of_nobody_known_is_refused_by_name(
    alice: Caller, run: Run, body: dict[str, Any], field: str, said: str
) -> None:
    reply = alice.post(f"runs/{run.pk}/list", body)
    assert (reply.status_code, fields_at_fault(reply)) == (400, [field])
    assert said.lower() in reply.json()["errors"][0]["message"].lower()
    assert not Audience.objects.filter(kind="list").exists()


def test_no_list_is_made_of_a_run_that_goes_on(alice: Caller, ours: Project) -> None:
    run = paused(ours)
    for path in ("list", "correct"):
        reply = alice.post(f"runs/{run.pk}/{path}", {"who": "planned"} if path == "list" else {})
        assert reply.status_code == 409 and "not ended" in reply.json()["detail"]


def test_a_correction_is_a_draft_with_a_text_and_a_list_of_its_own(alice: Caller, run: Run) -> None:
    reply = alice.post(f"runs/{run.pk}/correct", {}, Idempotency_Key="once")
    assert reply.status_code == 201, reply.content
    made = reply.json()
    assert (made["corrects"], made["schedule"]["kind"]) == (run.pk, "now")
    assert reply["Location"].endswith(f"/campaigns/{made['id']}")
    text = alice.get(f"templates/{made['template']}").json()
    assert text["title"] == run.content["title"]
    again = alice.post(f"runs/{run.pk}/correct", {}, Idempotency_Key="once")
    assert again.json()["id"] == made["id"] and Campaign.objects.count() == 2

    launched = alice.post(f"campaigns/{made['id']}/launch")
    assert launched.json()["corrects"] == run.pk
    assert alice.get(f"runs/{run.pk}").json()["corrects"] is None


def test_a_correction_of_a_text_that_nobody_read_is_refused_by_name(
    alice: Caller, run: Run
) -> None:
    reply = alice.post(f"runs/{run.pk}/correct", {"text": "ko"})
    assert (reply.status_code, fields_at_fault(reply)) == (400, ["text"])
    assert "Use one of every" in reply.json()["errors"][0]["message"]


def test_each_needs_its_scope(ours: Project, run: Run) -> None:
    reader = Caller(ours, [Scope.TEMPLATES])
    assert reader.post(f"runs/{run.pk}/list", {"who": "planned"}).status_code == 403
    assert reader.post(f"runs/{run.pk}/correct", {}).status_code == 403
