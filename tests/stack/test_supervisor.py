from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.stack import StackError
from config.stack.answers import nothing_to_ask
from config.stack.supervision.logs import LogFolder
from config.stack.supervision.service import Service
from config.stack.supervision.supervisor import Supervisor
from tests.given.waiting import eventually

# A main process with a child in its session, as a Celery worker has; both write down their signals.
# A line is one write: print() in an unbuffered Python makes several, and the two would mix.
FAMILY = """
import os, signal, sys, time
role = "child" if os.fork() == 0 else "main"
def note(word):
    os.write(1, f"{role} {word}\\n".encode())
def end(number, frame):
    note(signal.Signals(number).name)
    sys.exit()
signal.signal(signal.SIGTERM, end)
note(os.getpid())
time.sleep(300)
"""


class Bell:
    """A supervisor, what it says, and what its processes wrote."""

    def __init__(self, folder: Path) -> None:
        self.said: list[str] = []
        self.supervisor = Supervisor(LogFolder(folder), self.said.append)

    def start(self, code: str, name: str = "bell") -> None:
        command = (sys.executable, "-c", code)
        self.supervisor.start([Service(name, command, dict(os.environ), nothing_to_ask)])

    def log(self, name: str = "bell") -> list[str]:
        return self.supervisor.logs.path(name).read_text().splitlines()

    def pid(self, name: str = "bell") -> int:
        return self.supervisor.children[name].process.pid


@pytest.fixture
def bell(tmp_path: Path) -> Iterator[Bell]:
    bell = Bell(tmp_path)
    yield bell
    bell.supervisor.stop()


def test_a_killed_process_is_started_again_with_a_line_that_says_so(bell: Bell) -> None:
    bell.start("import time; time.sleep(300)")
    first = bell.pid()
    os.kill(first, signal.SIGKILL)

    def back() -> bool:
        bell.supervisor.tend()
        return bell.pid() != first

    eventually("it runs again", back)
    assert bell.said[0].startswith(
        f"bell (pid {first}) was ended by SIGKILL. Starting it again in 1 s"
    )
    assert bell.said[1] == f"bell runs again (pid {bell.pid()})."


def test_the_pause_before_a_restart_grows(bell: Bell) -> None:
    bell.start("raise SystemExit(3)")

    def mourned_twice() -> bool:
        bell.supervisor.tend()
        return len([line for line in bell.said if "ended with code 3" in line]) == 2

    eventually("it ended twice", mourned_twice)
    assert "again in 1 s" in bell.said[0]
    assert "again in 2 s" in bell.said[-1]


def test_children_of_a_killed_main_process_do_not_live_on(bell: Bell) -> None:
    bell.start(FAMILY)
    eventually("both have said so", lambda: len(bell.log()) == 2)
    child = next(int(line.split()[1]) for line in bell.log() if line.startswith("child"))
    os.kill(bell.pid(), signal.SIGKILL)

    def orphan_gone() -> bool:
        bell.supervisor.tend()
        return not Path(f"/proc/{child}").exists() or _is_zombie(child)

    eventually("the orphan is gone", orphan_gone)


def test_sigterm_reaches_the_main_process_only(bell: Bell) -> None:
    bell.start(FAMILY)
    eventually("both have said so", lambda: len(bell.log()) == 2)
    bell.supervisor.stop()
    assert "main SIGTERM" in bell.log()
    assert "child SIGTERM" not in bell.log()


def test_a_process_that_ends_before_it_answers_shows_its_last_words(bell: Bell) -> None:
    bell.start("raise SystemExit('no such table')")
    eventually("it ends", lambda: not bell.supervisor.children["bell"].alive)
    with pytest.raises(StackError, match=r"(?s)bell .* ended with code 1.*no such table"):
        bell.supervisor.await_answers(["bell"], seconds=30)


def test_the_log_of_the_last_start_is_kept_beside_the_new_one(bell: Bell, tmp_path: Path) -> None:
    for word in ("first", "second"):
        bell.start(f"print({word!r}, flush=True); import time; time.sleep(300)")
        eventually("it speaks", lambda: bell.log())
        bell.supervisor.stop()
    assert (tmp_path / "bell.log").read_text() == "second\n"
    assert (tmp_path / "bell.log.1").read_text() == "first\n"


def _is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
