"""What the builder may suggest: the names of events, their properties, and the values of these."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from notifications.people.events import reading
from notifications.people.events.reading import Property, Value
from notifications.people.events.writing import Event, write
from notifications.people.project import Project
from tests.given.builders import make_contact, make_project

NOW = timezone.now()


def happened(project: Project, name: str, *told: dict[str, Any]) -> None:
    person = make_contact(project).external_id
    at = NOW - timedelta(days=1)
    assert not write(project.pk, [Event(person, name, at, one) for one in told])


@pytest.fixture
def project(db: None) -> Project:
    project = make_project()
    happened(project, "viewed", {})
    happened(project, "bought", {"price": 5, "gift": True}, {"price": 5}, {"price": "5"}, {"n": ""})
    happened(make_project(), "elsewhere", {"secret": 1})
    return project


def test_names_are_those_of_the_projects_own_events(project: Project) -> None:
    assert reading.names(project.pk) == ["bought", "viewed"]


def test_properties_come_with_their_types_and_how_many_events_have_them(project: Project) -> None:
    assert reading.properties(project.pk, "bought", now=NOW) == [
        Property("price", 75, ["number", "text"]), Property("gift", 25, ["boolean"]),
    ]  # fmt: skip
    assert reading.properties(project.pk, "viewed", now=NOW) == []


def test_values_keep_their_type_and_hold_what_was_typed(project: Project) -> None:
    assert reading.values(project.pk, "bought", "price", now=NOW) == [
        Value(5, 50), Value("5", 25),
    ]  # fmt: skip
    assert reading.values(project.pk, "bought", "price", "6", now=NOW) == []
    assert reading.values(project.pk, "bought", "gift", "TR", now=NOW) == [Value(True, 25)]


def test_all_events_of_a_person_are_read_newest_first(project: Project) -> None:
    ada = make_contact(project, external_id="ada")
    days = [timedelta(days=n) for n in (3, 1, 2)]
    write(project.pk, [Event("ada", "bought", NOW - one, {"n": one.days}) for one in days])
    assert [one.properties["n"] for one in reading.all_of(ada.pk)] == [1, 2, 3]
