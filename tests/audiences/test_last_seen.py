"""A rule about when somebody was last seen means the person, or each device: it says which."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.audiences import audience, last_seen, reach, selection, vocabulary, why
from campaigns.audiences.words import sentence
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device, make_project

WITHIN_30_DAYS = {"field": "person_seen_at", "op": "within_last", "value": "P30D"}
DEVICE_WITHIN_30_DAYS = {**WITHIN_30_DAYS, "field": "last_seen_at"}


@pytest.fixture
def project(db: None) -> Project:
    return make_project()


@pytest.fixture
def ada(project: Project) -> Contact:
    """She used her new phone yesterday; her old one has lain in a drawer for months."""
    ada, now = make_contact(project, external_id="ada"), timezone.now()
    make_device(ada, platform="ios", last_seen_at=now - timedelta(days=1))
    make_device(ada, platform="android", last_seen_at=now - timedelta(days=90))
    return ada


def counted(project: Project, tree: dict[str, Any]) -> tuple[int, int]:
    audience.validate_rules(tree, project_id=project.pk)
    found = reach.count(project.pk, tree)
    return found.people, found.devices


def test_a_rule_about_the_person_leaves_out_who_used_another_phone_yesterday(
    project: Project, ada: Contact
) -> None:
    away = make_contact(project, external_id="away")
    make_device(away, last_seen_at=timezone.now() - timedelta(days=60))
    assert counted(project, {"not": DEVICE_WITHIN_30_DAYS}) == (2, 2)  # Ada's old phone, too
    assert counted(project, {"not": WITHIN_30_DAYS}) == (1, 1)
    assert counted(project, WITHIN_30_DAYS) == (1, 2)


def test_a_retired_device_shows_that_its_person_was_there(project: Project) -> None:
    gone, now = make_contact(project, external_id="gone"), timezone.now()
    make_device(gone, last_seen_at=now, retired_at=now, retired_reason="removed")
    make_device(gone, last_seen_at=now - timedelta(days=90))
    assert counted(project, {"not": WITHIN_30_DAYS}) == (0, 0)


@pytest.mark.parametrize(
    ("op", "value", "expected"),
    [
        ("exists", None, {"ada"}),
        ("not_exists", None, {"nobody-s"}),
        ("before", "2020-01-01", set()),
        ("after", "2020-01-01", {"ada"}),
    ],
)
def test_the_operators_of_times_fit_the_person_last_seen(
    project: Project, ada: Contact, op: str, value: str | None, expected: set[str]
) -> None:
    make_contact(project, external_id="nobody-s")
    tree = {"field": "person_seen_at", "op": op, "value": value}
    audience.validate_rules(tree, project_id=project.pk)
    assert {one.external_id for one in selection.sample(project.pk, tree)} == expected


def test_the_answer_to_why_shows_when_the_person_was_last_seen(
    project: Project, ada: Contact
) -> None:
    found = why.verdict(ada, {"not": WITHIN_30_DAYS})
    assert not found.is_in
    [node] = found.because
    assert node.words == "person last seen is not within the last 30 days, or is not known"
    assert node.value


def test_the_words_tell_the_person_from_the_device(project: Project) -> None:
    both = {"any": [WITHIN_30_DAYS, DEVICE_WITHIN_30_DAYS]}
    said = sentence(both, project_id=project.pk)
    assert said == (
        "person last seen is within the last 30 days or device last seen is within the last 30 days"
    )


def test_a_time_suggests_no_values(project: Project, ada: Contact) -> None:
    assert vocabulary.values(project.pk, "person_seen_at") == []


@pytest.mark.parametrize(
    "tree",
    [
        {"not": DEVICE_WITHIN_30_DAYS},
        {"not": {"any": [{"all": []}, DEVICE_WITHIN_30_DAYS]}},
        {"all": [{"field": "last_seen_at", "op": "before", "value": "2026-01-01"}]},
        {"not": {"not": {"field": "last_seen_at", "op": "before", "value": "2026-01-01"}}},
        {"not": {"field": "last_seen_at", "op": "after", "value": "2026-01-01"}},
    ],
)
def test_a_rule_that_looks_for_absent_people_by_their_devices_is_recognised(
    tree: dict[str, Any],
) -> None:
    assert last_seen.asks_devices(tree)
    assert not last_seen.asks_devices(last_seen.asking_people(tree))


@pytest.mark.parametrize(
    "tree",
    [
        DEVICE_WITHIN_30_DAYS,
        {"not": WITHIN_30_DAYS},
        {"not": {"not": DEVICE_WITHIN_30_DAYS}},
        {"not": {"field": "last_seen_at", "op": "before", "value": "2026-01-01"}},
        {"field": "last_seen_at", "op": "not_exists"},
        {"field": "created_at", "op": "before", "value": "2026-01-01"},
    ],
)
def test_a_rule_that_means_what_it_says_is_left_alone(tree: dict[str, Any]) -> None:
    assert not last_seen.asks_devices(tree)
