"""Processes forked by the one that has imported the product: each is as if it had been started."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.stack.answers import http, nothing_to_ask
from config.stack.supervision.forking import Forked, ForkServer
from config.stack.supervision.service import Service
from tests.given.waiting import eventually
from tests.servers.ports import free_ports
from tests.stack.conftest import bare_environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked elsewhere")


class Nest:
    """A server in an environment in which the product cannot be imported: it forks all the same."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = ForkServer(bare_environment(), folder / "preloaded.log")

    def fork(self, *command: str, nice: int = 0) -> Forked:
        argv = (sys.executable, "-m", *command)
        service = Service("bell", argv, {}, nothing_to_ask, nice=nice)
        return self.server.fork(service, self.folder / "bell.log")

    def serve(self) -> Forked:
        """One that stays, and answers."""
        (port,) = free_ports(1)
        forked = self.fork("http.server", str(port), "--bind", "127.0.0.1", nice=3)
        eventually("it answers", http(f"http://127.0.0.1:{port}/"))
        return forked

    def log(self) -> str:
        return (self.folder / "bell.log").read_text()


@pytest.fixture
def nest(tmp_path: Path) -> Iterator[Nest]:
    nest = Nest(tmp_path)
    yield nest
    nest.server.stop()


def test_its_exit_code_and_its_last_words_are_kept(nest: Nest) -> None:
    forked = nest.fork("json.tool", "no such file")
    forked.wait()
    assert forked.returncode == forked.poll() == 2
    assert "no such file" in nest.log()


def test_its_standard_input_is_there_and_empty(nest: Nest) -> None:
    empty = "import os; assert os.path.samestat(os.fstat(0), os.stat(os.devnull))"
    forked = nest.fork("timeit", "-n1", "-r1", empty)
    forked.wait()
    assert forked.returncode == 0, nest.log()


def test_it_leads_a_session_has_its_name_and_ends_by_a_signal(nest: Nest) -> None:
    forked = nest.serve()
    assert forked.poll() is None
    assert os.getsid(forked.pid) == forked.pid
    assert os.getpriority(os.PRIO_PROCESS, forked.pid) == os.getpriority(os.PRIO_PROCESS, 0) + 3
    assert Path(f"/proc/{forked.pid}/cmdline").read_text().startswith("python -m http.server")
    forked.send_signal(signal.SIGTERM)
    forked.wait()
    assert forked.returncode == -signal.SIGTERM


def test_when_the_server_is_killed_its_processes_end_and_another_takes_its_place(
    nest: Nest,
) -> None:
    orphan = nest.serve()
    os.kill(nest.server.process.pid, signal.SIGKILL)
    orphan.wait()
    assert orphan.returncode == -signal.SIGKILL
    eventually("the kernel told it", lambda: not Path(f"/proc/{orphan.pid}").exists())
    assert nest.serve().poll() is None
