"""The role the product connects as: it owns its database, and may nothing else.

The cluster's superuser only makes it, at each start. For the release before: what a superuser made
while there was no such role becomes the role's, and that release goes on working beside it.
"""

from __future__ import annotations

import psycopg
from psycopg import sql

ROLE = DATABASE = "carillon"

# Partitions do not follow their parent. What belongs to an extension stays the superuser's.
NOT_YET_OURS = f"""
SELECT format('ALTER TABLE %s OWNER TO {ROLE}', c.oid::regclass) FROM pg_class c
WHERE relnamespace = 'public'::regnamespace AND relowner <> '{ROLE}'::regrole
    AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
        AND d.objid = c.oid AND (d.deptype = 'e' OR (relkind = 'S' AND d.deptype IN ('a', 'i'))))
UNION ALL
SELECT format('ALTER ROUTINE %s OWNER TO {ROLE}', p.oid::regprocedure) FROM pg_proc p
WHERE pronamespace = 'public'::regnamespace AND proowner <> '{ROLE}'::regrole
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass
        AND d.objid = p.oid AND d.deptype = 'e')
"""
# Beside ours only those of tests that were killed.
DATABASES = f"""
SELECT format('ALTER DATABASE %I OWNER TO {ROLE}', datname) FROM pg_database
WHERE NOT datistemplate AND datname <> 'postgres' AND datdba <> '{ROLE}'::regrole
"""


def prepare(superuser: psycopg.Connection, password: str, *, may_create_databases: bool) -> None:
    """The role and its database, made or brought up to date. May be called any number of times."""
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
    named = "SELECT 1 FROM pg_database WHERE datname = %s"
    if not superuser.execute(named, [DATABASE]).fetchone():
        superuser.execute(
            sql.SQL("CREATE DATABASE {} OWNER {}").format(
                sql.Identifier(DATABASE), sql.Identifier(ROLE)
            )
        )
    _carry_out(superuser, DATABASES)


def take_over(superuser: psycopg.Connection) -> None:
    """What is in this database. Interrupted, it goes on at the next start; one statement at a time,
    for all of thousands of partitions would need more locks than there are.
    """
    _carry_out(superuser, NOT_YET_OURS)


def _carry_out(superuser: psycopg.Connection, what: str) -> None:
    for (statement,) in superuser.execute(what.encode()).fetchall():
        superuser.execute(statement.encode())
