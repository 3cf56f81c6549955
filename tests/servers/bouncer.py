"""A real PgBouncer in front of the tests' PostgreSQL, in transaction mode."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tests.given.waiting import eventually

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
DOCS = (Path(__file__).resolve().parents[2] / "docs" / "operating.md").read_text()
TOLD = DOCS.partition("```ini\n")[2].partition("```")[0]  # word for word what operators copy
# Sessions are few and taken in turn: whoever leaves something in one meets another at once.
CONFIGURATION = """\
[databases]
* = host={host} port={server_port} user={user} password={password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
{told}
default_pool_size = 5
server_round_robin = 1
max_client_conn = 200
"""


class Bouncer:
    """`url`: the same database, through it."""

    def __init__(self, folder: Path, database_url: str, port: int) -> None:
        assert PROGRAM is not None
        server = urlsplit(database_url)
        there = {"host": server.hostname, "server_port": server.port}
        whose = {"user": server.username, "password": server.password}
        configuration = folder / "pgbouncer.ini"
        configuration.write_text(CONFIGURATION.format(port=port, told=TOLD, **there, **whose))
        self.url = server._replace(
            netloc=f"{server.username}:{server.password}@127.0.0.1:{port}"
        ).geturl()
        # It refuses to be root, and reads its file before it is somebody else.
        somebody = ["-u", "nobody"] if os.geteuid() == 0 else []
        self._process = subprocess.Popen(
            [PROGRAM, "-q", *somebody, str(configuration)], stderr=subprocess.DEVNULL
        )
        eventually("PgBouncer answers", self._answers, seconds=20)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(10)

    def _answers(self) -> bool:
        assert self._process.poll() is None, "PgBouncer ended while starting"
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True
