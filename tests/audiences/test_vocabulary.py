"""What a project's people are really like: attributes, types, values, and what nobody has."""

from __future__ import annotations

from typing import Any

import pytest

from campaigns.audiences import vocabulary
from campaigns.audiences.vocabulary import Attribute, Value
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device, make_project

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(db: None) -> Project:
    return make_project()


def people(project: Project, *attributes: dict[str, Any]) -> None:
    for one in attributes:
        make_contact(project, attributes=one)


def test_each_attribute_comes_with_its_types_and_how_many_have_it(project: Project) -> None:
    people(
        project,
        {"plan": "pro", "points": 3, "vip": True, "likes": ["a"], "seen": "2026-05-31"},
        {"plan": "", "points": "many", "vip": None},
    )
    found = {one.name: one for one in vocabulary.attributes(project.pk)}
    assert found["plan"] == Attribute("plan", 50, ["text"])  # an empty text is not known
    assert found["points"].percent == 100
    assert sorted(found["points"].types) == ["number", "text"]
    assert found["vip"].types == ["boolean"]
    assert found["likes"].types == ["list"]
    assert found["seen"].types == ["time"]


def test_another_projects_people_are_not_looked_at(project: Project) -> None:
    people(make_project(), {"secret": "x"})
    assert vocabulary.attributes(project.pk) == []
    assert vocabulary.values(project.pk, "attributes.secret") == []


def test_values_are_suggested_by_how_many_have_them_and_keep_their_type(project: Project) -> None:
    people(project, {"n": 5}, {"n": 5}, {"n": "5"}, {"n": True})
    assert vocabulary.values(project.pk, "attributes.n")[0] == Value(5, 50)
    exact = [one.exact for one in vocabulary.values(project.pk, "attributes.n")]
    assert sorted(map(repr, exact)) == ["'5'", "5", "True"]


def test_each_entry_of_a_list_is_suggested(project: Project) -> None:
    people(project, {"likes": ["tea", "milk"]}, {"likes": ["tea"]}, {})
    assert [one.exact for one in vocabulary.values(project.pk, "attributes.likes")] == [
        "tea",
        "milk",
    ]


def test_the_typed_text_narrows_the_suggestions(project: Project) -> None:
    people(project, {"city": "Seoul"}, {"city": "Busan"}, {"city": "100%"})
    assert [v.exact for v in vocabulary.values(project.pk, "attributes.city", "seo")] == ["Seoul"]
    assert [v.exact for v in vocabulary.values(project.pk, "attributes.city", "%")] == ["100%"]


def test_columns_of_people_and_devices_have_suggestions_too(project: Project) -> None:
    contact = make_contact(project, external_id="u_1", locale="ko", timezone="Asia/Seoul")
    make_contact(project, external_id="ux1", locale="")
    make_device(contact, app_version="5.0.0")
    assert [v.exact for v in vocabulary.values(project.pk, "locale")] == ["ko"]
    assert [v.exact for v in vocabulary.values(project.pk, "app_version")] == ["5.0.0"]
    assert [v.exact for v in vocabulary.values(project.pk, "external_id", "U_")] == ["u_1"]
    assert vocabulary.values(project.pk, "created_at") == []
    assert vocabulary.values(project.pk, "list") == []


def test_an_attribute_nobody_has_is_told_from_a_rare_one(project: Project) -> None:
    people(project, {"rare": "x"}, {"empty": ""})
    people(make_project(), {"tier": "theirs"})
    assert vocabulary.nowhere(project.pk, ["rare", "empty", "tier"]) == ["empty", "tier"]


def test_an_attribute_of_older_people_only_is_known_after_a_big_import(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary, "PEOPLE_READ", 10)
    people(project, *[{"plan": "pro"}] * 30, *[{"city": "Seoul"}] * 30)
    found = {one.name: one.percent for one in vocabulary.attributes(project.pk)}
    assert found == {"plan": 50, "city": 50}
    shown = {one.name: one.percent for one in vocabulary.described(project.pk) or []}
    assert shown == {"plan": 50, "city": 50}
    assert vocabulary.values(project.pk, "attributes.plan") == [Value("pro", 50)]
