"""An upgrade rewrites rules that asked lists as texts, and they select whom they did."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.utils import timezone

from campaigns import control
from campaigns.audiences import audience, selection
from campaigns.audiences.audience import Audience
from campaigns.audiences.bounds import leaves
from campaigns.engine import engine
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.given.builders import make_audience, make_campaign, make_contact, make_project

pytestmark = pytest.mark.django_db
upgrade = importlib.import_module("campaigns.migrations.0012_ask_lists_what_they_hold")


def migrate() -> None:
    upgrade.ask_lists_what_they_hold(apps, None)


def contains(name: str, value: str) -> dict[str, Any]:
    return {"field": f"attributes.{name}", "op": "contains", "value": value}


def has(name: str, value: Any) -> dict[str, Any]:
    op = "has_any" if isinstance(value, list) else "has"
    return {"field": f"attributes.{name}", "op": op, "value": value}


@pytest.fixture
def project(db: None) -> Project:
    project = make_project()
    make_contact(project, external_id="list", attributes={"likes": ["sport"], "both": ["sport"]})
    make_contact(project, external_id="other", attributes={"likes": ["transport"]})
    make_contact(project, external_id="text", attributes={"city": "Seoul", "both": "Sports"})
    return project


def rewritten(project: Project, tree: dict[str, Any]) -> Any:
    row = make_audience(project, rules=tree)
    migrate()
    row.refresh_from_db()
    return row.rules


def selected(project: Project, tree: dict[str, Any]) -> set[str]:
    audience.validate_rules(tree, project_id=project.pk)
    return {contact.external_id for contact in selection.sample(project.pk, tree)}


def test_contains_becomes_has_where_people_hold_lists(project: Project) -> None:
    tree = rewritten(project, {"not": {"all": [contains("likes", "sport")]}})
    assert tree == {"not": {"all": [has("likes", "sport")]}}
    assert selected(project, tree) == {"other", "text"}


def test_a_rule_stays_unchanged_where_people_hold_texts(project: Project) -> None:
    tree = {"all": [contains("city", "eou"), {"field": "locale", "op": "contains", "value": "e"}]}
    assert rewritten(project, tree) == tree
    assert not AuditEntry.objects.exists()


def test_both_operators_are_used_where_some_hold_a_list_and_some_a_text(project: Project) -> None:
    both = [contains("both", "sport"), has("both", "sport")]
    tree = rewritten(project, {"all": [contains("both", "sport")]})
    assert tree == {"all": [{"any": both}]}
    assert selected(project, tree) == {"list", "text"}


def test_a_rewritten_rule_in_an_any_group_adds_no_level(project: Project) -> None:
    deep: dict[str, Any] = {"any": [contains("both", "sport")]}
    for _ in range(4):
        deep = {"all": [deep]}
    tree = rewritten(project, deep)
    assert selected(project, tree) == {"list", "text"}


def test_a_frozen_run_at_the_limit_of_depth_goes_on_and_an_audience_says_where(
    project: Project,
) -> None:
    deep = contains("both", "sport")
    for _ in range(5):
        deep = {"all": [deep]}
    row = make_audience(project, rules=deep)
    run = control.launch(make_campaign(project, audience=row), by="x", now=timezone.now())
    migrate()
    run.refresh_from_db()
    row.refresh_from_db()
    assert {one.external_id for one in selection.sample(project.pk, run.rules)} == {"list", "text"}
    with pytest.raises(ValidationError, match="nested deeper than 6 levels"):
        row.clean()


def test_a_frozen_run_goes_on_though_it_has_twice_as_many_rules_now(project: Project) -> None:
    row = make_audience(project, rules={"any": [contains("both", "sport")] * 60})
    run = control.launch(make_campaign(project, audience=row), by="x", now=timezone.now())
    migrate()
    run.refresh_from_db()
    assert len(list(leaves(run.rules))) == 120
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert (run.state, run.cause) == ("finished", "")  # nobody of them has a device
    assert {one.external_id for one in selection.sample(project.pk, run.rules)} == {"list", "text"}


def test_a_value_that_nobody_has_yet_is_asked_for_both_ways(project: Project) -> None:
    tree = rewritten(project, {"any": [contains("tags", "new")]})
    assert tree == {"any": [contains("tags", "new"), has("tags", "new")]}


def test_a_value_is_asked_as_the_lists_spell_it(project: Project) -> None:
    make_contact(project, attributes={"sizes": [5, "5", "15"]})
    make_contact(project, attributes={"teams": ["Blue", "BLUE", "blueish"]})
    tree = {"all": [contains("sizes", "5"), contains("teams", "blue")]}
    sizes, teams = rewritten(project, tree)["all"]
    assert sizes == has("sizes", ["5", 5])
    assert (teams["value"][0], sorted(teams["value"])) == ("blue", ["BLUE", "Blue", "blue"])


def test_the_upgrade_does_not_wait_until_everybody_is_read(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = upgrade.KINDS.replace("WHERE", "WHERE pg_sleep(1) IS NOT NULL AND")
    monkeypatch.setattr(upgrade, "KINDS", slow)
    monkeypatch.setattr(upgrade, "MOST_SECONDS", 0.01)
    both = [contains("city", "eou"), has("city", "eou")]
    assert rewritten(project, contains("city", "eou")) == {"any": both}


def test_another_projects_people_do_not_count(project: Project) -> None:
    other = make_project()
    make_contact(other, attributes={"likes": "sport"})
    assert rewritten(project, contains("likes", "sport")) == has("likes", "sport")


def test_an_audience_keeps_what_it_said_and_the_trail_says_who_rewrote_it(
    project: Project,
) -> None:
    row = make_audience(project, name="Sporty", rules=contains("likes", "sport"))
    before = row.updated_at
    migrate()
    migrate()
    row.refresh_from_db()
    assert row.rules_before == contains("likes", "sport")
    assert row.updated_at > before
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.subject) == ("carillon", "audience Sporty")
    assert entry.changes == {"rules": [contains("likes", "sport"), has("likes", "sport")]}


def test_frozen_rules_of_a_run_that_is_not_finished_are_rewritten(project: Project) -> None:
    sporty = make_audience(project, rules=contains("likes", "sport"))
    waiting = control.launch(make_campaign(project, audience=sporty), by="x", now=timezone.now())
    done = control.launch(make_campaign(project, audience=sporty), by="x", now=timezone.now())
    Run.objects.filter(pk=done.pk).update(
        state="finished", finished_at=timezone.now(), planned=0, started_at=timezone.now()
    )
    migrate()
    waiting.refresh_from_db()
    done.refresh_from_db()
    assert waiting.rules == has("likes", "sport")
    assert done.rules == contains("likes", "sport")


def test_the_last_run_of_a_series_hands_on_what_was_rewritten(project: Project) -> None:
    sporty = make_audience(project, rules=contains("likes", "sport"))
    campaign = make_campaign(project, audience=sporty)
    campaign.schedule_kind, campaign.repeat, campaign.at = "recurring", "daily", timezone.now()
    campaign.save()
    run = control.launch(campaign, by="x", now=timezone.now())
    Run.objects.filter(pk=run.pk).update(
        state="finished", finished_at=timezone.now(), planned=0, started_at=timezone.now()
    )
    migrate()
    run.refresh_from_db()
    assert run.rules == has("likes", "sport")


def test_a_static_list_is_left_alone(project: Project) -> None:
    row = make_audience(project, kind=Audience.Kind.LIST)
    migrate()
    row.refresh_from_db()
    assert row.rules_before is None
