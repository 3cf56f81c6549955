"""A first part from a program: asked for, foretold, watched, gone on with."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.canary.first_part import FirstPart
from campaigns.engine import engine
from campaigns.launch_check import quiet_hours_check
from campaigns.planning.campaign import Campaign
from campaigns.runs.chunk import Chunk
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.api.checking import checked
from tests.given.builders import make_campaign, make_people, make_run

FIRST: dict[str, Any] = {"first_percent": 10, "first_least": 10}


@pytest.fixture(autouse=True)
def awake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the hour at which the tests run."""
    monkeypatch.setattr(quiet_hours_check, "WORTH_SAYING", 2)


def test_it_is_asked_for_by_a_share_and_off_by_default(alice: Caller, ours: Project) -> None:
    campaign = make_campaign(ours)
    assert alice.get(f"campaigns/{campaign.pk}").json()["first_percent"] is None

    said = alice.patch(f"campaigns/{campaign.pk}", {"first_percent": 1}).json()

    names = [name for name in said if name.startswith("first_")]
    assert {name: said[name] for name in names} == {
        "first_percent": 1, "first_least": 500, "first_wait_seconds": 900,
        "first_most_rejected": 5, "first_most_dead": 10, "first_least_received": 30,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"first_percent": 0}, "first_percent"),
        ({"first_percent": 51}, "first_percent"),
        ({"first_least": 0}, "first_least"),
        ({"first_wait_seconds": 59}, "first_wait_seconds"),
        ({"first_most_dead": 101}, "first_most_dead"),
        ({"first_percent": 1, "ttl_seconds": 1_799}, "first_wait_seconds"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_field(
    alice: Caller, ours: Project, given: dict[str, Any], field: str
) -> None:
    campaign = make_campaign(ours)
    refused = alice.patch(f"campaigns/{campaign.pk}", given)
    assert (refused.status_code, fields_at_fault(refused)) == (400, [field])
    assert Campaign.objects.get().first_percent is None


def test_a_wait_of_half_the_time_it_is_worth_showing_is_taken(alice: Caller, ours: Project) -> None:
    campaign = make_campaign(ours)
    given = {"first_percent": 1, "ttl_seconds": 1_800}
    assert alice.patch(f"campaigns/{campaign.pk}", given).status_code == 200


def test_the_check_says_how_many_go_first_and_how_long_the_rest_waits(
    alice: Caller, ours: Project
) -> None:
    make_people(ours, 200)
    campaign = make_campaign(ours, rate_per_second=10, **FIRST)
    when = checked(alice, campaign)["when"]
    assert (when["first"], when["wait_seconds"], when["seconds"]) == (20, 900, 920.0)


def test_of_too_few_the_check_says_that_all_go_at_once(alice: Caller, ours: Project) -> None:
    make_people(ours, 10)
    when = checked(alice, make_campaign(ours, **FIRST))["when"]
    assert (when["first"], when["wait_seconds"]) == (0, 0)


def test_those_who_would_come_too_late_are_foretold_with_the_wait(
    alice: Caller, ours: Project
) -> None:
    make_people(ours, 200)
    campaign = make_campaign(ours, rate_per_second=1, ttl_seconds=160, **FIRST)
    Campaign.objects.update(first_wait_seconds=80)
    [loss] = checked(alice, campaign)["skipped"]
    # At a second each the first 20 take 19; 61 follow from then on, at 99 s to 159 s.
    assert (loss["reason"], loss["devices"]) == ("expired", 119)


def test_a_run_says_where_its_first_part_is(alice: Caller, ours: Project) -> None:
    make_people(ours, 200)
    run = make_run(ours, **FIRST)
    first = alice.get(f"runs/{run.pk}").json()["first_part"]
    assert (first["phase"], first["devices"], first["rest"]) == ("sending", 20, 180)
    assert first["figures"] == {
        "sent": 0, "accepted": 0, "rejected": 0, "dead": 0, "able": None, "received": 0,
    }  # fmt: skip
    assert (first["missed"], first["decision"], first["judges_at"]) == ([], None, None)


def test_one_that_asks_names_the_bounds_and_goes_on_when_it_is_resumed(
    alice: Caller, ours: Project
) -> None:
    make_people(ours, 200)
    run = make_run(ours, **FIRST)
    first = run.chunks.filter(follows=False)
    first.update(
        state=Chunk.State.CLOSED, accepted=14, rejected=6, reasons={"unregistered": 4, "vague": 2}
    )
    for after in (0, 1, 901):
        engine.advance(run.pk, now=timezone.now() + timedelta(seconds=after))

    said = alice.get(f"runs/{run.pk}").json()

    assert (said["state"], said["cause"]["code"]) == ("paused", "first_part")
    assert "10 % were rejected (at most 5 %)" in said["reason"]
    assert "20 % of the addresses are dead (at most 10 %)" in said["reason"]
    assert (said["first_part"]["phase"], said["first_part"]["missed"]) == (
        "asks", ["rejected", "dead"],
    )  # fmt: skip
    assert "go-on" not in said["verbs"]
    refused = alice.post(f"runs/{run.pk}/go-on").json()["detail"]
    assert "This run is paused. Resume it: then the rest goes." in refused
    assert alice.post(f"runs/{run.pk}/resume").status_code == 200
    engine.advance(run.pk, now=timezone.now())
    said = alice.get(f"runs/{run.pk}").json()["first_part"]
    assert (said["phase"], said["decision"]) == ("went_on", "person")


def test_a_run_without_one_has_none_and_nothing_to_go_on_with(alice: Caller, ours: Project) -> None:
    make_people(ours, 3)
    run = make_run(ours)
    assert alice.get(f"runs/{run.pk}").json()["first_part"] is None
    refused = alice.post(f"runs/{run.pk}/go-on")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:carillon:invalid-move")
    assert "Nobody in this run waits for its first part." in refused.json()["detail"]


def test_a_run_that_is_paused_in_its_first_part_is_to_be_resumed_first(
    alice: Caller, ours: Project
) -> None:
    make_people(ours, 200)
    run = make_run(ours, **FIRST)
    engine.advance(run.pk, now=timezone.now())
    assert alice.post(f"runs/{run.pk}/pause").status_code == 200

    refused = alice.post(f"runs/{run.pk}/go-on")

    assert (refused.status_code, refused.json()["type"]) == (409, "urn:carillon:invalid-move")
    assert "This run is paused. Resume it first." in refused.json()["detail"]
    alice.post(f"runs/{run.pk}/resume")
    assert alice.post(f"runs/{run.pk}/go-on").status_code == 200


def test_the_next_run_of_a_series_has_a_first_part_of_its_own(ours: Project) -> None:
    make_people(ours, 200)
    one, other = make_run(ours, **FIRST), make_run(ours, **FIRST)
    assert FirstPart.objects.filter(run__in=[one, other]).count() == 2
