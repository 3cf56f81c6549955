from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import venv
import zipfile
from hashlib import sha256
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


@pytest.fixture(scope="module")
def empty_venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("venv") / ".venv"
    venv.create(folder, with_pip=True)
    return folder


@pytest.fixture
def with_venv(checkout: Path, empty_venv: Path) -> Path:
    """A checkout with an empty .venv. Creating one takes four seconds, so it is copied."""
    shutil.copytree(empty_venv, checkout / ".venv", symlinks=True, copy_function=os.link)
    return checkout


def run_where(
    condition: str, checkout: Path, commands: Path | None = None
) -> subprocess.CompletedProcess[str]:
    program = (
        f"import runpy, sys; {condition}; sys.argv = ['bootstrap.py', 'lock.txt']; "
        f"runpy.run_path({str(checkout / SCRIPT)!r}, run_name='__main__')"
    )
    return subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": str(commands or "")},
        capture_output=True,
        text=True,
        check=False,
    )


def bootstrap_on_a_machine_where(condition: str, checkout: Path) -> str:
    ended = run_where(condition, checkout)
    assert ended.returncode == 1
    return ended.stderr


def test_an_old_python_is_told_what_is_needed(checkout: Path) -> None:
    told = bootstrap_on_a_machine_where(OLD_PYTHON, checkout)
    assert told.startswith("carillon: Python 3.11 or newer is needed;")
    assert "is Python 3.9.2" in told
    assert "make run PYTHON=" in told


def test_an_old_python_hands_over_to_the_newest_that_starts(checkout: Path) -> None:
    commands = checkout / "bin"
    commands.mkdir()
    for name, runs in {"python3.14": "false", "python3.13": sys.executable}.items():
        # pyenv has a command for each version, and fails where that is not chosen.
        (commands / name).write_text(f'#!/bin/sh\nexec {runs} "$@"\n')
        (commands / name).chmod(0o755)
    ended = run_where(OLD_PYTHON, checkout, commands)
    assert ended.returncode == 0, ended.stderr
    assert (checkout / ".venv" / "bin" / "python").exists()


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


def test_a_change_in_any_of_several_lock_files_installs_them_all_again(with_venv: Path) -> None:
    (with_venv / "more.txt").touch()

    def bootstrap() -> str:
        command = [sys.executable, str(with_venv / SCRIPT), "lock.txt", "more.txt"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert "Installing lock.txt, more.txt into .venv" in bootstrap()
    assert bootstrap() == ""
    for changed in ("lock.txt", "more.txt"):
        (with_venv / changed).write_text("# another\n")
        assert "Installing lock.txt, more.txt into .venv" in bootstrap()
    assert bootstrap() == ""


def test_a_venv_is_made_once_and_made_again_when_its_interpreter_is_gone(checkout: Path) -> None:
    def bootstrap() -> str:
        command = [sys.executable, str(checkout / SCRIPT), "lock.txt"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert "Installing lock.txt" in bootstrap()
    assert bootstrap() == ""
    (checkout / ".venv" / "bin" / "python").unlink()
    assert "Installing lock.txt" in bootstrap()
    assert os.access(checkout / ".venv" / "bin" / "python", os.X_OK)


def test_a_terminal_shows_how_many_packages_are_there(with_venv: Path) -> None:
    (with_venv / "lock.txt").write_text(
        "".join(
            f"{name}==1 --hash=sha256:{make_package(with_venv, name)}\n"
            for name in ("bell", "tower")
        )
    )
    leader, follower = pty.openpty()
    ended = subprocess.run(
        [sys.executable, str(with_venv / SCRIPT), "lock.txt"],
        env={"PATH": "", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(with_venv)},
        stdout=follower,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    screen = os.read(leader, 100_000).decode()
    assert "Fetched 1 of 2 packages." in screen and "Fetched 2 of 2 packages." in screen
    assert "Installed " in screen
    assert list(with_venv.glob(".venv/lib/*/site-packages/tower-1.dist-info"))


def make_package(folder: Path, name: str) -> str:
    """A wheel with nothing in it but its description; its hash."""
    path, about = folder / f"{name}-1-py3-none-any.whl", f"{name}-1.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return sha256(path.read_bytes()).hexdigest()
