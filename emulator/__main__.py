"""`python -m emulator`: arguments in, exit code out."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from emulator import account, certificates
from emulator.folder import Folder, Unusable
from emulator.server import Emulator, allow_many_sockets, listen
from emulator.settings import Settings

COULD_NOT_START = 2
BROKE_DOWN = 1


def main() -> int:
    arguments = _arguments()
    folder = Folder(arguments.dir)
    try:
        folder.create()
        certificates.prepare(folder, now=datetime.now(UTC))
        if arguments.prepare:
            account.prepare(folder, port=arguments.port)
            return 0
        listener = listen(arguments.port)
        account.prepare(folder, port=listener.getsockname()[1])
        settings = Settings(latency_ms=arguments.latency_ms)
        emulator = Emulator(folder, account.load(folder), settings)
        context = certificates.server_context(folder)
        allow_many_sockets()
    except Unusable as problem:
        return _complain(str(problem), COULD_NOT_START)
    except (OSError, ValueError) as problem:
        return _complain(f"cannot use {arguments.dir}: {problem}", COULD_NOT_START)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(emulator.serve(listener, context))
    except OSError as problem:
        return _complain(f"stopped, the witness cannot be written: {problem}", BROKE_DOWN)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m emulator", description="A stand-in for FCM, over HTTPS."
    )
    parser.add_argument("--dir", type=Path, required=True, help="its folder, made if missing")
    parser.add_argument("--port", type=port, default=9099, help="0 takes a free one")
    parser.add_argument("--latency-ms", type=milliseconds, default=60.0, help="of every answer")
    parser.add_argument(
        "--prepare", action="store_true", help="make certificates and service account, then exit"
    )
    arguments = parser.parse_args()
    if arguments.prepare and not arguments.port:
        parser.error("--prepare writes the port down, so it needs a real one")
    return arguments


def port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{number} is not a port")
    return number


def milliseconds(text: str) -> float:
    latency_ms = float(text)
    if not 0 <= latency_ms <= 60_000:
        raise argparse.ArgumentTypeError("from 0 to 60000 milliseconds")
    return latency_ms


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
