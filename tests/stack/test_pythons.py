"""`make pythons` finds the Pythons of this machine, and starts the product with each of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests import pythons


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a Python: its folder of commands, with pyenv's versions beside."""
    commands = tmp_path / "bin"
    commands.mkdir()
    monkeypatch.setenv("PATH", str(commands))
    monkeypatch.setattr(pythons, "PYENV", tmp_path / "versions")
    return commands


def install(path: Path, *, works: bool = True) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec {sys.executable if works else "false"} "$@"\n')
    path.chmod(0o755)
    return str(path)


def test_the_python_on_path_comes_first(machine: Path) -> None:
    install(pythons.PYENV / "3.14.1" / "bin" / "python3.14")
    on_path = install(machine / "python3.14")
    assert pythons.find("3.14") == on_path


def test_pyenvs_newest_is_taken_where_the_one_on_path_does_not_start(machine: Path) -> None:
    install(machine / "python3.14", works=False)
    for patch in ("2", "9"):
        install(pythons.PYENV / f"3.14.{patch}" / "bin" / "python3.14")
    newest = install(pythons.PYENV / "3.14.10" / "bin" / "python3.14")
    assert pythons.find("3.14") == newest


def test_a_version_that_the_machine_lacks_is_reported_and_fails_nothing(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pythons.main(["3.14"]) == 0
    assert capsys.readouterr().out == (
        "Python 3.14: not on this machine, skipped.\nPythons: 0 passed, 0 failed, 1 skipped\n"
    )


def test_a_python_that_cannot_start_the_product_fails(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(python: str, version: str) -> None:
        raise pythons.Failed("no wheel for it")

    install(machine / "python3.14")
    monkeypatch.setattr(pythons, "start_product", broken)
    assert pythons.main(["3.14"]) == 1
    assert "Python 3.14: FAILED. no wheel for it" in capsys.readouterr().out


def test_continuous_integration_starts_the_product_with_each() -> None:
    assert "make pythons" in (pythons.CHECKOUT / ".ci" / "run").read_text()
