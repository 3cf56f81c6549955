"""`make run` as a whole: everything answers, a killed process returns, nothing stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from config.stack import CHECKOUT
from config.stack.memory import name_of
from config.stack.secret_values import read_assignments
from config.stack.state import State
from config.stack.supervision.leftovers import processes_of
from tests.stack.conftest import launcher
from tests.stack.running import RunningStack


@pytest.fixture
def stack(state: Path) -> Iterator[RunningStack]:
    stack = RunningStack(state)
    yield stack
    stack.launcher.send_signal(signal.SIGTERM)
    stack.launcher.communicate(timeout=30)


def test_everything_answers_returns_after_a_kill_and_leaves_nothing(stack: RunningStack) -> None:
    stack.read_until("Ctrl-C ends every process")
    shown = "".join(stack.screen)
    values = read_assignments(stack.state / "env")
    assert f"admin / {values['ADMIN_PASSWORD']}" in shown
    assert stack.status("PORT", "/readyz") == 200
    assert stack.status("PORT", "/admin/login/") == 200
    assert stack.status("FLOWER_PORT", "/healthcheck") == 200
    assert stack.status("METRICS_PORT", "/metrics") == 200
    assert stack.status("FEED_PORT", "/healthz") == 200
    assert (stack.state / "env").stat().st_mode & 0o777 == 0o600
    assert set(stack.ports) | {"DATABASE_URL", "REDIS_URL", "WORKERS"} <= values.keys()

    _assert_no_secret_is_shown(stack.state)
    _assert_that_no_two_share_a_socket(stack.state)
    _assert_that_memory_is_shown(stack.state)

    os.kill(_main_process_of("bulk", stack.state), signal.SIGKILL)
    stack.read_until("bulk (pid")
    assert "was ended by SIGKILL" in stack.screen[-1]
    stack.read_until("bulk runs again")

    stack.launcher.send_signal(signal.SIGINT)
    stack.read_until("Every process has ended.")
    assert stack.launcher.wait(timeout=30) == 0
    assert processes_of(stack.state) == []
    assert not (stack.state / "env").exists()


def _main_process_of(name: str, state: Path) -> int:
    """Of those that write into its log the one that leads their session."""
    for pid in processes_of(state):
        if name_of(pid, State(state)) == name and os.getsid(pid) == pid:
            return pid
    raise AssertionError(f"no {name} runs")


def _assert_that_no_two_share_a_socket(state: Path) -> None:
    """A main process and its children may, and share their session. A thread is shared by nobody:
    what it holds at a fork stays held."""
    forker = Path(f"/proc/{_main_process_of('preloaded', state)}/status").read_text()
    assert "Threads:\t1\n" in forker
    sessions = defaultdict(set)
    for pid in processes_of(state):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                if str(file.readlink()).startswith("socket:"):
                    sessions[file.readlink()].add(os.getsid(pid))
    assert sessions
    assert not {socket for socket, holders in sessions.items() if len(holders) > 1}


def _assert_that_memory_is_shown(state: Path) -> None:
    shown = subprocess.check_output(launcher(state, "memory"), cwd=CHECKOUT, text=True)
    rows = {name: rest for name, *rest in map(str.split, shown.splitlines()[1:])}
    assert {"launcher", "postgres", "valkey", "emulator", "flower", "beat"} <= rows.keys()
    assert {"web", "feed", "metrics", "bulk", "urgent", "control", "outgoing"} <= rows.keys()
    count, megabytes = map(int, rows.pop("sum"))
    assert count == sum(int(row[0]) for row in rows.values()) > 20
    assert 300 < megabytes < 900


def _assert_no_secret_is_shown(state: Path) -> None:
    """In a command line, which every user of the machine may read; nor in any log."""
    secrets = {name: value.encode() for name, value in read_assignments(state / "secrets").items()}
    del secrets["FLOWER_USER"]
    processes = processes_of(state)
    assert len(processes) > 8
    for pid in processes:
        argv = Path(f"/proc/{pid}/cmdline").read_bytes()
        assert not [name for name, value in secrets.items() if value in argv], argv
    logs = list((state / "log").glob("*.log"))
    assert len(logs) > 8
    for log in logs:
        said = log.read_bytes()
        assert not [name for name, value in secrets.items() if value in said], log
    flower = Path(f"/proc/{_main_process_of('flower', state)}/environ").read_bytes()
    for name in ("SECRET_KEY", "CREDENTIALS_KEY", "DATABASE_PASSWORD", "POSTGRES_PASSWORD"):
        assert secrets[name] not in flower, name
