"""A file that is refused row after row: it ends soon, says where to look, and fills no disk."""

from __future__ import annotations

import csv

import pytest

from notifications.people.importing import import_worker, refused, staging
from notifications.people.importing.model import Import
from notifications.people.project import Project
from tests.given.builders import make_project
from tests.given.importing import bring_in, reasons


@pytest.fixture
def shop(db: None) -> Project:
    return make_project()


def test_an_open_quote_before_invalid_rows_ends_the_import_by_its_line(
    shop: Project,
) -> None:
    one = bring_in(shop, 'external_id,plan\nq1,"' + "x\n" * 20_000)
    assert one.state == Import.State.FAILED
    assert "Is a quote open at line 2?" in one.problem
    assert not one.refusals.exists() and not one.parts.exists()


def test_an_open_quote_far_down_ends_the_import_too(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_worker, "BYTES_AT_ONCE", 4_096)
    one = bring_in(shop, 'external_id,plan\nu1,gold\nu2,"' + "x\n" * 20_000)
    assert one.state == Import.State.FAILED
    assert "Is a quote open at line 3?" in one.problem


def test_a_file_without_a_valid_row_ends_with_the_first_reason(shop: Project) -> None:
    one = bring_in(shop, "external_id,timezone\n" + "u1,Nowhere\n" * 10_000)
    assert one.state == Import.State.FAILED
    assert "first 10,000 rows is valid" in one.problem and "Line 2" in one.problem
    assert "Nowhere" in one.problem


def test_one_valid_row_lets_the_file_go_on(shop: Project) -> None:
    one = bring_in(shop, "external_id,timezone\n" + "u1,Nowhere\n" * 10_000 + "u2,UTC\n")
    assert (one.state, one.counts["created"], one.refused) == ("finished", 1, 10_000)


def test_refused_rows_beyond_the_most_are_counted_and_not_kept(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "MAX_REFUSED", 3)
    monkeypatch.setattr(import_worker, "BYTES_AT_ONCE", 30)
    one = bring_in(shop, "external_id,timezone\nu0,UTC\n" + "u1,Nowhere\n" * 8)
    assert (one.state, one.refused) == ("finished", 8)
    assert list(reasons(one)) == [3, 4, 5]
    *_, last = csv.reader(refused.lines(one))
    assert last[2] == "5 further rows were refused; only the first 3 are kept."
    assert len(last) == 5 and not any(last[:2] + last[3:])
