"""Rules that hold PostgreSQL up are answered in time: nobody counts for ever, nothing fails."""

from __future__ import annotations

import pytest
from django.db import connection
from django.urls import reverse
from pytest import MonkeyPatch

from campaigns.audiences import estimating, reach, selection, vocabulary, why
from campaigns.audiences.api import audiences
from campaigns.audiences.audience import Audience
from campaigns.audiences.behavior.kind import Sql
from campaigns.audiences.pages import audience_preview
from campaigns.audiences.selection import joined
from campaigns.launch_check import samples
from campaigns.planning import trial_rendering
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.postgres.budget import TooSlow, statement_timeout
from tests.admin.desk import Desk
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_audience, make_campaign, make_people

AT_ONCE = 0.05
# Longer than any test waits, and nothing a budget does not end.
ASLEEP = Sql("(SELECT pg_sleep(60) IS NULL)")


@pytest.fixture
def slow(project: Project, monkeypatch: MonkeyPatch) -> Audience:
    """An audience whose rules keep PostgreSQL busy, and budgets that a test can wait for."""
    make_people(project, 2)
    for module in (selection, why, trial_rendering, reach):
        monkeypatch.setattr(module, "compile_tree", lambda _tree: ASLEEP)
    monkeypatch.setattr(estimating, "SAMPLE_SECONDS", AT_ONCE)
    monkeypatch.setattr(estimating, "PART_SECONDS", AT_ONCE)
    # A sample of two people may hold none of them, who then keep nobody busy.
    everybody = estimating.Part(joined(None), 1)
    monkeypatch.setattr(estimating, "part", lambda *_: everybody)
    monkeypatch.setattr(reach, "EXACT_SECONDS", AT_ONCE)
    monkeypatch.setattr(trial_rendering, "LOOKING_SECONDS", AT_ONCE)
    monkeypatch.setattr(audience_preview, "ASKING_SECONDS", AT_ONCE)
    monkeypatch.setattr(audiences, "EXPLAINING_SECONDS", AT_ONCE)
    monkeypatch.setattr(samples, "SECONDS", AT_ONCE)
    return make_audience(project, rules={"field": "locale", "op": "eq", "value": "en"})


SLOW = "too long"


def test_the_api_says_that_it_does_not_know(caller: Caller, slow: Audience) -> None:
    answer = caller.post("audiences/estimate", {"rules": slow.rules})
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:carillon:too-slow"
    assert fields_at_fault(answer) == ["rules"]
    assert SLOW in answer.json()["errors"][0]["message"]

    somebody = Contact.objects.all()[0]
    answer = caller.get(f"audiences/{slow.pk}/explain?contact={somebody.external_id}")
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:carillon:too-slow"


def test_the_page_of_an_audience_says_so(desk: Desk, project: Project, slow: Audience) -> None:
    somebody = Contact.objects.all()[0].external_id
    asked = {"project": project.pk, "audience": slow.pk, "kind": "rules", "person": somebody}
    for part in ("count", "people", "person"):
        reply = desk.post(f"audience_{part}", **asked)
        assert reply.status_code == 200
        assert SLOW in reply.content.decode()


def test_the_steps_of_a_campaign_say_so(desk: Desk, project: Project, slow: Audience) -> None:
    campaign = make_campaign(project, audience=slow)
    chosen = {"audience_from": "pick", "audience": slow.pk, "project": project.pk}
    text = {"template_from": "pick", "template": campaign.template_id}
    times = {"campaign": campaign.pk, "schedule_kind": "now", "timezone": "UTC"}
    assert SLOW in desk.post("campaign_who", **chosen).content.decode()
    assert desk.post("campaign_what", **chosen, **text).status_code == 200
    assert SLOW in desk.post("campaign_when", **times).content.decode()
    assert SLOW in desk.open("campaign_review", campaign.pk)
    assert SLOW in desk.open("campaigns_campaign_launch", campaign.pk)
    assert SLOW in desk.confirm("campaigns_campaign_launch", campaign.pk).content.decode()
    assert not Run.objects.exists()


def test_a_launch_by_the_api_does_not_wait_for_what_it_need_not_know(
    caller: Caller, project: Project, slow: Audience
) -> None:
    campaign = make_campaign(project, audience=slow)
    assert caller.post(f"campaigns/{campaign.pk}/launch").status_code == 202


def test_what_is_only_suggested_is_left_out(
    desk: Desk, project: Project, monkeypatch: MonkeyPatch
) -> None:
    make_people(project, 2)
    monkeypatch.setattr(vocabulary, "LOOKING_SECONDS", AT_ONCE)
    monkeypatch.setattr(vocabulary, "FILLED", ASLEEP.sql)
    reply = desk.client.get(reverse("admin:audience_choices"), {"project": project.pk})
    assert "list" in {field["name"] for field in reply.json()["fields"]}
    asked = {"project": str(project.pk), "field": "locale", "typed": "e"}
    assert desk.client.get(reverse("admin:audience_values"), asked).json() == {"values": []}


@pytest.mark.django_db
def test_a_budget_inside_another_leaves_it_as_it_was() -> None:
    with statement_timeout(seconds=30):
        with pytest.raises(TooSlow), statement_timeout(seconds=0.05), connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(60)")
        with statement_timeout(seconds=1):
            assert _timeout() == "1s"
        assert _timeout() == "30s"
    assert _timeout() == "0"


def _timeout() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        found: str = cursor.fetchone()[0]
    return found
