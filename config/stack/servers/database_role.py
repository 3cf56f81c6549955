"""The database role of the product: it owns its database, and may do nothing else.

The cluster's superuser makes it at each start, and does nothing more.
"""

from __future__ import annotations

import psycopg
from psycopg import sql

ROLE = DATABASE = "carillon"


def prepare(superuser: psycopg.Connection, password: str, *, may_create_databases: bool) -> None:
    """Make the role and its database, or bring them up to date. Safe to call again."""
    if not superuser.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone():
        superuser.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(ROLE)))
    hashed = superuser.pgconn.encrypt_password(password.encode(), ROLE.encode(), b"scram-sha-256")
    superuser.execute(
        sql.SQL(
            "ALTER ROLE {} LOGIN NOSUPERUSER NOCREATEROLE NOREPLICATION NOBYPASSRLS {} PASSWORD {}"
        ).format(
            sql.Identifier(ROLE),
            sql.SQL("CREATEDB" if may_create_databases else "NOCREATEDB"),
            sql.Literal(hashed.decode()),
        )
    )
    query = "SELECT 1 FROM pg_database WHERE datname = %s"
    if not superuser.execute(query, [DATABASE]).fetchone():
        superuser.execute(
            sql.SQL("CREATE DATABASE {} OWNER {}").format(
                sql.Identifier(DATABASE), sql.Identifier(ROLE)
            )
        )
