"""What fails beside the tests fails with them, and is shown below them."""

from __future__ import annotations

import sys

import pytest

from tests import checks

GOOD = (sys.executable, "-c", "print('all is well')")
BAD = (sys.executable, "-c", "raise SystemExit('a line too long')")


@pytest.mark.parametrize(
    ("tests", "check", "code"),
    [(0, GOOD, 0), (0, BAD, 1), (5, GOOD, 5), (5, BAD, 5), (None, BAD, 1)],
)
def test_either_fails_the_whole(
    tests: int | None, check: tuple[str, ...], code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    beside = [] if tests is None else [sys.executable, "-c", f"print('tests'); exit({tests})"]
    assert checks.main(beside, {"imports": GOOD, "lint": check}) == code
    said = capfd.readouterr().out
    assert said.startswith("tests\n" * bool(beside) + "--- imports: all is well\n--- lint")
    assert ("--- lint failed\na line too long\n\n--- failed: lint\n" in said) == (check == BAD)


def test_an_interrupt_reaches_the_checks_too() -> None:
    """They stay in the terminal's foreground, and so does what runs beside them."""
    alone = (sys.executable, "-c", "import os; exit(os.getpgrp() == os.getpid())")
    assert checks.main([*alone], {"lint": alone}) == 0
