"""The health address on a project's page: tried before it is saved, shown with what it said."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from notifications.pacing import health
from notifications.pacing.health import Health
from notifications.pacing.load import Load
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, messages_of, text_of
from tests.given.builders import make_people, make_run
from tests.given.runs import unreported
from tests.roles.people import logged_in
from tests.servers.receiver import Receiver

ASK, PAGE = "notifications_project_ask_health", "notifications_project_change"


@pytest.fixture
def desk(project: Project) -> Desk:
    return Desk(logged_in(Role.OPERATOR))


@pytest.fixture
def server(receiver: Receiver) -> Receiver:
    receiver.pages["/hooks?of=us"] = 200
    receiver.says = b'{"level": 0.5}'
    return receiver


def test_an_address_is_asked_and_saved_and_the_page_says_what_was_understood(
    desk: Desk, project: Project, server: Receiver
) -> None:
    make_people(project, 2)
    make_run(project, rate_per_second=110)
    assert "Give a health address" in desk.open(PAGE, project.pk)
    reply = desk.confirm(ASK, project.pk, load_url=server.url)
    said = (
        "It says that it is 50 % busy: what is sent to many may leave at 60 a second, all together."
    )
    assert messages_of(reply)[-1] == said
    project.refresh_from_db()
    assert (project.load_url, project.load_number) == (server.url, "")
    page = desk.open(PAGE, project.pk)
    assert server.url in page and "50 % busy, said " in page
    assert AuditEntry.objects.latest("pk").changes == {"load_url": ["", server.url]}


def test_a_metric_is_found_by_its_name(desk: Desk, project: Project, server: Receiver) -> None:
    server.says = b'# TYPE busy gauge\nbusy{pool="web"} 0.25\nbusy{pool="jobs"} 1\n'
    desk.confirm(ASK, project.pk, load_url=server.url, load_number='busy{pool="web"}')
    project.refresh_from_db()
    assert project.load_number == 'busy{pool="web"}'
    assert Load.objects.get().level == 0.25


@pytest.mark.parametrize(
    ("status", "says", "why"),
    [
        (404, b"", "It answered 404. It was not saved."),
        (200, b"fine", "Its answer holds no number “level”. It was not saved."),
        (200, b'{"level": -1}', "“level” is not a number from 0 to 1 there. It was not saved."),
    ],
)
def test_one_that_says_no_level_is_not_saved_and_the_dialog_says_why(
    desk: Desk, project: Project, server: Receiver, status: int, says: bytes, why: str
) -> None:
    server.pages["/hooks?of=us"], server.says = status, says
    reply = desk.confirm(ASK, project.pk, load_url=server.url)
    assert reply.status_code == 200 and why in text_of(reply)
    project.refresh_from_db()
    assert project.load_url == "" and not Load.objects.exists()


@pytest.mark.parametrize(
    "url",
    ["http://localhost/", "https://ada:secret@shop.example.com/", "https://10.0.0.1/", "shop",
     "https://169.254.169.254/latest", "https://shop.example.com/\x00", "https://x.invalid/" * 200],
)  # fmt: skip
def test_an_address_that_we_must_not_call_is_refused(
    desk: Desk, project: Project, url: str
) -> None:
    reply = desk.confirm(ASK, project.pk, load_url=url)
    assert reply.status_code == 200
    assert 'class="' in reply.content.decode() and not messages_of(reply)
    project.refresh_from_db()
    assert project.load_url == ""


@pytest.mark.parametrize("number", ["x" * 201, "busy\nbusy"])
def test_what_names_no_number_is_refused(
    desk: Desk, project: Project, server: Receiver, number: str
) -> None:
    reply = desk.confirm(ASK, project.pk, load_url=server.url, load_number=number)
    assert reply.status_code == 200 and not messages_of(reply)
    project.refresh_from_db()
    assert project.load_url == ""


def test_without_an_address_nobody_waits_for_what_it_said_last(
    desk: Desk, project: Project, server: Receiver
) -> None:
    desk.confirm(ASK, project.pk, load_url=server.url)
    assert Load.objects.exists()
    assert (
        server.url in desk.client.get(reverse(f"admin:{ASK}", args=[project.pk])).content.decode()
    )
    reply = desk.confirm(ASK, project.pk, load_url="")
    assert messages_of(reply)[-1] == "No health address is asked."
    assert not Load.objects.exists()
    project.refresh_from_db()
    assert project.load_url == ""


def test_who_may_not_change_the_project_asks_nobody(project: Project, server: Receiver) -> None:
    stranger = Desk(logged_in(Role.EDITOR))
    reply = stranger.confirm(ASK, project.pk, load_url=server.url)
    assert reply.status_code in (302, 403) and not server.heard
    assert Client().get(reverse(f"admin:{ASK}", args=[project.pk])).status_code in (302, 403)


def test_the_run_says_why_the_address_says_nothing(
    desk: Desk, project: Project, server: Receiver
) -> None:
    run = unreported(project)
    Project.objects.update(load_url=server.url)
    project.refresh_from_db()
    server.pages.clear()
    at = health.claim(project.pk)
    assert at
    health.settle(project, at, *health.ask(server.url, ""))
    assert Health.objects.get().status == 404
    said = "Their health address says nothing: It answered 404."
    assert said in desk.open("campaigns_run_change", run.pk)
    page = desk.open(PAGE, project.pk)
    assert "It said nothing when it was asked last. It answered 404." in page
    Health.objects.update(trouble="", status=200)
    assert "health address says" not in desk.open("campaigns_run_change", run.pk)
