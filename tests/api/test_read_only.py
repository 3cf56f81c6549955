"""What a program cannot change is refused by its name, and what GET showed may be sent back."""

from __future__ import annotations

from typing import Any

import pytest

from campaigns.planning.campaign import Campaign
from notifications.people.consent.category import Category
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import (
    make_audience,
    make_automation,
    make_campaign,
    make_snippet,
    make_template,
)
from tests.given.endpoints import make_endpoint

HERE, SET = "Cannot be changed here.", "Cannot be set here; leave it out."
PATHS = ["campaigns", "audiences", "templates", "snippets", "automations", "categories",
         "endpoints"]  # fmt: skip


@pytest.fixture
def addresses(ours: Project) -> dict[str, str]:
    rows: dict[str, Any] = {
        "campaigns": make_campaign(ours),
        "audiences": make_audience(ours),
        "templates": make_template(ours),
        "snippets": make_snippet(ours, "hello", "Hello"),
        "automations": make_automation(ours, on=False),
        "categories": Category.objects.create(project=ours, name="Offers", slug="offers"),
        "endpoints": make_endpoint(ours, "https://93.184.216.34/"),
    }
    return {name: f"{name}/{row.pk}" for name, row in rows.items()}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_what_get_showed_is_taken_back(
    alice: Caller, addresses: dict[str, str], path: str, method: str
) -> None:
    shown = alice.get(addresses[path]).json()
    for made_at in (shown["created_at"], shown["created_at"][:19] + "+00:00"):
        answer = alice(method, addresses[path], {**shown, "created_at": made_at})
        assert answer.status_code == 200, answer.content
    late = {**shown, "updated_at": "2020-01-01T00:00:00Z"}
    if "updated_at" in shown:  # as somebody read it before another changed it
        assert alice(method, addresses[path], late).status_code == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_another_id_or_time_is_refused_by_name(
    alice: Caller, addresses: dict[str, str], path: str, method: str
) -> None:
    shown = alice.get(addresses[path]).json()
    asked = shown if method == "PUT" else {}
    for other in ({"id": shown["id"] + 1}, {"created_at": "2020-01-01T00:00:00Z"}, {"id": None}):
        refused = alice(method, addresses[path], {**asked, **other})
        assert refused.status_code == 400
        [field] = other
        assert refused.json()["errors"] == [{"field": field, "message": HERE}]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"moved": {"2031-05-06T09:00:00+00:00": "2031-05-06T11:00:00+00:00"}},
         "Use POST campaigns/{id}/move."),
        ({"moved": 5}, "Use POST campaigns/{id}/move."),
        ({"series_paused_at": "2031-05-06T09:00:00Z"}, "Use POST campaigns/{id}/pause, or resume."),
        ({"corrects": 5}, HERE),
    ],
)  # fmt: skip
def test_of_a_campaign_it_says_where_it_is_changed_instead(
    alice: Caller, addresses: dict[str, str], changed: dict[str, Any], said: str
) -> None:
    refused = alice.patch(addresses["campaigns"], {"name": "Other", **changed})
    assert refused.status_code == 400
    assert refused.json()["errors"] == [{"field": next(iter(changed)), "message": said}]
    assert Campaign.objects.get().name != "Other"


def test_of_an_automation_it_says_where_it_is_turned_on(
    alice: Caller, addresses: dict[str, str]
) -> None:
    refused = alice.patch(addresses["automations"], {"state": "on"})
    said = "Use POST automations/{id}/on, pause or archive."
    assert refused.json()["errors"] == [{"field": "state", "message": said}]


def test_one_that_is_made_takes_none_of_it(alice: Caller, ours: Project) -> None:
    offers = {"name": "Offers", "slug": "offers"}
    for given in ({"id": 7}, {"created_at": "2020-01-01T00:00:00Z"}):
        refused = alice.post("categories", {**offers, **given})
        assert refused.status_code == 400
        assert refused.json()["errors"] == [{"field": next(iter(given)), "message": SET}]
    made = alice.post("categories", {**offers, "id": None, "created_at": ""})
    assert made.status_code == 201
