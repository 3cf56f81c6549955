"""A process with another CREDENTIALS_KEY does not start, and one that got it later stops nobody."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.utils import timezone

from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Window
from campaigns.runs.run import Run
from campaigns.sending import keyless, sending
from config import startup
from notifications.keys import sealing
from notifications.keys.credentials import ServiceAccount
from notifications.people.project import Project
from tests.given.builders import make_people, make_project, make_run
from tests.servers.fcm import Fcm
from tests.servers.forked import run_bare
from tests.servers.ports import free_ports
from tests.servers.workers import database_of_the_tests

WORDS = "CREDENTIALS_KEY (id {ours}) opens none of the stored service accounts"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "program",
    [
        "celery -A config worker -Q bulk -c 1",
        "celery -A config beat --pidfile= -s {folder}/schedule",
        "config.front --port {port}",
    ],
    ids=["worker", "beat", "web"],
)
def test_nothing_starts_with_another_key(project: Project, program: str, tmp_path: Path) -> None:
    arguments = program.format(folder=tmp_path, port=free_ports(1)[0]).split()
    theirs = {"DATABASE_URL": database_of_the_tests(), "CREDENTIALS_KEY": "another"}
    done = run_bare(*arguments, environment={**os.environ, **theirs})
    assert done.returncode != 0
    assert "opens none of the stored service accounts" in done.said
    assert "manage.py set_firebase_credentials" in done.said


@pytest.mark.django_db
def test_the_refusal_names_both_keys_and_what_to_do(
    project: Project, settings: LazySettings
) -> None:
    theirs = sealing.key_id()
    settings.CREDENTIALS_KEY = "another"
    (trouble,) = startup.find_problems()
    assert trouble.startswith(WORDS.format(ours=sealing.key_id()))
    assert f"sealed with {theirs}" in trouble


@pytest.mark.django_db
def test_the_first_start_has_nothing_to_open(settings: LazySettings) -> None:
    settings.CREDENTIALS_KEY = "new"
    assert list(startup.find_problems()) == []


@pytest.mark.django_db
def test_a_key_that_is_being_replaced_opens_and_seals_nothing_at_the_start(
    project: Project, settings: LazySettings
) -> None:
    sealed = ServiceAccount.objects.get().sealed
    settings.CREDENTIALS_KEY = f"new, {settings.CREDENTIALS_KEY}"
    assert list(startup.find_problems()) == []
    assert ServiceAccount.objects.get().sealed == sealed


@pytest.mark.django_db
def test_an_account_whose_key_was_lost_keeps_nobody_elses_from_starting(
    project: Project, fcm: Fcm, settings: LazySettings
) -> None:
    settings.CREDENTIALS_KEY = "today's"
    ServiceAccount.store(make_project(), fcm.service_account)
    assert list(startup.find_problems()) == []


@pytest.fixture
def run(project: Project, settings: LazySettings) -> Run:
    """Under way; this process has another key from now on."""
    make_people(project, 3)
    run = make_run(project)
    settings.CREDENTIALS_KEY = "another"
    return run


def send(run: Run) -> Chunk:
    sending.send(run.pk, 1, run.epoch)
    run.refresh_from_db()
    return Chunk.objects.get(run=run)


@pytest.mark.django_db
def test_a_worker_that_cannot_open_the_key_leaves_its_chunk_to_the_others(run: Run) -> None:
    chunk = send(run)
    assert (run.state, chunk.state) == ("sending", "waiting")
    assert chunk.not_before is not None and chunk.not_before > timezone.now()


@pytest.mark.django_db
def test_while_others_send_it_stops_nobody_however_long_it_cannot(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyless, "PATIENCE", timedelta(0))
    chunk = Chunk.objects.get(run=run)
    soon = timezone.now() + timedelta(seconds=30)
    Window.objects.create(run=run, chunk=chunk, attempt=1, seqs=[1], opened_at=soon)
    assert send(run).state == "waiting"
    assert run.state == "sending"


@pytest.mark.django_db
def test_when_nobody_can_the_run_asks_a_person(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    send(run)
    monkeypatch.setattr(keyless, "PATIENCE", timedelta(0))
    Chunk.objects.update(state="queued", not_before=None)
    send(run)
    assert (run.state, run.cause) == ("paused", "bad_credentials")
    assert run.detail_code == "quoted"
    assert "encrypted with another CREDENTIALS_KEY" in str(run.detail_args)
