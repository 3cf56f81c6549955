from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.stack import CHECKOUT
from config.stack.supervision.leftovers import MARK, end_leftovers, processes_of
from tests.stack.conftest import Launch, bare_environment, launcher

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

STUBBORN = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(300)
"""


@pytest.fixture
def survivor(state: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of a stack whose launcher is gone; it does not react to SIGINT."""
    process = subprocess.Popen(
        [sys.executable, "-c", STUBBORN], env={MARK: str(state)}, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"deaf\n"
    yield process
    process.kill()
    process.communicate()


def test_a_survivor_is_ended_whatever_it_thinks_of_it(
    state: Path, survivor: subprocess.Popen[bytes]
) -> None:
    assert end_leftovers(state, patience=0.2) == 1
    assert survivor.wait(timeout=5) == -signal.SIGKILL


def test_a_process_of_another_stack_is_left_alone(
    state: Path, survivor: subprocess.Popen[bytes]
) -> None:
    assert end_leftovers(state.with_name(state.name + "-other"), patience=0.2) == 0
    assert survivor.poll() is None


def test_after_a_killed_launcher_nothing_survives_and_the_next_start_is_clean(
    state: Path, exec_beside: Launch
) -> None:
    first = subprocess.Popen(
        launcher(state, "exec", "--", "sh", "-c", "echo started; exec sleep 300"),
        cwd=CHECKOUT,
        env=bare_environment(),
        stdout=subprocess.PIPE,
    )
    assert first.stdout is not None
    assert first.stdout.readline() == b"started\n"
    servers_and_command = processes_of(state)
    assert len(servers_and_command) >= 3
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    first.stdout.close()

    assert exec_beside("true").returncode == 0
    assert processes_of(state) == []
