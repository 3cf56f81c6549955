"""What the owner of PostgreSQL does to it, through connections beside Django's."""

from __future__ import annotations

import psycopg
from django.conf import settings


def address() -> str:
    database = settings.DATABASES["default"]
    place = f"{database['HOST']}:{database['PORT']}/{database['NAME']}"
    return f"postgresql://{database['USER']}:{database['PASSWORD']}@{place}"


def order(*statements: str) -> None:
    """Each by itself; also where nothing else can be written."""
    with psycopg.connect(address(), autocommit=True) as db:
        db.execute("SET default_transaction_read_only = off")
        for statement in statements:
            db.execute(statement.encode())


def alter(setting: str) -> None:
    """A setting of the server, at once and for everybody: `work_mem = 64MB`."""
    order(f"ALTER SYSTEM SET {setting}", "SELECT pg_reload_conf()")


def reset(setting: str) -> None:
    order(f"ALTER SYSTEM RESET {setting}", "SELECT pg_reload_conf()")
