"""A database of the last commit before 0.1.0 becomes one of 0.1.0, and keeps what it holds.

The release after 0.1.0 deletes this file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from campaigns.management.commands.migrate import LAST_COMMIT_BEFORE, TOO_OLD
from tests.servers import databases
from tests.servers.forked import run_bare
from tests.servers.workers import database_of_the_tests
from tests.upgrade import previous_release

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        bool(previous_release.missing(LAST_COMMIT_BEFORE)),
        reason=previous_release.missing(LAST_COMMIT_BEFORE),
    ),
]
CATALOG = {
    "columns": """
        SELECT c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
            coalesce(pg_get_expr(d.adbin, d.adrelid), ''), a.attidentity, a.attstorage,
            c.relkind, c.relpersistence, coalesce(pg_get_partkeydef(c.oid), '')
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'S')
            AND a.attnum > 0 AND NOT a.attisdropped AND NOT c.relispartition""",
    "constraints": """
        SELECT conrelid::regclass || '.' || conname, contype, pg_get_constraintdef(k.oid)
        FROM pg_constraint k JOIN pg_class c ON c.oid = conrelid
        WHERE connamespace = 'public'::regnamespace AND contype <> 'n' AND NOT c.relispartition""",
    "indexes": """
        SELECT indexname, indexdef FROM pg_indexes JOIN pg_class c ON c.relname = tablename
        WHERE schemaname = 'public' AND NOT c.relispartition""",
    "triggers": """
        SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
        WHERE NOT tgisinternal AND NOT c.relispartition""",
    "functions": """
        SELECT p.oid::regprocedure::text, pg_get_functiondef(p.oid) FROM pg_proc p
        WHERE pronamespace = 'public'::regnamespace""",
}
# The same, said in other words: to replace them would read every delivery.
SAID_ANEW = ("only_accepted_needs_no_reason", "a_message_has_or_shares_a_text")
Catalog = set[tuple[object, ...]]


def catalog_of(url: str) -> Catalog:
    with psycopg.connect(url) as beside:
        found = {(kind, *row) for kind, sql in CATALOG.items() for row in beside.execute(sql)}
    return {row for row in found if not any(name in str(row[1]) for name in SAID_ANEW)}


@pytest.fixture(scope="module")
def filled(
    tmp_path_factory: pytest.TempPathFactory,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[str]:
    """A database that the last commit before 0.1.0 made and filled."""
    folder = tmp_path_factory.mktemp("before-0-1-0")
    before = previous_release.unpack(folder, LAST_COMMIT_BEFORE)
    with django_db_blocker.unblock():
        name = f"before_0_1_0_{connection.settings_dict['NAME']}"
        with databases.created(name) as url:
            for command in (("migrate", "--no-input"), ("shell", "-c", FILLED)):
                previous_release.manage(before, *command, "-v", "0", url=url)
            yield name


@pytest.fixture
def url(filled: str, transactional_db: None) -> Iterator[str]:
    """The address of a copy of it."""
    with databases.created(f"copy_of_{filled}", template=filled) as url:
        yield url


FILLED = """
from campaigns import control
from tests.given.builders import make_people, make_project, make_run
project = make_project(slug="shop")
make_people(project, 3)
control.pause(make_run(project), by="user:ada")
"""
RESUMED = """
from campaigns import control
from campaigns.runs.run import Run
run = Run.objects.get()
print(run.detail, run.planned, run.once_each, run.split)
control.resume(run, by="user:ada")
print(Run.objects.get().state, run.chunks.count())
"""


def ours(*arguments: str, url: str) -> tuple[int, str]:
    return run_bare("manage", *arguments, environment={**os.environ, "DATABASE_URL": url})


def test_it_has_the_tables_of_a_new_database_and_its_runs_go_on(url: str) -> None:
    assert ours("migrate", "--plan", url=url)[0] == 0
    for _ in range(2):
        assert ours("migrate", "--no-input", url=url)[0] == 0
    assert catalog_of(url) == catalog_of(database_of_the_tests())
    _, went_on = ours("shell", "-v", "0", "-c", RESUMED, url=url)
    assert went_on.splitlines() == ["It was ada. 3 False {}", "sending 1"]


def test_an_older_one_is_refused_and_left_as_it_is(url: str) -> None:
    with psycopg.connect(url) as beside:
        beside.execute("DELETE FROM django_migrations WHERE name = '0070_holiday_names'")
    was = catalog_of(url)
    for question in ((), ("--plan",), ("--check",)):
        code, said = ours("migrate", *question, url=url)
        assert code == 1 and TOO_OLD in said
    assert catalog_of(url) == was
