"""A rehearsal asked for, watched and compared by a program."""

from __future__ import annotations

import pytest

from campaigns.planning.campaign import Campaign
from campaigns.runs.rehearsal import Rehearsal
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import addresses, make_campaign, make_people, make_project
from tests.rehearsals.shared import launch, rehearse
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db


@pytest.fixture
def call(project: Project) -> Caller:
    return Caller(project)


@pytest.fixture
def campaign(project: Project, fcm: Fcm) -> Campaign:
    make_people(project, addresses(live=95, dead=5))
    return make_campaign(project)


def test_a_sample_of_a_thousand_unless_it_says_another_size(
    call: Caller, campaign: Campaign
) -> None:
    reply = call.post(f"campaigns/{campaign.pk}/rehearse", {})
    assert reply.status_code == 202
    told = reply.json()
    assert (told["state"], told["sample"], told["retire_dead"]) == ("preparing", 1_000, False)
    assert told["foretold"] == []
    assert reply["Location"].endswith(f"/api/v1/rehearsals/{told['id']}")
    assert AuditEntry.objects.get(action="rehearsed").actor == f"key:{call.row.prefix}"


def test_everybody_needs_the_number_of_requests(call: Caller, campaign: Campaign) -> None:
    for given in ({"everybody": True}, {"everybody": True, "requests": 99}):
        reply = call.post(f"campaigns/{campaign.pk}/rehearse", given)
        assert reply.status_code == 400 and fields_at_fault(reply) == ["requests"]
        assert (
            "about 100 requests; FCM's quota is 600,000 a minute"
            in reply.json()["errors"][0]["message"]
        )
    assert not Rehearsal.objects.exists()
    asked = {"everybody": True, "requests": 100, "retire_dead": True}
    told = call.post(f"campaigns/{campaign.pk}/rehearse", asked).json()
    assert (told["sample"], told["retire_dead"]) == (None, True)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"sample": 3}, "sample"),
        ({"sample": 1_000_000}, "sample"),
        ({"sample": 1_000, "everybody": True}, "sample"),
        ({"requests": 5}, "requests"),
        ({"who": "all"}, "who"),
    ],
)
def test_what_makes_no_sense_names_its_field(
    call: Caller, campaign: Campaign, given: dict[str, object], field: str
) -> None:
    reply = call.post(f"campaigns/{campaign.pk}/rehearse", given)
    assert reply.status_code == 400 and fields_at_fault(reply) == [field]
    assert not Rehearsal.objects.exists()


def test_what_was_found_and_what_it_foretells(call: Caller, campaign: Campaign, fcm: Fcm) -> None:
    rehearsal = rehearse(campaign)
    told = call.get(f"rehearsals/{rehearsal.pk}").json()
    assert told["totals"] == {
        "planned": 100, "accepted": 95, "rejected": 5, "skipped": 0, "unknown": 0, "waiting": 0
    }  # fmt: skip
    assert told["reasons"] == {"unregistered": 5}
    assert told["dead"] == {"count": 5, "asked": 100, "low": 0.05, "high": 0.05, "retired": 0}
    by_name = {one["name"]: one for one in told["foretold"]}
    assert by_name["accepted"] == {
        "name": "accepted", "found": 95, "count": 95, "low": 94, "high": 96
    }  # fmt: skip
    assert (told["requests"], told["quota_per_minute"]) == (100, 600_000)
    assert told["rate_per_second"] > 0
    assert told["errors"] == [] and told["compared"] is None
    assert fcm.witness() == []


def test_a_sample_is_told_with_its_interval(call: Caller, project: Project, fcm: Fcm) -> None:
    make_people(project, addresses(live=380, dead=20))
    rehearsal = rehearse(make_campaign(project), sample=200)
    told = call.get(f"rehearsals/{rehearsal.pk}").json()
    rejected = next(one for one in told["foretold"] if one["name"] == "rejected")
    assert rejected["low"] < rejected["count"] < rejected["high"]
    assert told["devices"] == 400
    assert told["dead"]["low"] < told["dead"]["count"] / 200 < told["dead"]["high"]


def test_the_run_after_it_is_compared(call: Caller, campaign: Campaign) -> None:
    rehearsal, run = rehearse(campaign), launch(campaign)
    told = call.get(f"rehearsals/{rehearsal.pk}").json()["compared"]
    assert (told["run"], told["finished"], told["holds"]) == (run.pk, True, True)
    assert {line["name"]: line["real"] for line in told["lines"]}["rejected"] == 5


def test_those_of_a_campaign_newest_first(call: Caller, campaign: Campaign) -> None:
    first, second = rehearse(campaign, sample=100), rehearse(campaign)
    page = call.get(f"campaigns/{campaign.pk}/rehearsals?limit=1").json()
    assert [one["id"] for one in page["results"]] == [second.pk]
    path = page["next"].partition("/api/v1/")[2]
    assert [one["id"] for one in call.get(path).json()["results"]] == [first.pk]


def test_a_second_one_is_a_conflict(call: Caller, campaign: Campaign) -> None:
    call.post(f"campaigns/{campaign.pk}/rehearse", {})
    reply = call.post(f"campaigns/{campaign.pk}/rehearse", {})
    assert (reply.status_code, reply.json()["type"]) == (409, "urn:carillon:rehearsal-goes-on")


def test_a_repeated_key_makes_one(call: Caller, campaign: Campaign) -> None:
    headers = {"Idempotency_Key": "once"}
    one, again = (
        call.post(f"campaigns/{campaign.pk}/rehearse", {}, **headers).json()["id"] for _ in range(2)
    )
    assert one == again and Rehearsal.objects.count() == 1


def test_an_empty_text_is_not_rehearsed(call: Caller, project: Project) -> None:
    campaign = make_campaign(project, template={"title": "", "body": ""})
    reply = call.post(f"campaigns/{campaign.pk}/rehearse", {})
    assert (reply.status_code, reply.json()["type"]) == (422, "urn:carillon:not-ready")
    assert fields_at_fault(reply) == ["template"]


def test_one_whose_time_has_passed_is(call: Caller, campaign: Campaign) -> None:
    Campaign.objects.update(schedule_kind="at", at="2020-01-01T00:00Z")
    assert call.post(f"campaigns/{campaign.pk}/rehearse", {}).status_code == 202


def test_it_is_steered_by_its_own_verbs(call: Caller, project: Project, fcm: Fcm) -> None:
    make_people(project, addresses(vague=120))
    rehearsal = rehearse(make_campaign(project))
    told = call.get(f"rehearsals/{rehearsal.pk}").json()
    assert (told["state"], told["cause"]["code"]) == ("paused", "refused_message")
    assert call.post(f"rehearsals/{rehearsal.pk}/resume").json()["state"] == "rehearsing"
    assert call.post(f"rehearsals/{rehearsal.pk}/cancel").json()["state"] == "cancelled"
    refused = call.post(f"rehearsals/{rehearsal.pk}/resume")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:carillon:invalid-move")


def test_retired_devices_are_taken_back(call: Caller, campaign: Campaign) -> None:
    rehearsal = rehearse(campaign, retires=True)
    assert call.get(f"rehearsals/{rehearsal.pk}").json()["dead"]["retired"] == 5
    assert call.post(f"rehearsals/{rehearsal.pk}/restore-devices").status_code == 200
    assert not Device.objects.exclude(retired_at=None).exists()


def test_a_key_that_may_not_launch_may_only_look(project: Project, campaign: Campaign) -> None:
    looks = Caller(project, ["runs"])
    assert looks.post(f"campaigns/{campaign.pk}/rehearse", {}).status_code == 403
    assert looks.get(f"campaigns/{campaign.pk}/rehearsals").status_code == 200


def test_another_projects_does_not_exist(campaign: Campaign) -> None:
    rehearsal = rehearse(campaign, sample=100)
    other = Caller(make_project())
    assert other.get(f"rehearsals/{rehearsal.pk}").status_code == 404
    assert other.post(f"rehearsals/{rehearsal.pk}/cancel").status_code == 404
    assert other.get(f"campaigns/{campaign.pk}/rehearsals").status_code == 404


def test_a_real_run_is_no_rehearsal(call: Caller, campaign: Campaign) -> None:
    run = launch(campaign)
    assert call.get(f"rehearsals/{run.pk}").status_code == 404
    assert call.post(f"rehearsals/{run.pk}/cancel").status_code == 404
