"""`exec -- COMMAND`: runs a command with a PostgreSQL and a Valkey, and leaves no process behind.

Tests and benchmarks use it. The data and the secrets stay in the state folder. With `--keep` the
two servers stay up as well.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from config.stack import StackError, shared_environment
from config.stack.screen import complain
from config.stack.secret_values import secret_values
from config.stack.servers import kept_servers
from config.stack.servers.servers import start_servers
from config.stack.state import State, claim
from config.stack.supervision.leftovers import COMMAND, end_leftovers
from config.stack.supervision.logs import LogFolder
from config.stack.supervision.supervisor import StopRequested, Supervisor


def execute(folder: Path, command: Sequence[str], *, keep: bool = False) -> int:
    """Run the command. Returns its exit code, or 128 + the signal's number if a signal ended it.

    It uses the servers that are kept for this folder. With `keep`, it starts them to be kept.
    """
    if keep and kept_servers.start(folder, os.environ):
        complain(f"PostgreSQL and Valkey stay up in {folder}, at most an hour without use.")
    with kept_servers.used(folder, os.environ) as exports:
        if exports:
            return _run_beside_kept(State(folder.resolve()), command, exports)
    return _run_beside_own(folder, command)


def _run_beside_kept(state: State, command: Sequence[str], exports: dict[str, str]) -> int:
    """Run it with kept servers, and end only its own processes: another command may be running."""
    supervisor = Supervisor(LogFolder(state.logs), complain)
    supervisor.listen()
    name = str(os.getpid())
    try:
        return _attend(supervisor, command, _environment(state, exports) | {COMMAND: name})
    finally:
        end_leftovers(state.path, command=name)


def _run_beside_own(folder: Path, command: Sequence[str]) -> int:
    with claim(folder) as state:
        end_leftovers(state.path)
        supervisor = Supervisor(LogFolder(state.logs), complain)
        supervisor.listen()
        try:
            secrets = secret_values(state.path / "secrets", os.environ)
            urls = start_servers(supervisor, state, secrets, os.environ, for_tests=True)
            return _attend(
                supervisor, command, _environment(state, shared_environment.shared(secrets, urls))
            )
        except StopRequested:
            return 128 + supervisor.last_signal
        finally:
            supervisor.stop()
            end_leftovers(state.path)


def _environment(state: State, exports: dict[str, str]) -> dict[str, str]:
    kind = {"CARILLON_ENV": os.environ.get("CARILLON_ENV") or "test"}
    return shared_environment.marked(os.environ, state, exports | kind)


def _attend(supervisor: Supervisor, command: Sequence[str], env: dict[str, str]) -> int:
    """Wait for the command, in the terminal's foreground, and keep its servers alive meanwhile."""
    try:
        process = subprocess.Popen(command, env=env)
    except OSError as error:
        raise StackError(f"cannot run {command[0]}: {error.strerror}") from error
    while process.poll() is None:
        try:
            supervisor.tend()
            supervisor.wait()
        except StopRequested:
            # Ctrl-C has reached the command through the terminal already; SIGTERM has not.
            if supervisor.last_signal != signal.SIGINT:
                process.send_signal(supervisor.last_signal)
            supervisor.stop_requests = 0
    return process.returncode if process.returncode >= 0 else 128 - process.returncode
