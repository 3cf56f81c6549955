"""How a campaign is sent is declared once: nothing that reads it can forget a field."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.admin.campaign import colleagues, steps
from campaigns.admin.campaign.form import CampaignForm
from campaigns.api.campaigns import CampaignSerializer
from campaigns.planning.campaign import WHEN, Campaign
from campaigns.runs.run import POLICY, Run
from campaigns.runs.series import repeated
from tests.given.builders import make_campaign, make_project

OTHERWISE: dict[str, Any] = {
    "on_unknown": "hold",
    "rate_per_second": 7,
    "ttl_seconds": 60,
    "max_lateness_seconds": 0,
    "analytics_label": "tea",
}


def fields_of(model: type[Any]) -> set[str]:
    return {field.attname for field in model._meta.concrete_fields}


def test_what_a_campaign_and_its_run_both_have_is_its_policy() -> None:
    assert fields_of(Campaign) & fields_of(Run) - {"id", "project_id"} == set(POLICY)


def test_every_page_and_the_api_know_the_whole_policy() -> None:
    assert set(steps.FIELDS[steps.WHEN]) == {*WHEN, *POLICY}
    for known in (CampaignForm.base_fields, CampaignSerializer().fields, colleagues.GUARDED):
        assert set(POLICY) <= set(known)


@pytest.mark.parametrize("field", POLICY)
def test_a_launch_freezes_it_and_the_next_of_the_series_has_it(db: None, field: str) -> None:
    campaign = make_campaign(make_project(), **{field: OTHERWISE[field]})
    assert OTHERWISE[field] != getattr(Campaign(), field)
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    assert getattr(run, field) == OTHERWISE[field]
    Campaign.objects.update(**{field: getattr(Campaign(), field)})
    assert getattr(repeated(run, timezone.now()), field) == OTHERWISE[field]
