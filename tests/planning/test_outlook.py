"""Before a launch the longest messages of real people are rendered; nothing is sent."""

from __future__ import annotations

from typing import Any

import pytest

from campaigns.planning import trial_rendering
from campaigns.planning.trial_rendering import Look
from campaigns.texts.rendering import Renderer
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device, make_project, make_template

EVERYONE: dict[str, Any] = {"all": []}


@pytest.fixture
def project(db: None) -> Project:
    return make_project()


def look(project: Project, rules: dict[str, Any] = EVERYONE, **texts: Any) -> Look:
    renderer = Renderer(make_template(project, **texts).frozen(), collapse_id="carillon-0")
    return trial_rendering.look(project.pk, rules, renderer)


def person(project: Project, external_id: str, platform: str = "android", **values: Any) -> None:
    attributes = {"first_name": "Ada", **values}
    make_device(
        make_contact(project, external_id=external_id, attributes=attributes), platform=platform
    )


def test_the_people_with_the_longest_values_are_looked_at(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_rendering, "DEVICES_TRIED", 3)
    for number in range(5):
        person(project, f"short{number}", story="x")
    person(project, "long", story="x" * 4_090)
    seen = look(project, body="{{ story }}")
    assert seen.devices == 3 and [one.external_id for one in seen.refused] == ["long"]


def test_each_device_counts_with_its_own_platforms_rules(project: Project) -> None:
    for platform in ("android", "ios", "web"):
        person(project, f"on-{platform}", platform, unread="many")
    seen = look(project, options={"ios": {"badge": "{{ unread }}"}})
    assert seen.devices == 3 and [one.external_id for one in seen.refused] == ["on-ios"]
    assert seen.refused[0].rejected and not seen.hopeless


def test_only_people_of_the_audience_with_a_device_are_looked_at(project: Project) -> None:
    person(project, "in", plan="pro")
    person(project, "out", plan="free")
    make_contact(project, external_id="without-device", attributes={"plan": "pro"})
    person(make_project(), "of-another-project", plan="pro")
    pro = {"field": "attributes.plan", "op": "eq", "value": "pro"}
    assert look(project, pro, body="{{ nothing }}").devices == 1


def test_a_small_audience_of_old_people_is_found_too(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_rendering, "AMONG", 2)
    person(project, "old", plan="pro")
    for number in range(4):
        person(project, f"new{number}", plan="free")
    assert look(project, {"field": "attributes.plan", "op": "eq", "value": "pro"}).devices == 1
    assert look(project).devices == 2  # of many, the newest do


def test_people_who_miss_a_value_are_skipped_and_make_no_launch_hopeless(project: Project) -> None:
    person(project, "u1")
    seen = look(project, body="{{ city }}")
    assert not seen.hopeless
    [one] = seen.refused
    assert (one.external_id, one.reason, one.rejected) == ("u1", "missing_value", False)
    assert look(make_project()).hopeless is False
