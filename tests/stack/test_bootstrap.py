from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from config.stack import CHECKOUT

SCRIPT = Path("config") / "stack" / "bootstrap.py"
OLD_PYTHON = "sys.version_info = (3, 9, 2, 'final', 0)"
NO_VENV = "sys.modules['ensurepip'] = None"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A fresh clone with an empty lock file: nothing to download."""
    (tmp_path / SCRIPT).parent.mkdir(parents=True)
    shutil.copy(CHECKOUT / SCRIPT, tmp_path / SCRIPT)
    (tmp_path / "lock.txt").touch()
    return tmp_path


def bootstrap_on_a_machine_where(condition: str, checkout: Path) -> str:
    program = (
        f"import runpy, sys; {condition}; sys.argv = ['bootstrap.py', 'lock.txt']; "
        f"runpy.run_path({str(checkout / SCRIPT)!r}, run_name='__main__')"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    return ended.stderr


def test_an_old_python_is_told_what_is_needed(checkout: Path) -> None:
    told = bootstrap_on_a_machine_where(OLD_PYTHON, checkout)
    assert told.startswith("carillon: Python 3.11 or newer is needed;")
    assert "is Python 3.9.2" in told
    assert "make run PYTHON=" in told


def test_a_missing_venv_module_is_named_as_debians_package(checkout: Path) -> None:
    told = bootstrap_on_a_machine_where(NO_VENV, checkout)
    assert f"apt-get install python3.{sys.version_info[1]}-venv" in told
    assert not (checkout / ".venv").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_of_somebody_else_is_named(checkout: Path) -> None:
    checkout.chmod(0o500)
    told = bootstrap_on_a_machine_where("pass", checkout)
    checkout.chmod(0o700)
    assert (
        told == f"carillon: {checkout} is not writable for you. Work in a checkout of your own.\n"
    )


def test_a_venv_is_made_once_and_made_again_when_its_interpreter_is_gone(checkout: Path) -> None:
    def bootstrap() -> str:
        command = [sys.executable, str(checkout / SCRIPT), "lock.txt"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert "Installing lock.txt" in bootstrap()
    assert bootstrap() == ""
    (checkout / ".venv" / "bin" / "python").unlink()
    assert "Installing lock.txt" in bootstrap()
    assert os.access(checkout / ".venv" / "bin" / "python", os.X_OK)
