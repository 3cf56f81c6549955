"""Lists come in pages, newest first, and a cursor is taken back only as it was given."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

import pytest

from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_audience, make_run, make_template

LISTS = ["audiences", "templates", "campaigns", "runs"]


def path_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path.removeprefix('/api/v1/')}?{parts.query}"


def test_every_row_is_on_one_page(alice: Caller, ours: Project) -> None:
    made = [make_audience(ours).pk for _ in range(5)]
    first = alice.get("audiences?limit=2").json()
    assert first["next"].startswith("http://testserver/api/v1/audiences?")
    make_audience(ours)  # one that comes meanwhile neither shifts nor repeats a row
    second = alice.get(path_of(first["next"])).json()
    third = alice.get(path_of(second["next"])).json()
    pages = (first, second, third)
    assert [row["id"] for page in pages for row in page["results"]] == sorted(made, reverse=True)
    assert third["next"] is None


@pytest.mark.parametrize("name", LISTS)
def test_an_empty_list_is_a_list(alice: Caller, name: str) -> None:
    assert alice.get(name).json() == {"results": [], "next": None}


def test_lists_show_the_own_project_only(alice: Caller, charlie: Caller) -> None:
    make_run(charlie.project)
    for name in LISTS:
        assert alice.get(name).json()["results"] == []


@pytest.mark.parametrize("cursor", ["", "7", "7:abc", "%00", "x" * 5_000, "é"])
@pytest.mark.parametrize("name", LISTS)
def test_a_cursor_that_was_made_up_is_refused(alice: Caller, name: str, cursor: str) -> None:
    response = alice.get(f"{name}?cursor={quote(cursor)}")
    assert response.status_code == 400
    assert fields_at_fault(response) == ["cursor"]


def test_a_cursor_that_was_changed_or_is_of_another_list_is_refused(
    alice: Caller, ours: Project
) -> None:
    for _ in range(2):
        make_template(ours)
    url = path_of(alice.get("templates?limit=1").json()["next"])
    assert alice.get(url).status_code == 200
    number, _, signature = url.partition("cursor=")[2].partition("%3A")
    forged = url.replace(number, f"{int(number) + 1}", 1)
    assert alice.get(forged).status_code == 400
    assert alice.get(f"audiences?cursor={number}%3A{signature}").status_code == 400


@pytest.mark.parametrize("limit", ["0", "501", "-1", "x", "", "1e2", "٣", "9" * 5_000])
def test_a_limit_out_of_bounds_is_refused(alice: Caller, limit: str) -> None:
    response = alice.get(f"runs?limit={quote(limit)}")
    assert response.status_code == 400
    assert fields_at_fault(response) == ["limit"]
