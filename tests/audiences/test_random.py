"""A rule on chance: the same people each time, as many as it says, and others for another seed."""

from __future__ import annotations

from typing import Any

import pytest

from campaigns.audiences import audience, selection, why, words
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.given.builders import make_project

PEOPLE = 2_000


@pytest.fixture
def project(db: None) -> Project:
    project = make_project()
    Contact.objects.bulk_create(
        Contact(project=project, external_id=f"u{n}") for n in range(PEOPLE)
    )
    return project


def among(percent: float, seed: str = "spring") -> dict[str, Any]:
    return {"field": "random", "op": "lte", "value": {"percent": percent, "seed": seed}}


def selected(project: Project, tree: dict[str, Any]) -> set[str]:
    audience.validate_rules(tree, project_id=project.pk)
    return {one.external_id for one in selection.sample(project.pk, tree, size=PEOPLE)}


def test_a_random_part_has_its_size_and_a_larger_one_includes_it(project: Project) -> None:
    ten, twenty = selected(project, among(10)), selected(project, among(20))
    assert 140 <= len(ten) <= 260
    assert ten < twenty
    assert selected(project, among(100)) == {f"u{n}" for n in range(PEOPLE)}


def test_another_seed_takes_other_people(project: Project) -> None:
    spring, summer = selected(project, among(50)), selected(project, among(50, "summer"))
    assert 400 <= len(spring & summer) <= 600  # a quarter: neither decides about the other


def test_a_person_who_comes_back_under_their_id_stands_where_they_stood(project: Project) -> None:
    before = selected(project, among(10))
    Contact.objects.all().delete()
    Contact.objects.bulk_create(
        Contact(project=project, external_id=f"u{n}") for n in reversed(range(PEOPLE))
    )
    assert selected(project, among(10)) == before


def test_the_explanation_says_where_somebody_stands(project: Project) -> None:
    for one in selection.sample(project.pk, among(10), size=5):
        found = why.verdict(one, among(10))
        assert found.is_in
        assert found.tree.history.startswith("placed at ")
        assert float(found.tree.history.split()[2]) <= 10


def test_a_random_part_reads_as_a_sentence(project: Project) -> None:
    assert words.sentence(among(12.5), project_id=1) == "is among a random 12.5 % (draw “spring”)"
    assert words.sentence({"not": among(10, "")}, project_id=1) == "is not among a random 10 %"
