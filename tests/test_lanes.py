"""What the lanes are told of files holds for files that are there."""

from __future__ import annotations

from pathlib import Path

from tests.lanes import LONG


def test_a_file_that_is_begun_first_is_there() -> None:
    gone = [file for file in LONG if not (Path(__file__).parent / file).is_file()]
    assert gone == [], "they have moved: say where to, in lanes.py"
