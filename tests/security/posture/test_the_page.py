"""What docs/security.md says of our tests, and of the standard, stays true."""

from __future__ import annotations

import re

import pytest

from tests.config.manage_check import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text()
# OWASP ASVS 5.0.0, Level 1: the sections, and the numbers within each.
LEVEL_1 = {
    "1.2": (1, 2, 3, 4, 5), "1.3": (1, 2), "1.5": (1,),
    "2.1": (1,), "2.2": (1, 2), "2.3": (1,),
    "3.2": (1, 2), "3.3": (1,), "3.4": (1, 2), "3.5": (1, 2, 3),
    "4.1": (1,), "4.4": (1,),
    "5.2": (1, 2), "5.3": (1, 2),
    "6.1": (1,), "6.2": (1, 2, 3, 4, 5, 6, 7, 8), "6.3": (1, 2), "6.4": (1, 2),
    "7.2": (1, 2, 3, 4), "7.4": (1, 2),
    "8.1": (1,), "8.2": (1, 2), "8.3": (1,),
    "9.1": (1, 2, 3), "9.2": (1,),
    "10.4": (1, 2, 3, 4, 5),
    "11.3": (1, 2), "11.4": (1,),
    "12.1": (1,), "12.2": (1, 2),
    "13.4": (1,),
    "14.2": (1,), "14.3": (1,),
    "15.1": (1,), "15.2": (1,), "15.3": (1,),
}  # fmt: skip
STANDINGS = {"met", "in part", "not met", "yours", "n/a"}


def rows() -> dict[str, tuple[str, str]]:
    """Of the ASVS table: each requirement with its standing and what is said of it."""
    table = PAGE.partition("| Row |")[2].partition("\n\n")[0]
    found = re.findall(r"^\| (\d[^|]*) \| ([^|]*) \| ([^|]*) \|$", table, re.MULTILINE)
    return {
        one: (standing, said)
        for named, standing, said in found
        for one in re.findall(r"\d+\.\d+\.\d+", named)
    }


def test_every_requirement_of_level_1_has_its_row() -> None:
    wanted = {f"{section}.{number}" for section, numbers in LEVEL_1.items() for number in numbers}
    assert len(wanted) == 70
    assert rows().keys() == wanted


def test_every_row_says_where_it_stands() -> None:
    assert {standing for standing, _ in rows().values()} <= STANDINGS
    silent = [one for one, (_, said) in rows().items() if not said.strip()]
    assert silent == []


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(tests/[^`]+\.py)`", PAGE))))
def test_a_test_that_is_named_is_there(path: str) -> None:
    found = list(ROOT.glob(path.replace("….py", "*.py")))
    assert found, f"docs/security.md names {path}"
