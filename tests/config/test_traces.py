"""A launch is followed from its request to FCM, and a collector that is away holds up nothing."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from celery import Celery
from opentelemetry import trace

from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey
from tests.given.builders import make_campaign, make_contact, make_device, make_people, make_run
from tests.given.waiting import eventually
from tests.servers.collector import Collector, Told, collecting
from tests.servers.fcm import Fcm
from tests.servers.workers import CHECKOUT, Workers, redis_apart

pytestmark = pytest.mark.django_db(transaction=True)
THEIRS = "00-11111111111111111111111111111111-2222222222222222-01"


@contextmanager
def traced(fcm: Fcm, endpoint: str, *names: str) -> Iterator[Workers]:
    """Real processes that tell their traces there, every tenth of a second."""
    different = {
        "LOG_FORMAT": "json",
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "REDIS_URL": redis_apart(),
    }
    workers = Workers(fcm, different)
    for name in names:
        workers.start(name)
    if asked := {*names} - {"beat"}:
        workers.wait_until_ready(*asked)
    try:
        yield workers
    finally:
        workers.stop()


@pytest.fixture(scope="module")
def a_collector() -> Iterator[Collector]:
    """At the same address for all: in one environment the product is imported once."""
    with collecting() as collector:
        yield collector


@pytest.fixture
def collector(a_collector: Collector) -> Collector:
    a_collector.spans.clear()
    return a_collector


def logged(workers: Workers, name: str, text: str) -> list[dict[str, Any]]:
    """The lines of this process that say so."""
    lines = [json.loads(line) for line in workers.log(name).splitlines()]
    return [line for line in lines if text in line["message"]]


def launch(web: str, project: Project, *, parent: str) -> None:
    _, key = ApiKey.issue(project, "shop")
    campaign = make_campaign(project)
    asked = urllib.request.Request(
        f"{web}/api/v1/campaigns/{campaign.pk}/launch",
        method="POST",
        headers={"Authorization": f"Bearer {key}", "traceparent": parent},
    )
    with urllib.request.urlopen(asked, timeout=30) as answer:
        assert answer.status == 202


def path_of(span: Told, spans: list[Told]) -> list[str]:
    """From the first span of its trace that we know to this one."""
    known = {each.number: each for each in spans}
    names = [span.name]
    while span.parent in known:
        span = known[span.parent]
        names.insert(0, span.name)
    return names


def test_a_launch_is_one_trace_from_the_request_to_fcm(
    project: Project, fcm: Fcm, collector: Collector
) -> None:
    make_people(project, ["", "", "dead-1:APA91b"])
    with traced(fcm, collector.url, "bulk", "control") as workers:
        launch(workers.start_web(), project, parent=THEIRS)
        eventually(
            "the callback is told of",
            lambda: any(span.links == ("1" * 32,) for span in collector.named("wave_done")),
        )
        tallies = logged(workers, "control", "tally=")
    (settle,), (fcm_span,) = collector.named("settle"), collector.named("fcm")
    route = "POST api/v1/campaigns/<int:pk>/launch"
    way = [route, "ring", "advance", "ring", "send_chunk", "chunk", "window"]
    assert path_of(settle, collector.spans) == [*way, "settle"]
    assert path_of(fcm_span, collector.spans) == [*way, "fcm"]
    assert settle.trace == "1" * 32, "the caller's own"
    (request,) = collector.named(route)
    assert request.parent == "2" * 16
    assert request.what["http.response.status_code"] == 202
    (window,) = collector.named("window")
    assert (window.what["carillon.accepted"], window.what["carillon.rejected"]) == (2, 1)
    # On a busy machine a chunk may be handed back unsent, and is sent in a second wave.
    done = [span for span in collector.named("wave_done") if span.links == (settle.trace,)]
    assert done
    for span in done:
        assert span.trace != settle.trace, "a campaign has a thousand waves"
        ids = {"trace_id": span.trace, "span_id": span.number}
        assert any(ids.items() <= tally.items() for tally in tallies)


def test_what_is_told_names_nobody(project: Project, fcm: Fcm, collector: Collector) -> None:
    people = make_people(project, 2)
    with traced(fcm, collector.url, "bulk", "control") as workers:
        web = workers.start_web()
        person = people[0].contact.external_id
        _, key = ApiKey.issue(project, "shop")
        asked = urllib.request.Request(
            f"{web}/api/v1/contacts/{person}", headers={"Authorization": f"Bearer {key}"}
        )
        urllib.request.urlopen(asked, timeout=30).close()
        launch(web, project, parent="")
        eventually("it is told", lambda: bool(collector.named("settle")))
    told = repr(collector.spans)
    assert "api/v1/contacts/<" in told
    assert not any(name in told for name in (person, people[0].address, key))


@pytest.mark.parametrize("address", ["api/v1/ada", "o/ada", "admin/ada/", "ada"])
def test_an_address_that_is_none_names_no_route(
    fcm: Fcm, transactional_db: None, collector: Collector, address: str
) -> None:
    """Its span has the method alone."""
    with traced(fcm, collector.url) as workers:
        web = HTTPConnection(urlsplit(workers.start_web()).netloc, timeout=30)  # goes nowhere else
        web.request("GET", f"/{address}", headers={"traceparent": THEIRS})
        web.getresponse().read()
        eventually("it is told", lambda: any(s.trace == "1" * 32 for s in collector.spans))
    (span,) = [span for span in collector.spans if span.trace == "1" * 32]
    assert span.name == "GET"
    assert "http.route" not in span.what


def test_what_the_clock_rings_begins_a_trace_with_a_link(
    project: Project, fcm: Fcm, collector: Collector
) -> None:
    """Beat, in a trace of its own, finds a run whose doorbell was lost."""
    make_people(project, 2)
    run = make_run(project, advanced=False)
    with traced(fcm, collector.url, "control", "bulk", "beat"):
        eventually("it is sent", lambda: Delivery.objects.count() == 2, seconds=60)
        eventually("it is told of", lambda: bool(collector.named("settle")))
    sweeps = {span.trace for span in collector.named("sweep")}
    (settle,) = collector.named("settle")
    assert path_of(settle, collector.spans)[0] == "advance"
    (first,) = [
        span for span in collector.named("advance") if span.trace == settle.trace and span.links
    ]
    assert first.trace not in sweeps and set(first.links) <= sweeps
    assert first.what["carillon.run"] == run.pk


def test_a_message_by_express_is_linked_to_its_caller(
    project: Project, fcm: Fcm, collector: Collector
) -> None:
    make_device(make_contact(project, external_id="ada"), "live1:APA91b")
    _, key = ApiKey.issue(project, "shop")
    said = {"to": {"contact": "ada"}, "content": {"title": "Hello", "body": "x"}}
    with traced(fcm, collector.url, "urgent") as workers:
        web = workers.start_web()
        for number in (1, 2):  # the first one makes the key known
            asked = urllib.request.Request(
                f"{web}/api/v1/messages",
                json.dumps(said).encode(),
                headers={
                    "Authorization": f"Bearer {key}",
                    "Content-Type": "application/json",
                    "traceparent": THEIRS,
                    "X-Request-ID": f"order-{number}",
                },
            )
            with urllib.request.urlopen(asked, timeout=30) as answer:
                assert answer.status == 202
            eventually("it is told", lambda: len(collector.named("settle")) == number)  # noqa: B023
        eventually("and how it came", lambda: bool(collector.named("express")))
    express = collector.named("express")[-1]
    assert express.links == ("1" * 32,)
    route = "POST api/v1/messages"
    ordinary, fast = collector.named(route)
    for request in (ordinary, fast):
        assert (request.trace, request.parent) == ("1" * 32, "2" * 16)
        assert request.kind == trace.SpanKind.SERVER.value + 1, "OTLP counts from 1"
        assert request.what["http.route"] == "api/v1/messages"
        assert request.what["http.response.status_code"] == 202
    assert fast.links == (express.trace,), "from the caller's trace to what became of it"
    assert fast.what["carillon.request_id"] == "order-2"
    way = path_of(collector.named("settle")[-1], collector.spans)
    assert way == ["express", "ring", "send_messages", "chunk", "window", "settle"]


@contextmanager
def deaf() -> Iterator[str]:
    """It takes connections, and never says a word."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=64)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def nobody() -> Iterator[str]:
    yield "http://127.0.0.1:1"


@pytest.mark.parametrize("collector", [deaf, nobody])
def test_a_collector_that_is_away_holds_up_no_send(
    project: Project, fcm: Fcm, collector: Callable[[], AbstractContextManager[str]]
) -> None:
    make_people(project, 500)
    run = make_run(project)
    with collector() as url, traced(fcm, url, "bulk") as workers:
        with Celery(broker=workers.broker, set_as_current=False) as ours:
            ours.send_task(
                "campaigns.tasks.send_chunk",
                kwargs={"run_id": run.pk, "number": 1, "epoch": run.epoch},
                queue="bulk",
                headers={"traceparent": "7 odd \x00", "carillon_rung_by": THEIRS},
            )
            eventually("all are sent", lambda: Delivery.objects.count() == 500)
        if url.endswith(":1"):  # where nobody listens it is known at once
            eventually("it is said", lambda: "traces are dropped" in workers.log("bulk"))
            assert workers.log("bulk").count("traces are dropped") <= 2, "once by each process"
    assert Run.objects.get(pk=run.pk)


LOADED = """
import sys, {module}
from notifications.tracing import tracing
with tracing.span("nothing"):
    tracing.prepare()
tracing.flush()
assert tracing.carried() == {{}}
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""


@pytest.mark.parametrize("module", ["config.asgi", "config.feed.server", "campaigns.tasks"])
def test_nothing_of_it_is_loaded_where_nobody_wants_traces(module: str, fcm: Fcm) -> None:
    workers = Workers(fcm)  # for its environment
    start = "import config.celery, django; django.setup();" if module == "campaigns.tasks" else ""
    done = subprocess.run(
        [sys.executable, "-c", start + LOADED.format(module=module)],
        env=workers.environment,
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
