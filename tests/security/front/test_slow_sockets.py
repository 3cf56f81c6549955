"""Who is slow costs a socket: no thread, no file, no memory to speak of, and nobody else's page."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from django.utils import timezone

from campaigns.engine import engine
from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey
from tests.given.builders import make_people, make_run
from tests.given.waiting import eventually
from tests.security import asking
from tests.security.conftest import HURRIED, Start, Web
from tests.security.front.slow import (
    A_FORM,
    HALF_A_HEAD,
    SILENT,
    callers,
    connections_to,
    files_of,
    get,
    heard,
    post,
    threads_of,
    waiting,
)
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers

MANY = 500
MEGABYTE = 1024 * 1024
LARGE_FILE = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"


@pytest.fixture(scope="module")
def web(
    emulator: Fcm, django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Web]:
    """As patient with heads as it is, and less with bodies and readers."""
    temporary = tmp_path_factory.mktemp("temporary")
    limits = json.dumps({"body_seconds": 20, "reader_seconds": 5})
    workers = Workers(emulator, {"HURRIED": limits, "TMPDIR": str(temporary)})
    yield Web(workers.start_web(HURRIED), workers, temporary)
    workers.stop()


@pytest.fixture(autouse=True)
def rows(transactional_db: None) -> None:
    """Those of nobody before."""


def test_500_who_fall_silent_in_a_body_stop_no_page(web: Web) -> None:
    assert web.answers()
    before = web.log.count("refused with 408")
    files, threads = files_of(web.pid), threads_of(web.pid)
    with callers(web.url, MANY, post("/admin/login/", 1000, *A_FORM)) as slow:
        assert all(web.answers() for _ in range(5))
        assert waiting(slow) == MANY, "some were answered already, so nothing was shown"
        said = [heard(caller) for caller in slow]
        assert {answer[:13] for answer in said} == {b"HTTP/1.1 408 "}
        assert b"had not arrived completely after 20 seconds" in said[0]
        eventually("the sockets are free", lambda: files_of(web.pid) <= files + 10)
    assert threads_of(web.pid) <= threads + 10
    assert web.answers()
    assert list(web.temporary.iterdir()) == []
    assert 1 <= web.log.count("refused with 408") - before <= 5, "the log was flooded"


@pytest.mark.parametrize("said", [SILENT, HALF_A_HEAD], ids=["nothing", "half a head"])
def test_500_who_never_end_their_head_stop_no_page(web: Web, said: bytes) -> None:
    with callers(web.url, MANY, said) as slow:
        assert all(web.answers() for _ in range(5))
        assert waiting(slow) == MANY, "some were closed already, so nothing was shown"
        assert {heard(caller) for caller in slow} == {b""}
    assert web.answers()


def test_300_who_do_not_read_stop_no_page_and_are_let_go(web: Web) -> None:
    assert web.answers()
    whole = len(asking.get(web.url + LARGE_FILE).content)
    with callers(web.url, 300, get(LARGE_FILE, "Accept-Encoding: identity"), room=4096) as slow:
        assert all(web.answers() for _ in range(5))
        eventually("they are let go", lambda: not connections_to(web.url))
        assert all(len(heard(caller)) < whole for caller in slow)
    assert web.answers()
    assert "Traceback" not in web.log


def test_a_table_that_nobody_reads_holds_no_thread(start: Start, project: Project) -> None:
    run = make_long_run(project)
    web = start(threads=1, reader_seconds=5)
    key = f"Authorization: Bearer {ApiKey.issue(project, 'a', None)[1]}"
    asked = get(f"/api/v1/runs/{run.pk}/deliveries.csv", key)
    with callers(web.url, 20, asked, room=4096) as slow:
        assert all(web.answers() for _ in range(3))
        eventually("they are let go", lambda: not connections_to(web.url))
        assert not any(heard(caller).endswith(b"0\r\n\r\n") for caller in slow), "looks whole"
    with callers(web.url, 1, asked + get("/healthz", "Connection: close")) as (patient,):
        said = heard(patient)
    assert said.count(b"\r\n") > 15_000, "whoever reads gets all of it"
    assert said.endswith(b"ok\n")


def make_long_run(project: Project) -> Run:
    """Nobody was sent to, and its table is longer than what the kernel keeps for a reader."""
    make_people(project, 15_000)
    run = make_run(project)
    run.cancel()
    engine.advance(run.pk, now=timezone.now())
    long = {"detail": "x" * 200, "message_id": "x" * 200}
    assert Delivery.objects.filter(run_id=run.pk).update(**long) == 15_000
    return run
