"""What columns are guessed to mean, and which mappings are refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from notifications.people.attributes import Attribute
from notifications.people.consent.category import Category
from notifications.people.importing.columns import (
    Column,
    as_declared,
    guess,
    validate_mapping,
)
from notifications.people.project import Project
from tests.given.builders import make_project


@pytest.fixture
def shop(db: None) -> Project:
    project = make_project()
    Category.objects.create(project=project, slug="offers", name="Offers")
    return project


def test_names_and_first_cells_tell_what_a_column_means() -> None:
    head = ["User ID", "FCM-Token", "OS", "Lang", "tz", "consent", "category:offers", "Points",
            "postcode", "VIP", "Joined at", "tags", "2nd city", "!!!", "id"]  # fmt: skip
    row = ["u1", "t", "ios", "ko", "UTC", "yes", "no", "12.5", "01234", "true", "2026-01-31",
           "a|b", "Seoul", "x", "9"]  # fmt: skip
    found = [(each.meaning, each.name, each.type) for each in guess(head, [row, row])]
    assert found == [
        ("external_id", "", "text"), ("token", "", "text"), ("platform", "", "text"),
        ("locale", "", "text"), ("timezone", "", "text"), ("subscribed", "", "text"),
        ("category", "offers", "text"), ("attribute", "Points", "number"),
        ("attribute", "postcode", "text"), ("attribute", "VIP", "boolean"),
        ("attribute", "Joined_at", "time"), ("attribute", "tags", "list"),
        ("attribute", "_2nd_city", "text"), ("ignore", "", "text"), ("ignore", "", "text"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "type"),
    [
        ("12 7.5 n/a 40", "number"),
        ("12 7,5 8 40", "number"),
        ("n/a 160,000 2 3 4 5 6 7 8 9", "number"),
        ("2026-01-31 never 2026-02-01 2026.02.02", "time"),
        ("12 n/a 40", "text"),  # too few to tell
        ("12 n/a 40 – 50", "text"),
        ("10115 20095 01067 80331", "text"),
        ("12 14 14a 16", "text"),
        ("yes no maybe yes", "text"),
        ("1 0 1 yes", "boolean"),
    ],
)
def test_one_odd_cell_of_four_or_more_leaves_a_column_of_numbers_one_unless_it_is_a_code(
    cells: str, type: str
) -> None:
    (column,) = guess(["x"], [[cell] for cell in cells.split()])
    assert column.type == type


ID = Column("a", "external_id")
WRONG: dict[str, tuple[list[Column], str, str]] = {
    "no id": ([Column("a", "ignore")], "", "external id"),
    "two ids": ([ID, Column("b", "external_id")], "b", "has the same meaning"),
    "an attribute twice": (
        [ID, Column("b", "attribute", "x"), Column("c", "attribute", "x")], "c", "same meaning",
    ),
    "an attribute no rule could name": ([ID, Column("b", "attribute", "a b")], "b", "letter"),
    "an unknown type": ([ID, Column("b", "attribute", "x", "date")], "b", "“date” is not a type"),
    "an unknown meaning": ([ID, Column("b", "email")], "b", "“email” is not a meaning"),
    "an unknown category": ([ID, Column("b", "category", "news")], "b", "There are: offers"),
    "token without platform": ([ID, Column("b", "token")], "", "platform"),
    "platform without address": ([ID, Column("b", "platform")], "", "token or fid"),
    "token and fid": (
        [ID, Column("b", "token"), Column("c", "fid"), Column("d", "platform")], "", "either",
    ),
    "a time of no answer": ([ID, Column("b", "subscribed_at")], "", "answer"),
    "101 attributes": (
        [ID, *(Column(f"c{n}", "attribute", f"c{n}") for n in range(101))], "", "at most 100",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_an_impossible_mapping_is_refused_by_its_column(shop: Project, case: str) -> None:
    columns, head, said = WRONG[case]
    with pytest.raises(ValidationError) as refused:
        validate_mapping(columns, head=[each.head for each in columns], project_id=shop.pk)
    assert said in refused.value.message_dict[head][0]


def test_a_mapping_must_name_the_columns_of_the_file(shop: Project) -> None:
    with pytest.raises(ValidationError, match="in order"):
        validate_mapping([ID], head=["other"], project_id=shop.pk)


def test_a_valid_mapping_is_accepted(shop: Project) -> None:
    columns: list[Any] = [ID, Column("b", "category", "offers"), Column("c", "subscribed_at")]
    validate_mapping(columns, head=["a", "b", "c"], project_id=shop.pk)


def test_a_declared_type_is_used_whatever_the_cells_look_like(shop: Project) -> None:
    Attribute.objects.create(project=shop, name="postcode", type="text")
    Attribute.objects.create(project=shop, name="joined", type="time")
    head, row = ["id", "postcode", "joined"], ["u1", "1234", "soon"]
    found = as_declared(guess(head, [row]), shop.pk)
    assert [each.type for each in found[1:]] == ["text", "time"]
    validate_mapping(found, head=head, project_id=shop.pk)
    other = [found[0], Column("postcode", "attribute", "postcode", "number"), found[2]]
    with pytest.raises(ValidationError) as refused:
        validate_mapping(other, head=head, project_id=shop.pk)
    assert "The type of “postcode” is declared: Text." in refused.value.message_dict["postcode"][0]
