"""LOG_FORMAT=json: an object a line, of every process, and never a person's row."""

from __future__ import annotations

import json
import logging
import sys
import urllib.request
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.requests import log_context, log_lines
from notifications.staff.api_key import ApiKey
from notifications.tracing import spans, tracing
from tests.given.builders import make_campaign, make_contact, make_people
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm
from tests.servers.feed import Feed
from tests.servers.workers import Workers, redis_apart


def line(text: str, *arguments: Any, **more: Any) -> dict[str, Any]:
    exc_info = more.pop("exc_info", None)
    record = logging.LogRecord("carillon", logging.WARNING, "", 1, text, arguments, exc_info)
    record.__dict__.update(more)
    said = log_lines.Json().format(record)
    assert "\n" not in said
    return dict(json.loads(said))


def test_a_line_is_an_object_with_what_is_known() -> None:
    said = line("run=%s chunk=%s lost its lease", 7, 12)
    assert (said["level"], said["logger"]) == ("WARNING", "carillon")
    assert said["message"] == "run=7 chunk=12 lost its lease"
    assert (said["run"], said["chunk"]) == (7, 12)
    assert said["time"].endswith("+00:00")
    assert said.keys().isdisjoint({"request_id", "task", "project", "exception"})


def test_what_the_process_is_at_stands_in_it_until_it_is_done() -> None:
    with log_context.extended_context(project="shop", run=7), log_context.extended_context(chunk=3):
        said = line("slow")
    assert (said["project"], said["run"], said["chunk"]) == ("shop", 7, 3)
    assert "run" not in line("idle")


def test_a_refusal_names_the_trace_of_its_request_which_has_ended() -> None:
    place = "00-11111111111111111111111111111111-2222222222222222-01"
    said = line("refused", request=SimpleNamespace(META={tracing.IN_META: place}))
    assert spans and (said["trace_id"], said["span_id"]) == ("1" * 32, "2" * 16)
    assert line("idle").keys().isdisjoint({"trace_id", "span_id"})


def test_a_message_of_many_lines_and_odd_letters_is_one_line() -> None:
    said = line("first\nsecond \u2028 “third” \x00")
    assert said["message"] == "first\nsecond \u2028 “third” \x00"


def test_what_hands_a_task_out_names_it() -> None:
    said = line("received", data={"id": "6f1c", "name": "campaigns.tasks.advance"})
    assert (said["task"], said["task_id"]) == ("campaigns.tasks.advance", "6f1c")


@pytest.mark.django_db
@pytest.mark.parametrize("kind", [log_lines.Text, log_lines.Json])
def test_a_row_that_postgresql_quotes_is_left_out(
    project: Project, kind: type[logging.Formatter]
) -> None:
    ada = "@".join(("ada", "example.com"))  # a traceback shows lines of the code
    make_contact(project, external_id=ada)
    try:
        with transaction.atomic():
            Contact.objects.bulk_create([Contact(project=project, external_id=ada)])
    except IntegrityError as error:
        assert ada in str(error)
        record = logging.LogRecord("x", logging.ERROR, "", 1, "no: %s", (error,), sys.exc_info())
        said = kind().format(record)
    assert ada not in said
    assert "left out" in said and "duplicate key" in said and "IntegrityError" in said


# --- Of real processes --------------------------------------------------------------------------


def objects(log: str) -> list[dict[str, Any]]:
    return [json.loads(each) for each in log.splitlines()]


@pytest.fixture
def all_of_it(transactional_db: None, fcm: Fcm) -> Iterator[tuple[Workers, Feed]]:
    different = {"LOG_FORMAT": "json", "REDIS_URL": redis_apart()}
    workers, feed = Workers(fcm, different), Feed(different)
    for name in ("bulk", "control"):
        workers.start(name)
    workers.wait_until_ready()
    yield workers, feed
    workers.stop()
    feed.kill()


def test_every_line_of_every_process_is_an_object_that_names_the_request(
    project: Project, all_of_it: tuple[Workers, Feed]
) -> None:
    workers, feed = all_of_it
    make_people(project, 2)
    launch(workers.start_web(), project, request="shop-81")
    eventually("the callback came", lambda: "tally=" in workers.log("control"), seconds=60)
    workers.start("beat")  # only now: its sweep may be first to advance the run, for no request
    eventually("beat speaks", lambda: bool(workers.log("beat")), seconds=60)
    workers.stop()
    feed.stop()

    said = {name: objects(workers.log(name)) for name in ("web", "bulk", "control", "beat")}
    said["feed"] = objects(feed.log.read_text())
    assert all(said.values())
    (tally,) = [each for each in said["control"] if "tally=" in each["message"]]
    assert tally["request_id"] == "shop-81", "from the launch through advance and its chunk"
    assert (tally["task"], tally["wave"]) == ("campaigns.tasks.wave_done", 1)
    assert tally["task_id"] and tally["run"]


def launch(web: str, project: Project, *, request: str) -> None:
    _, key = ApiKey.issue(project, "shop")
    campaign = make_campaign(project)
    asked = urllib.request.Request(
        f"{web}/api/v1/campaigns/{campaign.pk}/launch",
        method="POST",
        headers={"Authorization": f"Bearer {key}", "X-Request-ID": request},
    )
    with urllib.request.urlopen(asked, timeout=30) as answer:
        assert (answer.status, answer.headers["X-Request-ID"]) == (202, request)
