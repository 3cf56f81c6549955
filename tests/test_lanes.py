"""What the lanes are told of files holds for files that are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lanes import LONG


@pytest.mark.parametrize("file", LONG)
def test_a_file_that_is_begun_first_is_there(file: str) -> None:
    assert (Path(__file__).parent / file).is_file(), f"{file} has moved: say where to, in lanes.py"
