"""Ports of a stack: public ones with known numbers, and two for the embedded servers."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Mapping
from pathlib import Path

from config.stack import StackError

PUBLIC = {"PORT": 8000, "FEED_PORT": 8001, "FLOWER_PORT": 5555, "EMULATOR_PORT": 9099}
ON_DEMAND = ("METRICS_PORT",)
# Below 32768, where Linux begins to hand out source ports: a server that restarts must not find
# its port used by one of our own two thousand outgoing connections.
EMBEDDED_RANGE = range(15_000, 30_000)


def public_ports(environ: Mapping[str, str], *, emulator: bool = True) -> dict[str, int]:
    """The public ports. Raises StackError for one that is wrong or taken."""
    names = [name for name in PUBLIC if emulator or name != "EMULATOR_PORT"]
    numbers = {name: environ.get(name) or str(PUBLIC[name]) for name in names}
    numbers |= {name: environ[name] for name in ON_DEMAND if environ.get(name)}
    ports = {name: _number(name, port) for name, port in numbers.items()}
    owner: dict[int, str] = {}
    for name, port in ports.items():
        if port in owner:
            raise StackError(f"{owner[port]} and {name} are both {port}. Give each its own port.")
        owner[port] = name
        if not is_free(port):
            raise StackError(
                f"Port {port} is taken by another program. Stop it, or choose another port with "
                f"{name}, for example: make run {name}={port + 100}"
            )
    return ports


def embedded_ports(memory: Path) -> dict[str, int]:
    """Ports of the embedded servers: those of the last start as long as they are free."""
    ports: dict[str, int] = json.loads(memory.read_text()) if memory.is_file() else {}
    for server in ("postgres", "valkey"):
        if not is_free(ports.get(server, 0)):
            ports[server] = _pick(avoid=set(ports.values()))
    memory.write_text(json.dumps(ports))
    return ports


def is_free(port: int) -> bool:
    if port == 0:
        return False
    with socket.socket() as probe:
        # Connections of the last run that are still closing do not make the port taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _number(name: str, text: str) -> int:
    if not text.isdecimal() or not 1024 <= int(text) <= 65535:
        raise StackError(f"{name} must be a port between 1024 and 65535, not {text!r}.")
    return int(text)


def _pick(*, avoid: set[int]) -> int:
    for port in random.sample(EMBEDDED_RANGE, 200):
        if port not in avoid and is_free(port):
            return port
    raise StackError("No free port between 15000 and 30000 for the embedded servers.")
