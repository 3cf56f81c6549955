"""What fails beside the tests fails with them, and is shown below them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests import checks
from tests.clients import lint, tools

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


def test_without_npm_the_schema_is_not_linted_and_nobody_is_kept_from_working(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lint, "make_schema", lambda: None)
    monkeypatch.setenv("PATH", "")
    assert lint.main() == 0
    assert "NOT LINTED, there is no npm here" in capsys.readouterr().out


def test_without_a_registry_it_is_not_linted_either(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\nexit 1\n")
    npm.chmod(0o700)
    monkeypatch.setattr(lint, "make_schema", lambda: None)
    monkeypatch.setattr(tools, "PLACE", tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert lint.main() == 0
    assert "NOT LINTED, its linter could not be installed" in capsys.readouterr().out
