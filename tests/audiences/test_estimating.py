"""An estimate of a part of the people comes close, and says how far off it may be."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from campaigns.audiences import estimating, reach
from notifications.people.project import Project
from tests.given.builders import make_contact, make_project

PEOPLE = 12_000
FEWEST = 90  # of 100 draws: where 95 of 100 are meant, one time in a hundred there are fewer
# Person by person, by where they stand in the table.
INSERT = """
INSERT INTO notifications_contact
    (project_id, external_id, attributes, locale, timezone, tester, created_at, updated_at)
SELECT CASE WHEN n %% 7 = 0 THEN %(other)s ELSE %(shop)s END, 'p' || n,
    jsonb_build_object('dice', hashint4(n) & 1023, 'batch', n / 1000, 'pad', repeat('x', 120)),
    '', '', FALSE, now(), now()
FROM generate_series(1, %(people)s) n
"""
# Every second of them has one.
DEVICES = """
INSERT INTO notifications_device (project_id, contact_id, kind, address, platform, app_version,
    retired_reason, retired_by, last_seen_at, registered_at)
SELECT project_id, id, 'token', 'tok' || id, 'android', '', '', '', now(), now()
FROM notifications_contact WHERE project_id = %s AND substr(external_id, 2)::int %% 2 = 0
"""


def rule(name: str, op: str, value: Any) -> dict[str, Any]:
    return {"field": f"attributes.{name}", "op": op, "value": value}


NINE_OF_TEN = rule("dice", "lt", 922)
HALF = rule("dice", "lt", 512)
RARE = rule("dice", "lt", 10)
ONE_IMPORT = rule("batch", "eq", 3)  # these stand beside one another
EVERYBODY: dict[str, Any] = {"all": []}
NOBODY = rule("dice", "gt", 5_000)


@pytest.fixture
def shop(db: None, monkeypatch: pytest.MonkeyPatch) -> Project:
    shop = make_project()
    with connection.cursor() as cursor:
        cursor.execute(
            INSERT,
            {"shop": shop.pk, "other": make_project().pk, "people": PEOPLE},
        )
        cursor.execute(DEVICES, [shop.pk])
        cursor.execute("ANALYZE notifications_contact, notifications_device")
    monkeypatch.setattr(estimating, "PEOPLE", 2_000)
    return shop


def estimates(
    monkeypatch: pytest.MonkeyPatch, shop: Project, tree: dict[str, Any], seeds: int = 100
) -> list[reach.Reach]:
    found = []
    for seed in range(1, seeds + 1):
        monkeypatch.setattr(estimating, "SEED", seed)
        part = estimating.part(1, None, shop.pk)
        found.append(reach.count(shop.pk, tree, part=part))
    return found


@pytest.mark.parametrize(
    "tree", [NINE_OF_TEN, HALF, RARE, ONE_IMPORT], ids=["nine_of_ten", "half", "rare", "import"]
)
def test_the_true_number_lies_within_the_margin_95_times_in_100(
    shop: Project, monkeypatch: pytest.MonkeyPatch, tree: dict[str, Any]
) -> None:
    truth = reach.count(shop.pk, tree)
    people = devices = 0
    for found in estimates(monkeypatch, shop, tree):
        assert found.margin and not found.exact
        people += abs(found.people - truth.people) <= found.margin.people
        devices += abs(found.reachable - truth.reachable) <= found.margin.devices
    assert min(people, devices) >= FEWEST


def test_an_estimate_of_most_people_is_near_though_pages_are_filled_unevenly(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = reach.count(shop.pk, NINE_OF_TEN).people
    for found in estimates(monkeypatch, shop, NINE_OF_TEN, seeds=20):
        assert found.people == pytest.approx(truth, rel=0.03)
        assert found.margin and found.margin.people < truth * 0.03


def test_an_estimate_whose_people_cannot_be_counted_is_near_and_has_no_margin(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = reach.count(shop.pk, NINE_OF_TEN).people
    monkeypatch.setattr(estimating, "_people", lambda project_id: None)
    for found in estimates(monkeypatch, shop, NINE_OF_TEN, seeds=10):
        assert found.people == pytest.approx(truth, rel=0.05)
        assert found.margin is None


def test_everybody_is_estimated_exactly_and_nobody_with_a_margin(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = reach.count(shop.pk, EVERYBODY).people
    (everybody,) = estimates(monkeypatch, shop, EVERYBODY, seeds=1)
    assert everybody.people == there
    (nobody,) = estimates(monkeypatch, shop, NOBODY, seeds=1)
    assert nobody.people == 0
    assert nobody.margin and 0 < nobody.margin.people < there * 0.2


def test_a_project_with_nobody_in_the_part_is_estimated_without_a_fault(shop: Project) -> None:
    few = make_project()
    make_contact(few)
    found = reach.count(few.pk, EVERYBODY, part=estimating.part(1, None, few.pk))
    assert found.people in (0, 1)
