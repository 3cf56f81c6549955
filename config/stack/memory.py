"""`memory`: shows how much the processes of a running stack hold, by the name of their log (Linux).

It counts proportional shares (PSS): what several processes share counts once in the sum.
"""

from __future__ import annotations

import fcntl
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path

from config.stack import StackError
from config.stack.state import State

PROC = Path("/proc")


def memory(folder: Path) -> int:
    state = State(folder.resolve())
    megabytes, processes = defaultdict[str, float](float), Counter[str]()
    for pid in family(launcher_of(state)):
        with suppress(OSError):  # it has just ended
            name = name_of(pid, state)
            megabytes[name] += _pss_kb(pid) / 1024
            processes[name] += 1
    print(f"{'':<12}{'processes':>10}{'PSS, MB':>10}")
    for name, size in sorted(megabytes.items(), key=lambda pair: -pair[1]):
        print(f"{name:<12}{processes[name]:>10}{size:>10.0f}")
    print(f"{'sum':<12}{processes.total():>10}{sum(megabytes.values()):>10.0f}")
    return 0


def launcher_of(state: State) -> int:
    """The pid of the process that holds the folder's lock."""
    with suppress(FileNotFoundError), (state.path / "lock").open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return int(lock.read())
    raise StackError(f"Nothing runs in {state.path}. Start it with `make run`.")


def family(pid: int) -> list[int]:
    """The pids of a process and all its descendants."""
    children = [
        int(child)
        for path in (PROC / str(pid) / "task").glob("*/children")
        for child in path.read_text().split()
    ]
    return [pid, *(descendant for child in children for descendant in family(child))]


def name_of(pid: int, state: State) -> str:
    """The name of the log that a process writes into.

    It is the log of the process that the launcher started.
    """
    output = (PROC / str(pid) / "fd" / "1").readlink()
    return output.name.partition(".")[0] if output.parent == state.logs else "launcher"


def _pss_kb(pid: int) -> int:
    lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
