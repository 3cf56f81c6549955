"""Nobody matches: which rule leaves nobody, said where they are counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from campaigns.audiences import why
from notifications.people.project import Project
from notifications.postgres.budget import TooSlow
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_contact

pytestmark = pytest.mark.django_db


def plan(value: str) -> dict[str, Any]:
    return {"field": "attributes.plan", "op": "eq", "value": value}


def city(value: str) -> dict[str, Any]:
    return {"field": "attributes.city", "op": "eq", "value": value}


@pytest.fixture(autouse=True)
def people(project: Project) -> None:
    make_contact(project, external_id="ada", attributes={"plan": "pro", "city": "Oslo"})
    make_contact(project, external_id="ben", attributes={"plan": "free", "city": "Rome"})


def counted(desk: Desk, project: Project, tree: Any) -> str:
    return text_of(desk.post("audience_count", project=project.pk, rules=json.dumps(tree)))


def test_the_rule_that_nobody_matches_is_named(desk: Desk, project: Project) -> None:
    text = counted(desk, project, {"all": [plan("pro"), city("Atlantis")]})
    assert "Nobody matches this rule, whatever the others say: city is Atlantis." in text
    assert "others say: plan" not in text


def test_the_rule_that_takes_the_rest_away_is_named(desk: Desk, project: Project) -> None:
    text = counted(desk, project, {"all": [plan("pro"), {"any": [city("Rome"), city("Bonn")]}]})
    assert "none of them matches it: city is Rome or city is Bonn." in text
    assert "whatever the others say" not in text


def test_of_what_is_excluded_the_one_that_excludes_the_rest_is_named(
    desk: Desk, project: Project
) -> None:
    text = counted(desk, project, {"not": {"any": [plan("pro"), plan("free"), city("Bonn")]}})
    assert "none of them matches it: plan is not free." in text


@pytest.mark.parametrize("tree", [plan("gold"), {"any": [plan("gold"), city("Bonn")]}])
def test_a_rule_that_stands_alone_needs_no_name(desk: Desk, project: Project, tree: Any) -> None:
    text = counted(desk, project, tree)
    assert "Nobody matches these rules now." in text and "this rule" not in text


def test_somebody_is_left_and_nothing_is_asked(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(why, "_which_match", None)
    assert "People 1" in counted(desk, project, {"all": [plan("pro"), city("Oslo")]})


def test_a_search_that_takes_too_long_names_nothing(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*_args: Any) -> None:
        raise TooSlow

    monkeypatch.setattr(why, "_which_match", slowly)
    text = counted(desk, project, {"all": [plan("pro"), city("Atlantis")]})
    assert "Nobody matches these rules now." in text and "this rule" not in text
