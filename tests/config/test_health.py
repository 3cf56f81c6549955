"""Health tells an operator what is missing, and the metrics come from the rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection
from django.test import Client
from django.utils import timezone

from campaigns import tasks
from campaigns.runs.claiming import claim
from campaigns.runs.run import Run
from campaigns.runs.tick import Tick
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_contact, make_device, make_people, make_run
from tests.given.by_hand import send_everything
from tests.given.forgetting import flush

pytestmark = pytest.mark.django_db


def test_the_bare_address_leads_to_the_product(client: Client) -> None:
    assert client.get("/").headers["Location"] == "/admin/"


def test_it_is_ready_when_postgresql_redis_and_beat_answer(client: Client) -> None:
    Tick.record(timezone.now())
    reply = client.get("/readyz")
    assert (reply.status_code, reply.json()["ready"]) == (200, True)


def test_a_beat_that_stopped_ticking_is_named(client: Client) -> None:
    assert "no tick yet" in client.get("/readyz").json()["beat"]

    Tick.record(timezone.now() - timedelta(minutes=2))
    reply = client.get("/readyz")

    assert reply.status_code == 503
    assert reply.json()["beat"].startswith("stale, last tick 1")
    assert reply.json()["postgresql"] == "ok"


def test_a_redis_that_is_away_is_named_and_the_process_stays_alive(
    client: Client, settings: LazySettings
) -> None:
    settings.BROKER_URL = "redis://127.0.0.1:1/0"
    settings.REDIS_DATABASES = {"broker": settings.BROKER_URL}
    reply = client.get("/readyz")
    assert reply.status_code == 503
    assert reply.json()["redis"] == "no answer"
    assert client.get("/healthz").status_code == 200
    assert "carillon_runs" in client.get("/metrics").content.decode()


def test_the_metrics_count_what_the_rows_say(
    client: Client, project: Project, settings: LazySettings
) -> None:
    make_people(project, ["", "", "dead-1:APA91b"])
    send_everything(make_run(project))
    flush(settings.BROKER_URL)  # of other tests' doorbells

    text = client.get("/metrics").content.decode()

    assert 'carillon_runs{state="sending"} 1.0' in text
    assert 'carillon_chunks{state="closed"} 1.0' in text
    assert 'carillon_outcomes{outcome="accepted"} 2.0' in text
    assert 'carillon_reasons{reason="unregistered"} 1.0' in text
    assert 'carillon_queue_depth{queue="bulk"} 0.0' in text


def test_a_postgresql_that_takes_nothing_is_named(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL transaction_read_only = on")
    assert client.get("/readyz").json()["postgresql"] == "read-only"


def metric(client: Client, line: str) -> str:
    text = client.get("/metrics").content.decode()
    return next(each for each in text.splitlines() if each.startswith(line)).rpartition(" ")[2]


def test_a_run_that_nobody_works_on_stands_still_after_a_minute(
    client: Client, project: Project
) -> None:
    make_people(project, 2)
    run = make_run(project)
    long_ago = timezone.now() - timedelta(minutes=2)
    assert metric(client, "carillon_stalled_runs") == "0.0"

    Run.objects.update(started_at=long_ago)
    run.chunks.update(queued_at=long_ago)
    assert metric(client, "carillon_stalled_runs") == "1.0"

    claim(run.pk, 1, run.epoch, task_id=None)
    assert metric(client, "carillon_stalled_runs") == "0.0", "somebody does"


def test_a_run_that_waits_for_its_retries_does_not_stand_still(
    client: Client, project: Project
) -> None:
    make_people(project, ["flaky-1:x"])
    send_everything(make_run(project))
    Run.objects.update(started_at=timezone.now() - timedelta(minutes=2))
    assert metric(client, "carillon_stalled_runs") == "0.0"


def write(project: Project, **other: Any) -> None:
    said = {"to": {"contact": "ada"}, "content": {"title": "Hello", "body": "x"}, **other}
    assert Caller(project).post("messages", said).status_code == 202


def test_a_message_that_nobody_takes_grows_old_and_one_for_later_does_not(
    client: Client, project: Project
) -> None:
    make_device(make_contact(project, external_id="ada"), "live1:APA91b")
    oldest = 'carillon_oldest_message_seconds{lane="urgent"}'
    waiting = 'carillon_messages_waiting{lane="urgent"}'
    write(project, at=(timezone.now() + timedelta(hours=1)).isoformat())
    assert (metric(client, waiting), metric(client, oldest)) == ("0.0", "0.0")

    write(project, at=(timezone.now() - timedelta(minutes=2)).isoformat())
    assert metric(client, waiting) == "1.0"
    assert float(metric(client, oldest)) >= 120
    assert metric(client, 'carillon_messages_waiting{lane="bulk"}') == "0.0"

    tasks.send_messages()
    assert (metric(client, waiting), metric(client, oldest)) == ("0.0", "0.0")


def test_what_was_put_right_is_counted(client: Client, project: Project) -> None:
    make_people(project, 2)
    run = make_run(project)
    run.chunks.update(lapses=1)
    assert metric(client, 'carillon_repairs{kind="taken_over"}') == "1.0"
