"""Behind PgBouncer in transaction mode: sessions are shared, so nothing may be left in one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from psycopg import sql

from campaigns.results import reports
from campaigns.runs import sums
from campaigns.runs.caps.counted_pushes import Counted
from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.chaos.door import Door
from tests.given.builders import make_campaign, make_people
from tests.given.forgetting import flush
from tests.given.waiting import eventually
from tests.servers.bouncer import PROGRAM, Bouncer
from tests.servers.fcm import Fcm
from tests.servers.ports import free_ports
from tests.servers.workers import Workers, database_of_the_tests, redis_apart

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(PROGRAM is None, reason="no pgbouncer here: apt-get install pgbouncer"),
]
WHAT_A_POOLER_DROPS = {"lock_timeout": "2s", "idle_in_transaction_session_timeout": "30s"}


@pytest.fixture(scope="module")
def port() -> int:
    """The same for all: in one environment the product is imported once."""
    return free_ports(1)[0]


@pytest.fixture
def bouncer(transactional_db: None, tmp_path: Path, port: int) -> Iterator[Bouncer]:
    bouncer = Bouncer(tmp_path, database_of_the_tests(), port)
    yield bouncer
    bouncer.stop()


@pytest.fixture
def behind(bouncer: Bouncer, fcm: Fcm) -> Iterator[Workers]:
    workers = Workers(fcm, {"REDIS_URL": redis_apart(), "DATABASE_URL": bouncer.url})
    flush(workers.broker)
    yield workers
    workers.stop()


@pytest.fixture
def told_once(transactional_db: None) -> Iterator[None]:
    """As docs/operating.md says, but of this database alone."""
    for name, value in WHAT_A_POOLER_DROPS.items():
        alter("SET {} = {}", sql.Identifier(name), sql.Literal(value))
    yield
    alter("RESET ALL")


def alter(what: str, *values: sql.Composable) -> None:
    database = sql.Identifier(connection.settings_dict["NAME"])
    statement = sql.SQL("ALTER ROLE CURRENT_USER IN DATABASE {} ").format(database)
    with psycopg.connect(database_of_the_tests(), autocommit=True) as beside:
        beside.execute(statement + sql.SQL(what).format(*values))


def test_a_worker_refuses_to_wait_for_locks_without_end(behind: Workers) -> None:
    behind.start("control")
    assert behind.processes["control"].wait() != 0
    assert "a pooler in between drops lock_timeout. Once: ALTER ROLE" in behind.log("control")


@pytest.mark.parametrize("cap", [None, 2], ids=["without-caps", "with-caps"])
def test_a_launch_is_sent_to_its_end_through_it(
    told_once: None, behind: Workers, project: Project, fcm: Fcm, cap: int | None
) -> None:
    """With caps the windows take turns, in one trip with what opens them."""
    Project.objects.update(cap_per_day=cap)
    make_people(project, 2_000)
    for name in ("bulk", "control"):
        behind.start(name)
    door = Door(behind.start_web(), project)
    behind.wait_until_ready()

    answer = door.launch(make_campaign(project))

    assert answer.status == 202, answer.body
    run = Run.objects.get(pk=json.loads(answer.body)["id"])
    eventually("the run ends", lambda: ended(run), seconds=60)
    assert (run.accepted, reports.recount(run)) == (2_000, sums.totals_of(run))
    assert Counted.objects.count() == (2_000 if cap else 0)
    received = [record["id"] for record in fcm.witness()]
    assert len(received) == len(set(received)) == 2_000
    for page in (*PAGES, f"/admin/campaigns/run/{run.pk}/change/"):
        assert door.page(page).status == 200, page
    for name in ("bulk", "control", "web"):
        assert "Traceback" not in behind.log(name)


def test_single_messages_are_accepted_and_sent_through_it(
    told_once: None, behind: Workers, project: Project, fcm: Fcm
) -> None:
    people = [device.contact.external_id for device in make_people(project, 60)]
    behind.start("urgent")
    door = Door(behind.start_web(), project)
    behind.wait_until_ready("urgent")

    with ThreadPoolExecutor(6) as callers:
        answers = list(callers.map(lambda person: door.api("messages", told(person)), people))

    assert {answer.status for answer in answers} == {202}, answers[0].body
    eventually("all are sent", lambda: Delivery.objects.count() == 60, seconds=60)
    assert set(Delivery.objects.values_list("status", flat=True)) == {"accepted"}
    assert len(fcm.witness()) == 60
    for name in ("urgent", "web"):
        assert "Traceback" not in behind.log(name)


def told(person: str) -> dict[str, Any]:
    return {"to": {"contact": person}, "content": {"title": "Hello", "body": person}}


PAGES = (
    *("/metrics", "/admin/", "/admin/operations/", "/admin/campaigns/campaign/"),
    *("/admin/campaigns/audience/add/", "/admin/notifications/contact/"),
    *("/admin/notifications/device/", "/api/docs/"),
)


def ended(run: Run) -> bool:
    run.refresh_from_db()
    return run.finished_at is not None
