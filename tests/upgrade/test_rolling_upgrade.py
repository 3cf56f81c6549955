"""The previous release works beside this one, on this release's tables: expand now, contract later.

Machines are upgraded one by one: in the middle of a run, workers of both releases take its chunks.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from celery import Celery
from django.db import connection

from campaigns.results import reports
from campaigns.runs import sums
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.chaos.door import Door
from tests.given.builders import make_campaign, make_people
from tests.given.forgetting import flush
from tests.given.waiting import eventually
from tests.servers import databases
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers, redis_apart
from tests.upgrade import previous_release
from tests.upgrade.previous_release import ROOT

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(bool(previous_release.missing()), reason=previous_release.missing()),
]


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The previous release, unpacked."""
    return previous_release.unpack(tmp_path_factory.mktemp("previous-release"))


# --- Its tables ----------------------------------------------------------------------------------


def test_no_migration_of_the_release_before_was_edited(before: Path) -> None:
    theirs = {path.relative_to(before): path for path in before.glob("*/migrations/[0-9]*.py")}
    assert theirs
    edited = [
        str(name)
        for name, path in theirs.items()
        if not (ROOT / name).is_file() or (ROOT / name).read_bytes() != path.read_bytes()
    ]
    assert not edited, "write another migration instead"


Columns = dict[tuple[str, str], dict[str, Any]]
COLUMNS = """
SELECT table_name, column_name, udt_name AS type, character_maximum_length AS length,
       is_nullable = 'YES' AS nullable, column_default IS NOT NULL OR is_identity = 'YES'
       OR is_generated = 'ALWAYS' AS filled
FROM information_schema.columns WHERE table_schema = 'public'
"""


def columns_of(cursor: Any) -> Columns:
    cursor.execute(COLUMNS)
    names = [column.name for column in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return {(row.pop("table_name"), row.pop("column_name")): row for row in rows}


@pytest.fixture
def columns_before(before: Path, transactional_db: None) -> Iterator[Columns]:
    """Of tables that its own migrations made."""
    with databases.created(f"before_{connection.settings_dict['NAME']}") as url:
        previous_release.manage(before, "migrate", "--no-input", "-v", "0", url=url)
        with psycopg.connect(url) as beside, beside.cursor() as cursor:
            yield columns_of(cursor)


def test_what_the_release_before_writes_and_reads_is_still_there(columns_before: Columns) -> None:
    with connection.cursor() as cursor:
        now = columns_of(cursor)
    tables = {table for table, _ in columns_before}

    gone = sorted(columns_before.keys() - now.keys())
    assert not gone, "dropped or renamed: a release later at the earliest"
    stricter = [name for name, was in columns_before.items() if takes_less(now[name], was)]
    assert not stricter, "another type, or it insists on a value"
    added = [name for name in now if name[0] in tables and name not in columns_before]
    unfilled = [name for name in added if not (now[name]["nullable"] or now[name]["filled"])]
    assert not unfilled, "give it db_default: the previous release knows no such column"


def takes_less(column: dict[str, Any], was: dict[str, Any]) -> bool:
    insists = any(was[word] and not column[word] for word in ("nullable", "filled"))
    shorter = column["length"] is not None and column["length"] < (was["length"] or math.inf)
    return insists or shorter or column["type"] != was["type"]


# --- Its processes -------------------------------------------------------------------------------


class Releases:
    """Processes of either release at the same PostgreSQL and Redis."""

    def __init__(self, fcm: Fcm, before: Path) -> None:
        away = {"REDIS_URL": redis_apart()}
        self.ours, self.theirs = Workers(fcm, away), Workers(fcm, away, checkout=before)
        flush(self.ours.broker)

    def sweep(self) -> None:
        with Celery(broker=self.ours.broker, set_as_current=False) as celery:
            celery.send_task("campaigns.tasks.sweep", queue="control")

    def stop(self) -> None:
        self.ours.stop()
        self.theirs.stop()


@pytest.fixture
def releases(fcm: Fcm, before: Path) -> Iterator[Releases]:
    releases = Releases(fcm, before)
    yield releases
    releases.stop()


POOLS = ("bulk", "control")
Choose = Callable[[Releases], tuple[Workers, Workers]]


@pytest.mark.parametrize(
    "choose",
    [
        pytest.param(lambda both: (both.ours, both.theirs), id="begun by this release"),
        pytest.param(lambda both: (both.theirs, both.ours), id="begun by the one before"),
    ],
)
def test_a_run_that_one_release_began_is_finished_by_the_other(
    choose: Choose, releases: Releases, project: Project, fcm: Fcm
) -> None:
    first, second = choose(releases)
    make_people(project, 3_000)
    door = Door(first.start_web(), project)
    for name in POOLS:
        first.start(name)
    first.wait_until_ready()

    answer = door.launch(make_campaign(project, rate_per_second=300))
    assert answer.status == 202, answer.body
    run = Run.objects.get(pk=json.loads(answer.body)["id"])
    eventually("some are settled", lambda: sums.totals_of(run).settled > 100)
    Run.objects.update(rate_per_second=10)  # the second is slow to start on a busy machine

    for name in POOLS:
        second.start(name)
    eventually("both are there", lambda: all("ready." in second.log(name) for name in POOLS))
    first.stop(*POOLS)
    assert sums.totals_of(run).waiting, "nothing was left to the second"
    Run.objects.update(rate_per_second=None)

    eventually("the run ends", lambda: swept_to_the_end(run, releases), seconds=180)
    assert run.state == Run.State.FINISHED
    assert (run.accepted, reports.recount(run)) == (3_000, sums.totals_of(run))
    received = [record["id"] for record in fcm.witness()]
    assert len(received) == len(set(received)) == 3_000
    for path in ("admin/", f"admin/campaigns/run/{run.pk}/change/", "metrics"):
        assert door.page(f"/{path}").status == 200
    for workers in (first, second):
        for name in ("web", *POOLS):
            assert not trouble_in(workers, name)


def swept_to_the_end(run: Run, releases: Releases) -> bool:
    releases.sweep()
    time.sleep(0.5)  # more of them than a busy machine can do would hold up what they ring for
    run.refresh_from_db()
    return run.finished_at is not None


def trouble_in(workers: Workers, name: str) -> list[str]:
    """Whole entries of its log. uvloop calls it an error when a socket goes away in mid-handshake,
    as some do on a busy machine; the witness counts what was sent over them."""
    if not (workers.logs / f"{name}.log").exists():
        return []
    entries = re.split(r"^(?=\d{4}-\d\d-\d\d )", workers.log(name), flags=re.MULTILINE)
    words = (" ERROR ", "Traceback", "unregistered task")
    troubles = [entry for entry in entries if any(word in entry for word in words)]
    return [entry for entry in troubles if " asyncio Fatal error on SSL protocol" not in entry]
