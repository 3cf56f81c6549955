"""Servers that stay up between commands: shared, and gone when nobody wants them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config.stack import CHECKOUT
from config.stack.servers import kept_servers
from config.stack.state import State, claim
from config.stack.supervision.leftovers import processes_of
from config.stack.supervision.logs import LogFolder
from config.stack.supervision.supervisor import Supervisor
from tests.given.waiting import eventually
from tests.stack.conftest import bare_environment, launcher, state_folder

SINCE = """
import os, psycopg
with psycopg.connect(os.environ["DATABASE_URL"]) as db:
    print(db.execute("SELECT pg_postmaster_start_time()").fetchone()[0])
"""
Exec = Callable[..., subprocess.Popen[str]]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """With one cluster for all of these tests."""
    with state_folder() as folder:
        yield folder


@pytest.fixture
def begin(folder: Path) -> Iterator[Exec]:
    """A command beside servers that stay up until the test ends."""

    def begin(*command: str, **environ: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            launcher(folder, "exec", "--keep", "--", *command),
            cwd=CHECKOUT,
            env=bare_environment(**environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    yield begin
    kept_servers.stop(folder)


def said(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output


def keeper(folder: Path) -> int:
    return int((folder / "lock").read_text())


def test_the_next_command_finds_them_as_they_were_and_stop_ends_them(
    folder: Path, begin: Exec
) -> None:
    first, second = (said(begin(sys.executable, "-c", SINCE)) for _ in range(2))
    plain = launcher(folder, "exec", "--", sys.executable, "-c", SINCE)
    third = subprocess.check_output(plain, cwd=CHECKOUT, env=bare_environment(), text=True)
    assert first == second == third
    subprocess.run(launcher(folder, "stop"), cwd=CHECKOUT, env=bare_environment(), check=True)
    assert processes_of(folder) == []


def test_commands_that_begin_together_share_them_and_each_leaves_nothing(
    folder: Path, begin: Exec
) -> None:
    stays = [begin("sh", "-c", "echo begun; exec cat") for _ in range(2)]
    for process in stays:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
    leaves = begin("setsid", "--fork", "sleep", "300")
    said(leaves)
    assert processes_of(folder, command=str(leaves.pid)) == []
    for process in stays:
        assert processes_of(folder, command=str(process.pid)) != []
        said(process)


def test_who_keeps_them_takes_them_along_when_killed_and_another_begins_anew(
    folder: Path, begin: Exec
) -> None:
    first = said(begin(sys.executable, "-c", SINCE))
    os.kill(keeper(folder), signal.SIGKILL)
    assert said(begin(sys.executable, "-c", SINCE)) > first


def test_they_end_with_their_folder(folder: Path, begin: Exec) -> None:
    said(begin("true"))
    State(folder).env_file.unlink()  # as `rm -r` of the checkout would
    eventually("they have ended", lambda: processes_of(folder) == [])


def test_they_end_when_nobody_has_used_them_for_long(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_servers, "HOUR", 0.0)
    with claim(folder) as state:
        state.env_file.touch()
        kept_servers.tend_while_used(Supervisor(LogFolder(state.logs), print), state)


def test_they_are_not_started_where_a_command_has_its_own(folder: Path, begin: Exec) -> None:
    with claim(folder):
        process = begin("true")
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    expected = f"{folder} is in use by pid {os.getpid()}. Stop that stack first."
    assert errors == f"carillon: {expected}\n"


def test_servers_that_the_environment_names_are_used_instead(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_servers.start(state, os.environ)
    assert not (state / kept_servers.KEPT).exists()
    with kept_servers.used(state, os.environ) as exports:
        assert exports == {}
