"""Rules that got into the table some other way, or are older than a limit, are shown as broken.

No page and no answer that reads them fails; they can be opened, corrected and saved.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from campaigns import control
from campaigns.audiences.audience import Audience
from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.api.caller import Caller
from tests.given.builders import make_audience, make_campaign, make_people, make_run
from tests.security.bombs.broken import BROKEN, LEAF

each = pytest.mark.parametrize("tree", BROKEN.values(), ids=BROKEN)


@pytest.fixture
def people(project: Project) -> None:
    make_people(project, 2)


def broken(project: Project, tree: Any) -> Audience:
    audience = make_audience(project, name="Old")
    write("campaigns_audience", audience.pk, tree)
    return Audience.objects.get(pk=audience.pk)


def write(table: str, pk: int, tree: Any) -> None:
    """Past every door."""
    with connection.cursor() as cursor:
        sql = f"UPDATE {table} SET rules = %s::jsonb WHERE id = %s"
        cursor.execute(sql, [json.dumps(tree), pk])


def somebody(project: Project) -> str:
    return Contact.objects.filter(project=project).values_list("external_id", flat=True)[0]


def get(desk: Desk, page: str, *args: Any) -> str:
    """A part of a page, or a whole one."""
    reply = desk.client.get(reverse(f"admin:{page}", args=args))
    assert reply.status_code == 200
    return text_of(reply)


@each
def test_pages_show_them_as_broken_and_let_them_be_corrected(
    desk: Desk, project: Project, people: None, tree: Any
) -> None:
    audience = broken(project, tree)
    make_audience(project, name="Fine")
    listed = make_audience(project, name="By hand", kind="list")
    pages = get(desk, "campaigns_audience_changelist")
    assert "Fine" in pages
    assert "These rules no longer work" in pages

    form = desk.client.get(reverse("admin:campaigns_audience_change", args=[audience.pk]))
    assert "These rules no longer work" in text_of(form)
    assert form.context["adminform"].form.initial["rules"] == tree
    get(desk, "campaigns_audience_change", listed.pk)  # which asks who names it
    for name in ("count", "people", "person"):
        asked = {"audience": audience.pk, "kind": "rules", "person": somebody(project)}
        reply = desk.post(f"audience_{name}", project=project.pk, **asked)
        assert reply.status_code == 200
        assert "c-notice-danger" in reply.content.decode()

    saved = {"name": "Old", "kind": "rules", "project": project.pk, "rules": json.dumps(LEAF)}
    desk.save("campaigns_audience_change", audience.pk, **saved)
    audience.refresh_from_db()
    assert audience.rules == LEAF
    assert "no longer work" not in get(desk, "campaigns_audience_changelist")


@each
def test_the_steps_of_a_campaign_say_so_and_nothing_is_launched(
    desk: Desk, caller: Caller, project: Project, people: None, tree: Any
) -> None:
    campaign = make_campaign(project, audience=broken(project, tree))
    for step in ("who", "what", "when", "review"):
        page = reverse("admin:campaigns_campaign_change", args=[campaign.pk])
        assert desk.client.get(page, {"step": step}).status_code == 200
    chosen = {"audience_from": "pick", "audience": campaign.audience_id, "project": project.pk}
    assert "c-hint" in desk.post("campaign_who", **chosen).content.decode()
    text = {"template_from": "pick", "template": campaign.template_id}
    assert desk.post("campaign_what", **chosen, **text).status_code == 200
    times = {"campaign": campaign.pk, "schedule_kind": "now", "timezone": "UTC"}
    assert desk.post("campaign_when", **times).status_code == 200
    assert "cannot be launched" in get(desk, "campaign_review", campaign.pk)
    assert "cannot be launched" in get(desk, "campaigns_campaign_launch", campaign.pk)
    assert desk.confirm("campaigns_campaign_launch", campaign.pk).status_code in (200, 422)

    answer = caller.post(f"campaigns/{campaign.pk}/launch")
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == ["audience"]
    with pytest.raises(Campaign.NotReady):
        control.launch(campaign, by="user:ada", now=timezone.now())
    assert not Run.objects.exists()


@each
def test_the_api_shows_what_is_kept_and_what_is_wrong_with_it(
    caller: Caller, project: Project, people: None, tree: Any
) -> None:
    audience = broken(project, tree)
    (shown,) = caller.get("audiences").json()["results"]
    assert shown == caller.get(f"audiences/{audience.pk}").json()
    assert "rules" not in shown
    assert shown["broken"]["rules"] == tree
    assert shown["broken"]["problems"]
    why = f"audiences/{audience.pk}/explain?contact={somebody(project)}"
    assert caller.get(why).status_code == 400

    refused = caller.patch(f"audiences/{audience.pk}", {"name": "New"})
    assert refused.status_code == 400
    corrected = caller.put(f"audiences/{audience.pk}", {"name": "New", "rules": LEAF})
    assert corrected.status_code == 200
    assert "broken" not in corrected.json()
    assert caller.get(f"audiences/{audience.pk}").json()["rules"] == LEAF


@each
def test_a_run_that_was_launched_with_them_pauses_with_the_reason(
    desk: Desk, project: Project, people: None, tree: Any
) -> None:
    run = make_run(project, advanced=False)
    write("campaigns_run", run.pk, tree)
    for _ in range(2):
        assert engine.advance(run.pk, now=timezone.now()) is None
        run.refresh_from_db()
        assert (run.state, run.cause) == ("paused", "broken")
        assert run.detail_code == "rules_broken" and "rules" in str(run.detail_args)
        assert "rules no longer work" in get(desk, "campaigns_run_change", run.pk)
        control.resume(run, by="user:ada")
    assert not Recipient.objects.filter(run_id=run.pk).exists()


@each
def test_a_run_that_waits_with_them_can_be_seen_and_moved(
    desk: Desk, project: Project, people: None, tree: Any
) -> None:
    run = make_run(project, advanced=False)
    later = timezone.now() + timedelta(days=1)
    write("campaigns_run", run.pk, tree)
    Run.objects.filter(pk=run.pk).update(state="scheduled", scheduled_at=later)
    get(desk, "campaigns_run_change", run.pk)
    get(desk, "campaigns_run_move", run.pk)
    listed = make_audience(project, kind="list")
    assert listed.named_by() == []
    assert listed.used_by() == []
