"""A rule on events: who did what, how often, how lately, with which properties."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from campaigns import tasks
from campaigns.audiences import audience, estimating, reach, selection, why, words
from campaigns.audiences.behavior import event
from campaigns.engine import engine
from campaigns.launch_check import warnings
from notifications.people import retention
from notifications.people.contact import Contact
from notifications.people.events.writing import Event, write
from notifications.people.project import Project
from tests.given.builders import (
    make_audience,
    make_contact,
    make_device,
    make_project,
    make_scheduled_run,
)


@pytest.fixture
def project(db: None) -> Project:
    return make_project()


def did(name: str = "bought", op: str = "did", **value: Any) -> dict[str, Any]:
    return {"field": "event", "op": op, "value": {"name": name, **value}}


def happened(person: Contact, name: str = "bought", *, days: float = 1, **properties: Any) -> None:
    at = timezone.now() - timedelta(days=days)
    assert not write(person.project_id, [Event(person.external_id, name, at, properties)])


def selected(project: Project, tree: dict[str, Any]) -> set[str]:
    """By every way that asks: the people shown, the count, a part of them, one person alone."""
    audience.validate_rules(tree, project_id=project.pk)
    found = {one.external_id for one in selection.sample(project.pk, tree, size=100)}
    assert reach.count(project.pk, tree).people == len(found)
    source = estimating.Part(selection.joined(None), 1)
    assert reach.count(project.pk, tree, part=source).people == len(found)
    for one in Contact.objects.filter(project=project):
        assert why.verdict(one, tree).is_in == (one.external_id in found)
    return found


@pytest.fixture
def people(project: Project) -> dict[str, Contact]:
    """Ada bought thrice, Bob once long ago, Cleo looked only; Eve bought elsewhere."""
    named = {name: make_contact(project, external_id=name) for name in ("ada", "bob", "cleo")}
    for days, price in ((1, 5), (2, 10), (40, 20)):
        happened(named["ada"], days=days, price=price, category="shoes")
    make_device(named["ada"])
    make_device(named["ada"])
    happened(named["bob"], days=100, price="10")
    happened(named["cleo"], "viewed")
    happened(make_contact(make_project(), external_id="eve"))
    return named


def test_a_person_who_did_it_at_any_time_matches(project: Project, people: Any) -> None:
    assert selected(project, did()) == {"ada", "bob"}
    assert selected(project, did("viewed")) == {"cleo"}
    assert selected(project, did("slept")) == set()


def test_a_person_who_never_did_anything_matches_did_not(project: Project, people: Any) -> None:
    make_contact(project, external_id="dora")
    assert selected(project, did(op="did_not")) == {"cleo", "dora"}
    assert selected(project, {"not": did(op="did_not")}) == {"ada", "bob"}


def test_a_rule_counts_how_often_within_how_many_days(project: Project, people: Any) -> None:
    assert selected(project, did(at_least=3)) == {"ada"}
    assert selected(project, did(at_least=4)) == set()
    assert selected(project, did(at_least=2, within="P30D")) == {"ada"}
    assert selected(project, did(at_least=3, within="P30D")) == set()
    assert selected(project, did(within="P60D")) == {"ada"}
    assert selected(project, did(op="did_not", at_least=2)) == {"bob", "cleo"}


def test_only_events_with_such_properties_count(project: Project, people: Any) -> None:
    def where(op: str, value: Any = None, property: str = "price") -> dict[str, Any]:
        return {"property": property, "op": op, "value": value}

    assert selected(project, did(where=[where("gte", 10)], at_least=2)) == {"ada"}
    assert selected(project, did(where=[where("gt", 10)], within="P30D")) == set()
    assert selected(project, did(where=[where("eq", "10")])) == {"bob"}
    assert selected(project, did(where=[where("in", [5, 6])])) == {"ada"}
    assert selected(project, did(where=[where("ne", 10), where("lt", 10)])) == {"ada"}
    assert selected(project, did(where=[where("exists", property="category")])) == {"ada"}
    assert selected(project, did(where=[where("not_exists", property="category")])) == {"bob"}
    assert selected(project, did(where=[where("not_in", ["shoes"], "category")])) == {"bob"}


def test_an_event_of_the_future_has_not_happened(project: Project) -> None:
    happened(make_contact(project, external_id="ada"), days=-0.5)
    assert selected(project, did()) == set()


@pytest.mark.parametrize(
    "now",
    ["2024-03-01T00:00:00Z", "2023-03-01T00:00:00Z", "2024-02-29T12:00:00Z", "2024-12-31T23:59:59Z",
     "2025-01-01T00:00:00Z", "2024-03-31T01:30:00Z", "2024-11-03T06:30:00Z"],
)  # fmt: skip
def test_the_last_30_days_are_30_times_24_hours_over_any_months_end_and_change_of_clocks(
    project: Project, monkeypatch: pytest.MonkeyPatch, now: str
) -> None:
    monkeypatch.setattr(event, "NOW", f"'{now}'::timestamptz")
    ends = datetime.fromisoformat(now)
    begins, moment = ends - timedelta(hours=30 * 24), timedelta(microseconds=1)
    for name, at in (
        ("first", begins), ("early", begins - moment), ("last", ends), ("late", ends + moment)
    ):  # fmt: skip
        make_contact(project, external_id=name)
        assert not write(project.pk, [Event(name, "bought", at, {})])
    assert selected(project, did(within="P30D")) == {"first", "last"}
    assert selected(project, did()) == {"first", "early", "last"}


def test_rules_on_events_stand_among_others(project: Project, people: Any) -> None:
    of_device = {"field": "platform", "op": "eq", "value": "android"}
    assert selected(project, {"all": [did(), of_device]}) == {"ada"}
    assert selected(project, {"any": [did(at_least=2), did("viewed")]}) == {"ada", "cleo"}


def test_the_explanation_says_how_often_it_happened_and_when_last(
    project: Project, people: dict[str, Contact]
) -> None:
    told = why.verdict(people["ada"], did(within="P30D")).tree.history
    assert told.startswith("it happened 2 times, last on ")
    assert told.endswith(" UTC")
    assert why.verdict(people["cleo"], did()).tree.history == "it never happened"


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (did(), "did “bought”"),
        (did(op="did_not", within="P7D"), "did not do “bought” within the last 7 days"),
        ({"not": did(at_least=2)}, "did “bought” fewer than 2 times"),
        (
            did(at_least=3, within="P30D", where=[
                {"property": "price", "op": "gte", "value": 10},
                {"property": "is_gift", "op": "eq", "value": True},
            ]),
            "did “bought” at least 3 times within the last 30 days where price is at least 10"
            " and is gift is true",
        ),
    ],
)  # fmt: skip
def test_a_rule_on_events_reads_as_a_sentence(tree: Any, said: str) -> None:
    assert words.clause(tree, project_id=1, names={}) == said


BAD: list[Any] = [
    None, "bought", {}, {"name": ""}, {"name": 5}, {"name": "x" * 65}, {"name": "a\tb"},
    {"name": "a", "color": 1}, {"name": "a", "at_least": 0}, {"name": "a", "at_least": True},
    {"name": "a", "at_least": 1_001}, {"name": "a", "within": "P1M"}, {"name": "a", "within": 5},
    {"name": "a", "where": {}}, {"name": "a", "where": [{}] * 6}, {"name": "a", "where": [5]},
    *({"name": "a", "where": [{"property": "p", "op": op, "value": value}]} for op, value in (
        ("like", 1), ([], 1), ("gt", "5"), ("gt", 1e15), ("in", []), ("in", [[]]), ("eq", None),
        ("eq", "x" * 501), ("eq", "\x00"), ("eq", {}), ("exists", 5), ("in", [1] * 101))),
    {"name": "a", "where": [{"property": "p'; --", "op": "eq", "value": 1}]},
]  # fmt: skip


@pytest.mark.parametrize("value", BAD, ids=range(len(BAD)))
def test_a_rule_on_events_that_makes_no_sense_is_refused_with_its_place(
    project: Project, value: Any
) -> None:
    tree = {"all": [{"field": "event", "op": "did", "value": value}]}
    with pytest.raises(ValidationError) as refused:
        audience.validate_rules(tree, project_id=project.pk)
    assert "rules.all[0]" in str(refused.value)


def test_nobody_may_write_which_projects_events_a_rule_reads(project: Project) -> None:
    with pytest.raises(ValidationError, match="remove “asked” from"):
        audience.validate_rules(did(asked={"project": 1}), project_id=project.pk)


# --- Rules and how long events are kept -----------------------------------------------------------


@pytest.mark.parametrize("op", ["did", "did_not"])
def test_a_rule_that_looks_further_back_than_events_are_kept_is_refused_with_its_place(
    project: Project, op: str
) -> None:
    retention.change(project, "events", 30)
    audience.validate_rules(did(op=op, within="P30D"), project_id=project.pk)
    with pytest.raises(ValidationError) as refused:
        tree = {"all": [did(), did(op=op, within="P31DT1H")]}
        audience.validate_rules(tree, project_id=project.pk)
    (said,) = refused.value.messages
    assert said.startswith("rules.all[1].value: ")
    assert "within the last 31 days" in said and "events are kept only since" in said
    retention.change(project, "events", None)
    audience.validate_rules(did(op=op, within="P9999D"), project_id=project.pk)


def test_events_that_are_removed_stay_unknown_when_they_are_kept_for_longer_again(
    project: Project,
) -> None:
    Project.objects.filter(pk=project.pk).update(created_at=timezone.now() - timedelta(days=60))
    project.refresh_from_db()
    retention.change(project, "events", 30)
    for days in (400, None):
        retention.change(project, "events", days)
        audience.validate_rules(did(within="P30D"), project_id=project.pk)
        with pytest.raises(ValidationError, match="events are kept only since"):
            audience.validate_rules(did(within="P32D"), project_id=project.pk)


def test_a_run_whose_rule_looks_too_far_back_by_its_start_stops_with_that_reason(
    project: Project,
) -> None:
    happened(make_contact(project, external_id="ada"), days=60)
    make_device(make_contact(project, external_id="bob"))
    rules = {"not": did(within="P90D")}
    at = timezone.now() + timedelta(hours=1)
    run = make_scheduled_run(project, at, audience=make_audience(project, rules=rules))
    retention.change(project, "events", 30)
    engine.sweep(at)
    tasks.advance(run_id=run.pk)
    run.refresh_from_db()
    assert (run.state, run.planned) == ("paused", None)
    assert "events are kept only since" in run.detail


def test_a_rule_without_a_time_limit_is_doubted_where_old_events_are_removed(
    project: Project, people: Any
) -> None:
    def doubted(tree: dict[str, Any]) -> list[str]:
        found = warnings.of_rules(project.pk, tree)
        return [one.words for one in found if one.code == warnings.Code.EVENTS_REMOVED]

    inner = make_audience(project, rules=did(op="did_not"))
    (said,) = doubted({"all": [did(op="did_not"), did("viewed"), did(within="P30D")]})
    assert said.startswith("Events before ")
    assert said.endswith("no time limit: did not do “bought”; did “viewed”.")
    assert doubted({"field": "audience", "op": "ne", "value": inner.pk})
    assert doubted(did(within="P400D")) == []
    retention.change(project, "events", None)
    assert doubted(did()) == []  # a project of today has lost none
