"""Questions that may take long: so few at once that everybody else is still answered."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from notifications.people.project import Project
from notifications.postgres import budget
from tests.api.caller import Caller
from tests.given.builders import make_audience, make_campaign, make_people

FREE = {"field": "attributes.plan", "op": "eq", "value": "free"}


def test_slow_questions_are_refused_while_as_many_as_may_be_are_answered(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "AT_ONCE", 1)
    make_people(ours, 2)
    audience = make_audience(ours)
    campaign = make_campaign(ours, audience=audience)
    asked = f"audiences/{audience.pk}/explain?contact=nobody"
    with budget.slow_query_slot(0), CaptureQueriesContext(connection) as queries:
        refusals = [
            alice.get(f"campaigns/{campaign.pk}/check"),
            alice.post("audiences/estimate", {"rules": FREE}),
            alice.get(asked),
        ]
        assert alice.get(f"campaigns/{campaign.pk}").status_code == 200
    for refused in refusals:
        assert (refused.status_code, refused["Retry-After"]) == (503, "5")
        assert refused.json()["type"] == "urn:carillon:busy"
    assert not [one for one in queries if "notifications_contact" in one["sql"]]
    assert alice.get(f"campaigns/{campaign.pk}/check").json()["who"]["devices"] == 2
