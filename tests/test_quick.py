"""What `make quick` chooses."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from tests import lanes, quick
from tests.quick import ROOT, TESTS, Map, Unit, is_test, mirror, split, units


@pytest.mark.parametrize(
    ("file", "folder"),
    [
        ("campaigns/audiences/rules.py", "audiences"),
        ("campaigns/audiences/pages/builder.py", "audiences/pages"),
        ("templates/admin/campaigns/audience/change_form.html", "audiences/pages"),
        ("config/stack/servers/postgres.py", "stack"),
        ("config/boot/address.py", "config"),
        ("emulator/wire.py", "emulator"),
    ],
)
def test_the_tests_of_a_file_lie_where_its_folders_are_named(file: str, folder: str) -> None:
    assert mirror(ROOT / file) == TESTS / folder


@pytest.mark.parametrize(
    "file", ["README.md", "campaigns/runs/run.py", "templates/404.html", "tests.md"]
)
def test_some_files_have_no_folder_of_tests(file: str) -> None:
    assert mirror(ROOT / file) is None


def test_what_imports_a_file_is_near_and_what_depends_on_that_is_farther() -> None:
    found = Map().of([ROOT / "campaigns" / "audiences" / "rules.py"])
    assert found[TESTS / "audiences" / "test_rules.py"] == 1
    assert found[TESTS / "api" / "test_campaigns.py"] > 1
    assert TESTS / "emulator" / "test_follower.py" not in found


def test_a_file_that_is_not_python_concerns_those_that_name_it() -> None:
    found = Map().of([ROOT / "config" / "middleware" / "rate_limits.lua"])
    assert found[TESTS / "test_quick.py"] == 1


def test_a_conftest_concerns_all_tests_below_it() -> None:
    found = Map().of([TESTS / "feed" / "conftest.py"])
    assert found.keys() >= set((TESTS / "feed").glob("test_*.py"))


def test_a_test_that_was_changed_comes_first_and_one_that_is_gone_does_not() -> None:
    here = Path(__file__)
    assert Map().of([here, here.with_name("test_gone.py")]) == {here: 0}


def test_the_core_that_any_change_runs_is_there() -> None:
    assert [name for name in quick.CORE if not is_test(TESTS / name)] == []
    assert [name for name in quick.CORE if not (TESTS / name).is_file()] == []


def test_the_nearest_come_first_and_of_those_the_quickest() -> None:
    near, far = TESTS / "test_quick.py", TESTS / "test_lanes.py"
    took = {
        "tests/test_lanes.py::test_far": 0.1,
        "tests/test_quick.py::test_slow": 3.0,
        "tests/test_quick.py::test_quick": 1.0,
        "tests/test_house.py::test_of_no_concern": 0.1,
    }
    turns = units({near: 1, far: 2}, took)
    assert [unit.name.rpartition("::")[2] for unit in turns] == [
        "test_quick",
        "test_slow",
        "test_far",
    ]


def test_a_file_of_which_nothing_has_run_here_is_one_guess() -> None:
    file = TESTS / "test_house.py"
    (unit,) = units({file: 1}, {})
    assert (unit.file, unit.name) == (file, "")
    assert unit.seconds > quick.GUESS


def test_what_does_not_fit_into_the_time_is_left_out() -> None:
    turns = [Unit(0, seconds, TESTS, str(seconds)) for seconds in (1.0, 2.0, 4.0)]
    fits, left_out = split(turns, 3.0 / quick.LANES)
    assert ([unit.seconds for unit in fits], [unit.seconds for unit in left_out]) == ([1, 2], [4])


def test_of_the_last_two_times_the_shorter_one_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick, "DURATIONS", tmp_path / "durations.json")
    here, gone = "tests/test_quick.py::test_one", "tests/test_gone.py::test_one"
    assert quick.durations() == {}
    for seconds in (1.0, 3.0, 2.0):
        quick.remember({here: seconds, gone: seconds})
    assert quick.durations()[here] == 2.0
    quick.remember({})
    assert quick.durations() == {here: 2.0}


def test_single_tests_are_left_out_of_a_file(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed, items = tmp_path / "left-out", list(request.session.items)
    listed.write_text(request.node.nodeid)
    monkeypatch.setenv(quick.LEFT_OUT, str(listed))
    lanes.pytest_collection_modifyitems(Mock(), items)
    assert {*request.session.items} - {*items} == {request.node}


def test_a_name_that_is_nowhere_is_refused() -> None:
    with pytest.raises(SystemExit, match="IN=campaigns/nowhere: there is no such file or folder"):
        quick.main(["campaigns/nowhere"])
