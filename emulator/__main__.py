"""`python -m emulator`: arguments in, exit code out."""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

from emulator import arguments
from emulator.alone import Alone
from emulator.doors.parts import Parts, Plan
from emulator.folder import Folder, Unusable
from emulator.leader import Leader, fork_followers
from emulator.server import allow_many_sockets, listen
from emulator.service import account
from emulator.speakers import certificates
from emulator.witness.figures import Figures
from emulator.witness.ledger import Book
from emulator.witness.phones import Phones
from emulator.witness.witness import Witness

COULD_NOT_START = 2
BROKE_DOWN = 1


def main() -> int:
    wanted = arguments.read()
    folder = Folder(wanted.dir)
    try:
        folder.create()
        certificates.prepare(folder, now=datetime.now(UTC))
        if wanted.prepare:
            account.prepare(folder, port=wanted.port)
            return 0
        listeners = listen(wanted.port, count=wanted.processes)
        account.prepare(folder, port=listeners[0].getsockname()[1])
        plan = Plan(
            accounts=account.load(folder),
            settings=arguments.settings(wanted),
            processes=wanted.processes,
            seed=wanted.seed,
        )
        context = certificates.server_context(folder)
        witness = Witness(folder.witness)
        allow_many_sockets()
    except Unusable as problem:
        return _complain(str(problem), COULD_NOT_START)
    except (OSError, ValueError) as problem:
        return _complain(f"cannot use {wanted.dir}: {problem}", COULD_NOT_START)
    try:
        _serve(plan, witness, listeners, context)
    except OSError as problem:
        return _complain(f"stopped, the witness cannot be written: {problem}", BROKE_DOWN)
    except RuntimeError as problem:
        return _complain(f"stopped, {problem}", BROKE_DOWN)
    return 0


def _serve(
    plan: Plan, witness: Witness, listeners: list[socket.socket], context: ssl.SSLContext
) -> None:
    parts = Parts(plan)
    figures = Figures()
    book = Book(witness, Phones(plan.settings, figures, seed=plan.seed), figures, plan.settings)
    if plan.processes == 1:
        _run(Alone(parts, book).serve(listeners[0], context))
        return
    ends = fork_followers(parts, listeners, context, _run)
    for listener in listeners[1:]:
        listener.close()
    _run(Leader(parts, book).lead(ends, listeners[0]))


def _run(work: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(work)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # optional: where it cannot be built, asyncio's own loop serves
    except ImportError:
        return None
    return uvloop.new_event_loop


def _complain(line: str, code: int) -> int:
    print(f"emulator: {line}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
