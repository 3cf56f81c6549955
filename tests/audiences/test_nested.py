"""Audiences in audiences: what they mean together, and that no edit reaches what was launched."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import pairwise
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.exceptions import ValidationError
from django.db.models import ProtectedError

from campaigns.audiences import audience, reach, selection, why, words
from campaigns.audiences.audience import Audience, Member
from campaigns.audiences.resolving.leaf_by_leaf import each_leaf
from campaigns.launch_check import freshness
from campaigns.planning import launch_problems
from campaigns.runs.ledger import Recipient
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_device,
    make_project,
    make_run,
)

PRO = {"field": "attributes.plan", "op": "eq", "value": "pro"}
SEOUL = {"field": "attributes.city", "op": "eq", "value": "Seoul"}


def inside(*audiences: Audience, op: str = "in") -> dict[str, Any]:
    return {"field": "audience", "op": op, "value": [one.pk for one in audiences]}


@pytest.fixture
def people(project: Project) -> dict[str, Contact]:
    known = {"ann": ("pro", "Seoul"), "bob": ("pro", "Busan"), "cho": ("free", "Seoul")}
    found = {
        name: make_contact(project, external_id=name, attributes={"plan": plan, "city": city})
        for name, (plan, city) in known.items()
    }
    for one in found.values():
        make_device(one)
    return found


def selected(project: Project, tree: dict[str, Any]) -> set[str]:
    audience.validate_rules(tree, project_id=project.pk)
    found = {one.external_id for one in selection.sample(project.pk, tree)}
    assert reach.count(project.pk, tree).people == len(found)
    everybody = Contact.objects.filter(project=project)
    assert {one.external_id for one in everybody if why.verdict(one, tree).is_in} == found
    return found


@pytest.mark.usefixtures("people")
def test_an_audience_includes_and_excludes_others(project: Project) -> None:
    pro, seoul = make_audience(project, rules=PRO), make_audience(project, rules=SEOUL)
    assert selected(project, inside(pro)) == {"ann", "bob"}
    assert selected(project, inside(pro, seoul)) == {"ann", "bob", "cho"}
    assert selected(project, inside(pro, seoul, op="not_in")) == set()
    assert selected(project, {"all": [inside(pro), inside(seoul, op="not_in")]}) == {"bob"}
    both = make_audience(project, rules={"all": [inside(pro), inside(seoul)]})
    assert selected(project, {"field": "audience", "op": "ne", "value": both.pk}) == {"bob", "cho"}


def test_a_static_list_can_be_named_like_any_audience(
    project: Project, people: dict[str, Contact]
) -> None:
    friends = make_audience(project, kind="list")
    Member.objects.create(audience=friends, contact=people["bob"])
    assert selected(project, inside(friends)) == {"bob"}


def test_a_nested_audience_reads_by_its_name(project: Project) -> None:
    pro = make_audience(project, name="Pro", rules=PRO)
    said = words.sentence({"not": inside(pro)}, project_id=project.pk)
    assert said == "is not in the audience “Pro”"


@pytest.mark.usefixtures("people")
def test_an_edit_of_the_inner_audience_does_not_reach_a_launched_run(project: Project) -> None:
    inner = make_audience(project, rules=PRO)
    outer = make_audience(project, rules={"all": [inside(inner)]})
    run = make_run(project, audience=outer, advanced=False)
    inner.rules = SEOUL
    inner.save()

    from_row = type(run).objects.get(pk=run.pk)

    assert from_row.rules == {"all": [PRO]}
    assert words.sentence(from_row.rules, project_id=project.pk) == "plan is pro"


@pytest.mark.usefixtures("people")
def test_an_edit_of_the_inner_audience_is_one_of_what_somebody_looks_at(project: Project) -> None:
    inner = make_audience(project, name="Inner", rules=PRO)
    campaign = make_campaign(project, audience=make_audience(project, rules=inside(inner)))
    looked_at = freshness.marks(campaign)
    assert freshness.changed(campaign, looked_at) == []

    inner.rules = SEOUL
    inner.save()

    [said] = freshness.changed(campaign, looked_at)
    assert "changed the audience after you opened this page" in said


def test_a_circle_of_audiences_is_refused_when_saved(project: Project) -> None:
    first = make_audience(project, rules=PRO)
    second = make_audience(project, rules=inside(first))
    first.rules = {"any": [PRO, inside(second)]}
    with pytest.raises(ValidationError, match="an audience cannot contain itself"):
        first.clean()
    first.rules = inside(first)
    with pytest.raises(ValidationError, match="an audience cannot contain itself"):
        first.clean()


def test_a_circle_that_two_people_saved_at_once_is_refused_when_it_is_used(
    project: Project,
) -> None:
    first = make_audience(project, rules=PRO)
    second = make_audience(project, rules=inside(first))
    Audience.objects.filter(pk=first.pk).update(rules=inside(second))
    campaign = make_campaign(project, audience=second)
    problems = launch_problems.problems(campaign, campaign.created_at)
    assert "cannot contain itself" in problems["audience"]


def test_an_audience_that_another_one_names_cannot_be_deleted(project: Project) -> None:
    inner = make_audience(project, rules=PRO)
    outer = make_audience(project, rules={"not": inside(inner)})
    with pytest.raises(ProtectedError):
        inner.delete()
    outer.delete()
    inner.delete()


def test_an_audience_of_another_project_is_none(project: Project) -> None:
    foreign = make_audience(make_project(), rules=PRO)
    with pytest.raises(ValidationError, match=f"there is no audience {foreign.pk} in this project"):
        audience.validate_rules(inside(foreign), project_id=project.pk)


def test_audiences_that_are_too_much_together_are_refused(project: Project) -> None:
    many = {"any": [SEOUL] * 80}
    parts = [make_audience(project, rules=many) for _ in range(3)]
    with pytest.raises(ValidationError, match="together with the audiences they name"):
        audience.validate_rules(inside(*parts), project_id=project.pk)


@pytest.mark.parametrize("value", [0, "5", True, None, {}, [], [1, "2"], list(range(1, 30))])
def test_a_value_that_is_no_audience_id_is_refused(project: Project, value: Any) -> None:
    for op in ("eq", "in"):
        with pytest.raises(ValidationError, match="must be"):
            audience.validate_rules(
                {"field": "audience", "op": op, "value": value}, project_id=project.pk
            )


@pytest.mark.usefixtures("people")
def test_the_run_of_a_nested_audience_freezes_its_people(project: Project) -> None:
    outer = make_audience(project, rules=inside(make_audience(project, rules=SEOUL), op="not_in"))
    run = make_run(project, audience=outer)
    [row] = Recipient.objects.filter(run_id=run.pk)
    assert Contact.objects.get(pk=row.contact_id).external_id == "bob"


@pytest.mark.parametrize("mentions", [["next"] * 3, ["next", "twin"]])
def test_each_audience_is_expanded_once_however_often_others_name_it(
    project: Project, mentions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expansions = Mock(wraps=each_leaf)
    monkeypatch.setattr("campaigns.audiences.resolving.nested_audiences.each_leaf", expansions)
    levels = [[make_audience(project, rules=PRO) for _ in ("next", "twin")] for _ in range(9)]
    for around, inner in pairwise(levels):
        named = dict(zip(("next", "twin"), inner, strict=True))
        rules = inside(*(named[each] for each in mentions))
        Audience.objects.filter(pk__in=[one.pk for one in around]).update(rules=rules)

    refused = pytest.raises(ValidationError, match="together with the audiences they name")
    with refused if "twin" in mentions else nullcontext():
        audience.validate_rules(inside(levels[0][0], levels[0][1]), project_id=project.pk)

    assert expansions.call_count <= 1 + 2 * len(levels)
