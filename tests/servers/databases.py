"""Databases of the tests: migrated once, as a template, and copied from then on.

A template is named after the migrations that made it, and stays until there are others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from psycopg import sql

ROOT = Path(__file__).resolve().parents[2]
PREFIX = "migrated_"
OURS_IN_IT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = %s AND usename = current_user
"""
ONE_AT_A_TIME = "SELECT pg_advisory_lock(hashtext('template of the tests'))"


def create_migrated(name: str) -> None:
    """A database with every migration applied; one that had this name is gone."""
    drop(name)
    with _server() as server:
        server.execute(ONE_AT_A_TIME)
        template = _template(server)
        _order(server, "CREATE DATABASE {} TEMPLATE {}", name, template)


def drop(name: str) -> None:
    with _server() as server:
        # FORCE is refused while autovacuum is in it, which is not ours to end; the order does that.
        server.execute(OURS_IN_IT, [name])
        _order(server, "DROP DATABASE IF EXISTS {}", name)


@contextmanager
def created(name: str, *, template: str = "template1") -> Iterator[str]:
    """The address of a database that is there for so long."""
    drop(name)
    with _server() as server:
        _order(server, "CREATE DATABASE {} TEMPLATE {}", name, template)
    try:
        yield f"{os.environ['DATABASE_URL'].rpartition('/')[0]}/{name}"
    finally:
        drop(name)


def connect_to(name: str) -> str:
    """Django's connection goes to this database from now on; the name of the one before."""
    before = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = settings.DATABASES["default"]["NAME"] = name
    return str(before)


def _template(server: psycopg.Connection[Any]) -> str:
    """Made when it is missing, under another name until it is whole."""
    name, draft = PREFIX + _version(), PREFIX + "draft"
    rows = server.execute(
        "SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [PREFIX]
    )
    found = {row[0] for row in rows}
    if name not in found:
        for other in found:
            _order(server, "DROP DATABASE {} WITH (FORCE)", other)
        _order(server, "CREATE DATABASE {}", draft)
        before = connect_to(draft)
        call_command("migrate", verbosity=0)
        connect_to(before)
        _order(server, "ALTER DATABASE {} RENAME TO {}", draft, name)
    return name


def _version() -> str:
    """Of all that decides what `migrate` makes: migrations, and the SQL that ours read."""
    folders = [Path(app.path) for app in apps.get_app_configs()]
    files = [path for folder in folders for path in folder.glob("migrations/*.py")]
    files += [
        path for folder in folders if ROOT in folder.parents for path in folder.rglob("*.sql")
    ]
    digest = sha256(repr(settings.INSTALLED_APPS).encode())
    for path in sorted(files):
        digest.update(f"{path}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _server() -> psycopg.Connection[Any]:
    return psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)


def _order(server: psycopg.Connection[Any], statement: str, *names: str) -> None:
    server.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
