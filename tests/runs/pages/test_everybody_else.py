"""After a test on a share of an audience: a new campaign to everybody else of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.audiences.audience import Audience
from campaigns.audiences.selection import sample
from campaigns.engine import forgetting
from campaigns.planning.campaign import Campaign
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_audience, make_contact, make_device, make_run
from tests.given.runs import ended
from tests.roles.people import logged_in

SHARE = {"field": "random", "op": "lte", "value": {"percent": 40, "seed": "spring"}}
PRO = {"field": "attributes.plan", "op": "eq", "value": "pro"}
OFFERED = "Send to everybody else"


def people(project: Project) -> None:
    for n in range(30):
        plan = "pro" if n < 20 else "free"
        make_device(make_contact(project, external_id=f"u{n}", attributes={"plan": plan}))


def a_test_of(project: Project, rules: dict[str, Any], **values: Any) -> Run:
    return ended(make_run(project, audience=make_audience(project, rules=rules), **values))


def planned(run: Run) -> set[str]:
    rows = Recipient.objects.filter(run_id=run.pk).values_list("contact_id", flat=True)
    return set(Contact.objects.filter(pk__in=list(rows)).values_list("external_id", flat=True))


def selected(audience: Audience) -> set[str]:
    found = sample(audience.project_id, audience.frozen_rules(), size=100)
    return {person.external_id for person in found}


def test_the_others_of_a_random_share_get_a_draft_of_the_same_campaign(
    desk: Desk, project: Project
) -> None:
    people(project)
    run = a_test_of(project, {"all": [PRO, SHARE]}, name="Spring")
    tested = planned(run)
    assert 0 < len(tested) < 20

    reply = desk.confirm("campaigns_run_everybody_else", run.pk)

    twin = Campaign.objects.exclude(pk=run.campaign.pk).get()
    assert reply["HX-Redirect"].endswith(f"/campaign/{twin.pk}/change/")
    assert (twin.name, twin.template_id) == ("Spring (everybody else)", run.campaign.template_id)
    assert not twin.runs.exists()
    assert twin.audience.kind == "rules"
    assert twin.audience.name == f"Everybody else of run {run.pk}"
    assert selected(twin.audience) == {f"u{n}" for n in range(20)} - tested
    entry = AuditEntry.objects.get(action="created", detail__everybody_else_of_run=run.pk)
    assert entry.detail["copied_from"] == run.campaign_id


def test_whoever_comes_later_and_fits_is_one_of_the_others(desk: Desk, project: Project) -> None:
    people(project)
    run = a_test_of(project, {"all": [PRO, SHARE]})
    desk.confirm("campaigns_run_everybody_else", run.pk)
    make_device(make_contact(project, external_id="late", attributes={"plan": "pro"}))
    assert "late" in selected(Audience.objects.get(name__startswith="Everybody else"))


def test_the_page_offers_it_and_its_dialog_says_whom_and_how_many(
    desk: Desk, project: Project
) -> None:
    people(project)
    run = a_test_of(project, {"all": [PRO, SHARE]})

    page = desk.open("campaigns_run_change", run.pk)
    assert "Write to everybody else of the audience" in page.partition("What to do next")[2]

    said = desk.open("campaigns_run_everybody_else", run.pk)
    left = 20 - len(planned(run))
    assert f"{left} people" in said
    assert "plan is pro" in said and "random" not in said
    assert Campaign.objects.count() == 1, "looking made nothing"


@pytest.mark.parametrize(
    "rules",
    [
        SHARE,
        {"all": [{"all": [SHARE]}, PRO]},
        {"all": [PRO, {"field": "people", "op": "lte", "value": {"most": 5}}]},
    ],
)
def test_each_way_to_take_a_share_has_its_others(
    desk: Desk, project: Project, rules: dict[str, Any]
) -> None:
    people(project)
    run = a_test_of(project, rules)
    tested = planned(run)
    desk.confirm("campaigns_run_everybody_else", run.pk)
    twin = Campaign.objects.exclude(pk=run.campaign.pk).get()
    everybody = {f"u{n}" for n in range(30 if rules == SHARE else 20)}
    assert selected(twin.audience) == everybody - tested


@pytest.mark.parametrize(
    "rules",
    [
        {"all": [PRO]},
        {"any": [PRO, SHARE]},
        {"not": SHARE},
        # Whoever is kept out of every campaign stays out.
        {"all": [PRO, {"not": SHARE}]},
    ],
)
def test_a_run_that_took_no_share_has_no_others(
    desk: Desk, project: Project, rules: dict[str, Any]
) -> None:
    people(project)
    run = a_test_of(project, rules)
    assert OFFERED not in desk.open("campaigns_run_change", run.pk)
    refused = text_of(desk.confirm("campaigns_run_everybody_else", run.pk))
    assert "took no share of its audience" in refused
    assert Campaign.objects.count() == 1


def test_those_kept_out_by_another_draw_are_not_among_the_others(
    desk: Desk, project: Project
) -> None:
    people(project)
    never = {"field": "random", "op": "lte", "value": {"percent": 30, "seed": "never"}}
    held_out = {"not": never}
    run = a_test_of(project, {"all": [held_out, SHARE]})
    desk.confirm("campaigns_run_everybody_else", run.pk)
    whole = make_audience(project, name="Whole", rules=held_out)
    others = Audience.objects.get(name__startswith="Everybody else")
    assert selected(others) == selected(whole) - planned(run)


def test_it_is_not_offered_and_is_refused_where_nobody_else_is_left(
    desk: Desk, project: Project
) -> None:
    people(project)
    run = a_test_of(project, {"all": [PRO, {**SHARE, "value": {"percent": 100}}]})
    assert OFFERED not in desk.open("campaigns_run_change", run.pk)
    url = reverse("admin:campaigns_run_everybody_else", args=[run.pk])
    shown = desk.client.get(url)
    assert "Nobody else of this audience can be reached now" in text_of(shown)
    assert not re.search(rb'type="submit"', shown.content)
    refused = text_of(desk.confirm("campaigns_run_everybody_else", run.pk))
    assert "Nobody else of this audience can be reached now" in refused
    assert Campaign.objects.count() == 1


def test_a_run_that_goes_on_or_was_forgotten_has_no_others_yet_or_any_more(
    desk: Desk, project: Project
) -> None:
    people(project)
    share = make_audience(project, rules={"all": [PRO, SHARE]})
    run = make_run(project, audience=share)
    assert OFFERED not in desk.open("campaigns_run_change", run.pk)
    ended(run)
    assert OFFERED in desk.open("campaigns_run_change", run.pk)
    forgetting.forget(run, by="test", now=timezone.now())
    assert OFFERED not in desk.open("campaigns_run_change", run.pk)
    desk.confirm("campaigns_run_everybody_else", run.pk)
    assert Campaign.objects.count() == 1


def test_a_viewer_may_not_make_it(project: Project, db: None) -> None:
    people(project)
    run = a_test_of(project, {"all": [PRO, SHARE]})
    desk = Desk(logged_in(Role.VIEWER))
    assert OFFERED not in desk.open("campaigns_run_change", run.pk)
    assert desk.confirm("campaigns_run_everybody_else", run.pk).status_code == 403
    assert Campaign.objects.count() == 1
