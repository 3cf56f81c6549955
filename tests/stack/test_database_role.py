"""The embedded PostgreSQL serves the product as a role that owns its database, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from config.stack.secret_values import read_assignments, secret_values
from config.stack.servers.servers import start_servers
from config.stack.state import claim
from config.stack.supervision.logs import LogFolder
from config.stack.supervision.supervisor import Supervisor
from tests.stack.conftest import Launch, bare_environment

WHAT_IT_MAY = """
import json, os, psycopg
with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as db:
    def refused(statement):
        try:
            db.execute(statement)
        except psycopg.Error as error:
            return error.sqlstate == "42501"
        return False
    role = db.execute(
        "SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,"
        " (SELECT count(*) FROM pg_auth_members WHERE member = r.oid),"
        " (SELECT array_agg(datname) FROM pg_database WHERE datdba = r.oid)"
        " FROM pg_roles r WHERE rolname = current_user"
    ).fetchone()
    refusals = {statement: refused(statement) for statement in (
        "COPY (SELECT 1) TO PROGRAM 'true'", "SELECT pg_read_file('PG_VERSION')",
        "CREATE ROLE another", "ALTER SYSTEM SET work_mem = '64MB'",
        "SELECT * FROM pg_authid", "CREATE TABLE pg_catalog.mine ()",
    )}
    fsync = db.execute("SHOW fsync").fetchone()[0]
    print(json.dumps([role, refusals, fsync]))
"""
GROWN = """
import os, psycopg
with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as db:
    kept = db.execute("SELECT count(*) FROM django_migrations").fetchone()[0]
    db.execute("ALTER TABLE django_migrations ADD COLUMN note text")
    db.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('x', 'y', now())")
    db.execute("CREATE OR REPLACE FUNCTION audit_is_append_only() RETURNS trigger"
               " LANGUAGE plpgsql AS $$ BEGIN RAISE 'kept'; END $$")
    db.execute("TRUNCATE campaigns_campaign CASCADE")
    db.execute("DROP TABLE notifications_device CASCADE")
    print(kept)
"""


def asked(environ: dict[str, str], script: str = WHAT_IT_MAY) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_where_it_runs_the_role_is_nobody_special(state: Path) -> None:
    with claim(state) as claimed:
        supervisor = Supervisor(LogFolder(claimed.logs), print)
        secrets = secret_values(state / "secrets", {})
        try:
            urls = start_servers(supervisor, claimed, secrets, {}, for_tests=False)
            role, refusals, fsync = asked(bare_environment(**urls))
        finally:
            supervisor.stop()
    assert role == [False, False, False, False, False, 0, ["carillon"]]
    assert all(refusals.values()), refusals
    assert fsync == "on"
    assert secrets["POSTGRES_PASSWORD"] not in urls["DATABASE_URL"]


def test_beside_tests_it_may_make_databases_and_is_nobody_special_else(
    exec_beside: Launch,
) -> None:
    done = exec_beside(sys.executable, "-c", WHAT_IT_MAY)
    role, refusals, _ = json.loads(done.stdout)
    assert role == [False, False, True, False, False, 0, ["carillon"]]
    assert all(refusals.values()), refusals


def test_the_superusers_password_reaches_no_process(exec_beside: Launch, state: Path) -> None:
    shown = exec_beside("sh", "-c", "env; cat /proc/[0-9]*/cmdline").stdout
    secrets = read_assignments(state / "secrets")
    assert secrets["DATABASE_PASSWORD"] in shown  # in DATABASE_URL
    assert secrets["POSTGRES_PASSWORD"] not in shown
