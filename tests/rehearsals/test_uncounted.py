"""A rehearsal leaves no trace where anything is counted: no page, no answer of the API, no rule, no
figure, no report, no metric and no alert says anything else after it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from campaigns import tasks
from campaigns.alerts.models import Alert
from campaigns.alerts.tasks import evaluate_alerts
from campaigns.audiences import reach
from campaigns.figures import store_figures
from campaigns.planning.campaign import Campaign
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.run import Run, on_run_moved
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.figures import Figure
from notifications.people.project import Project
from notifications.postgres import clock
from notifications.staff.team import Role
from notifications.webhooks.outbox import Outgoing
from tests.admin.desk import Desk
from tests.api.caller import Caller
from tests.given.builders import addresses, make_campaign, make_people
from tests.given.endpoints import make_endpoint
from tests.rehearsals.shared import ask, launch, rehearse
from tests.roles.people import logged_in
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db
# A page says what time it is, and counts its own requests.
MOVES = re.compile(r"\b\d+ (second|minute)s?( ago)?\b|\d\d:\d\d(:\d\d)?")
LOOKED_AT = re.compile(rb'"(evaluated_at|as_of|at)":"[^"]*"')  # of “why”: now
QUOTA = re.compile(r"[<\d. ]+% in use \([\d,]+ of [\d,]+ in the last minute\)")  # is really used
RULES = [
    {"field": "run", "op": op, "value": {"outcome": outcome, **which}}
    for op in ("was", "was_not")
    for outcome in ("planned", "accepted", "rejected", "not_reached")
    for which in ({}, {"run": "last"}, {"within": "P1D"}, {"at_least": 2})
    if not (outcome == "planned" and op == "was_not" and "at_least" in which)
]


@pytest.fixture
def sent(project: Project, fcm: Fcm) -> Run:
    """A real run of the same people, before anything is rehearsed."""
    make_people(project, addresses(live=4, dead=2))
    return launch(make_campaign(project, name="Spring"))


@pytest.fixture
def campaign(project: Project, sent: Run) -> Campaign:
    return make_campaign(project, name="Summer", goal_event="bought", inbox=True)


def answers_of(project: Project, sent: Run) -> Callable[[], dict[str, Any]]:
    """All that a program reads."""
    call = Caller(project)
    person = Contact.objects.filter(project=project).order_by("pk")[0].external_id
    paths = (
        "runs", f"runs/{sent.pk}", f"runs/{sent.pk}/funnel",
        f"runs/{sent.pk}/breakdown?by=platform", f"runs/{sent.pk}/deliveries",
        f"runs/{sent.pk}/deliveries.csv", "messages", "alerts",
        f"deliveries?contact={person}", f"export?contact={person}", "contacts",
        f"contacts/{person}", "campaigns", "audiences", f"runs/{sent.pk}/why?contact={person}",
        f"inbox?contact={person}",
    )  # fmt: skip

    def read() -> dict[str, Any]:
        found: dict[str, Any] = {path: _body(path, call.get(path)) for path in paths}
        for rules in RULES:
            asked = call.post("audiences/estimate", {"rules": rules}).json()
            found[json.dumps(rules)] = {k: v for k, v in asked.items() if k != "took_ms"}
        return found

    return read


def _body(path: str, reply: Any) -> bytes:
    assert reply.status_code == 200, reply.content
    body: bytes = b"".join(reply.streaming_content) if reply.streaming else reply.content
    return LOOKED_AT.sub(b"", body) if "/why" in path else body


def pages_of(project: Project, sent: Run) -> Callable[[], dict[str, str]]:
    """All that a person reads."""
    desk = Desk(logged_in(Role.OWNER))
    person = Contact.objects.filter(project=project).order_by("pk")[0]
    asked: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("index", (), {}),
        ("campaigns_run_changelist", (), {}),
        ("campaigns_run_change", (sent.pk,), {}),
        ("campaigns_campaign_changelist", (), {}),
        ("campaigns_calendar", (), {}),
        ("campaigns_audience_changelist", (), {}),
        ("campaigns_messages", (), {}),
        ("campaigns_alerts", (), {}),
        ("run_compare", (sent.pk,), {}),
        ("run_deliveries", (sent.pk,), {}),
        ("run_breakdown", (sent.pk,), {}),
        ("run_echo", (sent.pk,), {}),
        ("run_why", (sent.pk,), {"person": person.external_id}),
        ("person_sent", (person.pk,), {}),
        ("notifications_contact_change", (person.pk,), {}),
        ("overview_people", (), {}),
        ("operations", (), {}),
    ]

    def read() -> dict[str, str]:
        read = {page: desk.open(page, *args, **query) for page, args, query in asked}
        return {page: MOVES.sub("", QUOTA.sub("", text)) for page, text in read.items()}

    return read


def metrics() -> dict[str, str]:
    """Those of what is sent; Redis and processes have a life of their own."""
    text = Client().get("/metrics").content.decode()
    kinds = ("carillon_runs", "carillon_chunks", "carillon_outcomes", "carillon_reasons",
             "carillon_repairs", "carillon_stalled", "carillon_alerts", "carillon_fcm_requests",
             "carillon_fcm_seconds", "carillon_recipients", "carillon_retries",
             "carillon_gate", "carillon_lease")  # fmt: skip
    lines = (line.rpartition(" ") for line in text.splitlines() if line.startswith(kinds))
    return {name: value for name, _, value in lines}


def try_everything(campaign: Campaign) -> None:
    """Of everybody, of a sample, and one that is cancelled."""
    rehearse(campaign)
    rehearse(campaign, sample=100)
    going = ask(campaign)
    going.run.cancel()
    tasks.advance(run_id=going.pk)


def test_programs_read_the_same_after_it(project: Project, sent: Run, campaign: Campaign) -> None:
    read = answers_of(project, sent)
    before = read()
    try_everything(campaign)
    assert Rehearsal.objects.count() == 3
    after = read()
    assert {path for path in before if before[path] != after[path]} == set()


def test_people_read_the_same_after_it(project: Project, sent: Run, campaign: Campaign) -> None:
    read = pages_of(project, sent)
    read()  # the first look is remembered
    before = read()
    try_everything(campaign)
    after = read()
    for page in before:
        assert after[page] == before[page], page


def test_nobody_outside_is_told(project: Project, sent: Run, campaign: Campaign) -> None:
    assert on_run_moved, "or nobody would be told of anything"
    make_endpoint(project, "https://shop.example/hook")
    try_everything(campaign)
    assert not Outgoing.objects.exists()
    launch(make_campaign(project))
    assert Outgoing.objects.exists()


def test_metrics_say_the_same_after_it(project: Project, sent: Run, campaign: Campaign) -> None:
    before = metrics()
    assert before
    try_everything(campaign)
    assert metrics() == before


def test_figures_of_the_overview_say_the_same(
    project: Project, sent: Run, campaign: Campaign
) -> None:
    def sums() -> list[tuple[str, int]]:
        store_figures.keep_figures(now=clock.now())
        rows = Figure.objects.filter(what__contains=":").order_by("what", "at")
        return list(rows.values_list("what", "count"))

    before = sums()
    try_everything(campaign)
    assert sums() == before


def test_dead_addresses_that_it_retires_are_no_news_of_the_day(
    project: Project, sent: Run, campaign: Campaign
) -> None:
    make_people(project, [f"dead-later-{n}:a" for n in range(3)])
    rehearse(campaign, retires=True)
    assert Device.objects.filter(retired_by__startswith="rehearsal:").exists()
    store_figures.keep_figures(now=clock.now())
    found = Figure.objects.filter(project=project, what="dead").latest("at")
    by_runs = Device.objects.filter(retired_by__startswith="run:").count()
    assert found.count == by_runs == 2


def test_no_alert_is_raised_by_one_that_waits_for_a_person(project: Project, fcm: Fcm) -> None:
    make_people(project, addresses(vague=150))
    rehearsal = rehearse(make_campaign(project))
    assert rehearsal.run.state == "paused"
    evaluate_alerts()
    assert not Alert.objects.filter(ended_at=None).exists()


def test_the_last_run_of_a_rule_is_the_last_real_one(
    project: Project, sent: Run, campaign: Campaign
) -> None:
    rule = {"field": "run", "op": "was", "value": {"outcome": "accepted", "run": "last"}}
    assert reach.exact(project.pk, rule).people == 4
    rehearse(campaign, sample=100)
    assert reach.exact(project.pk, rule).people == 4


def test_a_rule_that_names_a_rehearsal_finds_nobody(
    project: Project, sent: Run, campaign: Campaign
) -> None:
    rehearsal = rehearse(campaign)
    value = {"outcome": "planned", "run": rehearsal.pk}
    assert reach.exact(project.pk, {"field": "run", "op": "was", "value": value}).people == 0


def test_nothing_of_it_opens_at_the_doors_of_runs(
    project: Project, sent: Run, campaign: Campaign
) -> None:
    rehearsal = rehearse(campaign)
    call = Caller(project)
    for path in ("", "/funnel", "/breakdown", "/deliveries", "/deliveries.csv"):
        assert call.get(f"runs/{rehearsal.pk}{path}").status_code == 404, path
    for verb in ("pause", "resume", "cancel", "send-again", "rate"):
        assert call.post(f"runs/{rehearsal.pk}/{verb}").status_code == 404, verb
    page = logged_in(Role.OWNER).get(f"/admin/campaigns/run/{rehearsal.pk}/change/")
    assert page.status_code in (302, 404)


def test_why_somebody_got_it_knows_no_rehearsal(
    project: Project, sent: Run, campaign: Campaign
) -> None:
    rehearsal = rehearse(campaign)
    person = Contact.objects.filter(project=project).order_by("pk")[0]
    reply = Caller(project).get(f"runs/{rehearsal.pk}/why?contact={person.external_id}")
    assert reply.status_code == 404
