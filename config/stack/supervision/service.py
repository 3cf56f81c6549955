"""A long-running process: how it starts, how it is asked to leave, how it proves that it answers.

Every process leads its own session. So Ctrl-C in the terminal reaches the launcher alone, and
whatever the process leaves behind can be ended with it. If the launcher dies, the kernel tells each
process (Linux). What survives even that carries a mark in its environment (see leftovers.py).
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from config.stack import CHECKOUT
from config.stack.supervision.account import Account

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(frozen=True)
class Service:
    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    answers: Callable[[], bool]
    account: Account = field(default_factory=Account)
    # Sent in this order, to the main process only: the children of a Celery worker have SIGTERM at
    # its default and would die in the middle of their work.
    farewell: tuple[signal.Signals, ...] = (signal.SIGTERM,)
    when_orphaned: signal.Signals = signal.SIGTERM
    serves_others: bool = False
    nice: int = 0
    forks: bool = False  # from a process that has imported the product, if any (forking.py)


def spawn(
    service: Service, log: Path, *, stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Start a service. Main thread only: the kernel ties the death signal to the thread."""
    with log.open("ab") as output:
        return subprocess.Popen(
            service.argv,
            env=service.env,
            cwd="/" if service.account.identity else CHECKOUT,
            stdin=stdin,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(_begin, os.getpid(), service),
            **service.account.identity,
        )


def follow(parent: int, last_signal: signal.Signals) -> None:
    """Have the kernel send this process a signal when its parent ends."""
    if LIBC is None:
        return
    LIBC.prctl(PR_SET_PDEATHSIG, last_signal, 0, 0, 0)
    if os.getppid() != parent:  # the parent died before this call
        os._exit(1)


def _begin(launcher: int, service: Service) -> None:
    os.nice(service.nice)
    follow(launcher, service.when_orphaned)
