"""What stands behind the question mark is known, or refused: a misspelt filter filters nothing."""

from __future__ import annotations

import pytest

from campaigns.audiences.audience import Audience
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_contact, make_run


@pytest.fixture
def ids(ours: Project) -> dict[str, int | str]:
    run = make_run(ours)
    return {
        "run": run.pk,
        "campaign": run.campaign_id,
        "audience": run.campaign.audience_id,
        "template": run.campaign.template_id,
        "person": make_contact(ours).external_id,
    }


@pytest.mark.parametrize(
    ("path", "known"),
    [
        (
            "contacts",
            "cursor, limit, q, external_id_prefix, attributes, platform, subscribed, updated_since",
        ),
        ("contacts/{person}", "none"),
        ("audiences", "cursor, limit"),
        ("audiences/{audience}", "none"),
        ("audiences/{audience}/explain", "contact"),
        ("templates", "cursor, limit"),
        ("templates/{template}", "none"),
        ("campaigns", "cursor, limit"),
        ("campaigns/{campaign}", "none"),
        ("runs", "cursor, limit, campaign"),
        ("runs/{run}", "none"),
        ("runs/{run}/deliveries", "cursor, limit, status, reason, revision, variant"),
        ("runs/{run}/deliveries.csv", "status, reason, revision, variant"),
    ],
)
def test_an_unknown_parameter_is_named_beside_the_known_ones(
    alice: Caller, ids: dict[str, int | str], path: str, known: str
) -> None:
    response = alice.get(f"{path.format(**ids)}?sattus=accepted&é=1")
    assert response.status_code == 400
    assert fields_at_fault(response) == ["sattus", "é"]
    assert response.json()["errors"][0]["message"] == f"Unknown parameter. Known: {known}."


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "contacts/bulk"),
        ("PUT", "contacts/{person}"),
        ("PATCH", "contacts/{person}"),
        ("DELETE", "contacts/{person}"),
        ("POST", "devices"),
        ("DELETE", "devices/a"),
        ("POST", "audiences"),
        ("POST", "audiences/estimate"),
        ("PUT", "audiences/{audience}"),
        ("PATCH", "audiences/{audience}"),
        ("DELETE", "audiences/{audience}"),
        ("POST", "templates"),
        ("POST", "templates/{template}/preview"),
        ("POST", "campaigns"),
        ("POST", "campaigns/{campaign}/launch"),
        ("DELETE", "campaigns/{campaign}"),
        ("POST", "runs/{run}/cancel"),
    ],
)
def test_whoever_changes_something_is_held_to_the_same(
    alice: Caller, ids: dict[str, int | str], method: str, path: str
) -> None:
    before = Contact.objects.count(), Audience.objects.count()
    response = alice(method, f"{path.format(**ids)}?dry_run=1", {})
    assert response.status_code == 400
    assert fields_at_fault(response) == ["dry_run"]
    assert (Contact.objects.count(), Audience.objects.count()) == before


def test_a_parameter_given_twice_is_refused_for_it_cannot_mean_both(alice: Caller) -> None:
    response = alice.get("runs?limit=1&limit=500")
    assert response.status_code == 400
    assert response.json()["errors"] == [{"field": "limit", "message": "Give it once."}]


def test_a_thousand_parameters_are_refused_and_are_no_fault_of_ours(alice: Caller) -> None:
    query = "&".join(f"p{number}=1" for number in range(1_001))
    refused = alice.get(f"runs?{query}")
    assert (refused.status_code, refused.json()["detail"]) == (400, "At most 1,000 parameters.")
    response = alice.get("runs?" + "&".join(f"p{number}=1" for number in range(900)))
    assert len(fields_at_fault(response)) == 20


def test_a_wrong_method_is_named_before_its_parameters(alice: Caller) -> None:
    assert alice.delete("runs?all=1").status_code == 405
