"""A long answer is made in parts, each by whichever thread is free."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from http.client import IncompleteRead

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.engine import engine
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.given.builders import make_people, make_run
from tests.security import asking
from tests.security.conftest import Start

PEOPLE = 8_000
HANG_UP = """
-- Within 5 s they are gone: who only was told to go may take one request more, and break it off.
SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def test_a_download_is_whole_after_postgresql_has_restarted(start: Start, project: Project) -> None:
    make_people(project, PEOPLE)
    run = make_run(project)
    for _ in range(5):
        engine.advance(run.pk, now=timezone.now())
    web = start(threads=4)
    cookie = {"Cookie": f"sessionid={_session()}"}
    with ThreadPoolExecutor(8) as many:  # so that each thread has a connection
        assert set(many.map(lambda _: _lines(web.url, run, cookie), range(8))) == {PEOPLE + 1}
    with connection.cursor() as cursor:
        cursor.execute(HANG_UP)
        assert cursor.fetchone()[0] > 1
    assert [_lines(web.url, run, cookie) for _ in range(5)] == [PEOPLE + 1] * 5
    assert "an answer broke off" not in web.log


def _session() -> str:
    client = Client()
    client.force_login(User.objects.create_superuser("ada", "ada@example.com", "a long phrase"))
    return client.cookies["sessionid"].value


def _lines(url: str, run: Run, headers: dict[str, str]) -> int:
    path = reverse("admin:run_csv", args=[run.pk])
    try:
        answer = asking.ask("GET", url + path, headers=headers)
    except IncompleteRead:
        return 0
    assert answer.status == 200
    return len(answer.text.splitlines())
