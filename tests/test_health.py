"""Health tells an operator what is missing, and the metrics come from the rows."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from campaigns.schedule import Tick
from notifications.project import Project
from tests.builders import make_people, make_run
from tests.test_send import send_everything

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
    reply = client.get("/readyz")
    assert reply.status_code == 503
    assert "ConnectionError" in reply.json()["redis"]
    assert client.get("/healthz").status_code == 200
    assert "carillon_runs" in client.get("/metrics").content.decode()


def test_the_metrics_count_what_the_rows_say(client: Client, project: Project) -> None:
    make_people(project, ["", "", "dead-1:APA91b"])
    send_everything(make_run(project))

    text = client.get("/metrics").content.decode()

    assert 'carillon_runs{state="sending"} 1.0' in text
    assert 'carillon_chunks{state="closed"} 1.0' in text
    assert 'carillon_outcomes{outcome="accepted"} 2.0' in text
    assert 'carillon_reasons{reason="unregistered"} 1.0' in text
    assert 'carillon_queue_depth{queue="bulk"} 0.0' in text
