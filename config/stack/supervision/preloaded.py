"""`python -m config.stack.supervision.preloaded`: imports the product, then forks its processes.

Its standard input is a socket to the launcher (forking.py). An order to fork comes in. Out go the
pid, and the exit code once that process has ended. When it forks, it has no other connection, no
thread and no event loop that a process could share.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

from setproctitle import setproctitle

from config.stack.supervision.forking import LONGEST
from config.stack.supervision.service import follow


def main() -> None:
    # Garbage collection finds none in modules, and would write to the memory that is to be shared.
    gc.disable()
    with suppress(
        Exception, SystemExit
    ):  # the process that needs it meets the error too, and its log says so
        import_module("config.preload")
    gc.collect()
    gc.freeze()
    gc.enable()
    server = os.getpid()
    # A copy, so that file 0 stays open in a forked process after it has closed this socket.
    if order := serve(socket.socket(fileno=os.dup(sys.stdin.fileno()))):
        become(order, server)


def serve(launcher: socket.socket) -> dict[str, Any] | None:
    """Fork a process for each order, until the launcher ends.

    Returns the order in each forked process, and None in the server.
    """

    def report(*_: object) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                tell(pid=ended[0], code=os.waitstatus_to_exitcode(ended[1]))

    def tell(**what: int) -> None:
        launcher.send(json.dumps(what).encode())

    tell()
    signal.signal(signal.SIGCHLD, report)
    while order := launcher.recv(LONGEST):
        if pid := os.fork():
            tell(pid=pid)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        launcher.close()
        return dict(json.loads(order))
    return None


def become(order: dict[str, Any], server: int) -> None:
    """Turn into the ordered process, as if `python -m` had started it."""
    os.setsid()
    with open(os.devnull) as nothing, open(order["log"], "ab") as output:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    follow(server, signal.Signals(order["orphaned"]))
    os.nice(order["nice"])
    sys.argv = order["argv"]
    setproctitle(f"python -m {' '.join(sys.argv)}")
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
