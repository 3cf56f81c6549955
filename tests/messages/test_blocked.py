"""A project that nothing may leave of does not keep the messages of others waiting."""

from __future__ import annotations

import time
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.utils import timezone

from campaigns import tasks
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Delivery
from campaigns.runs.messages.message import Message
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.keys.credentials import ServiceAccount
from notifications.pacing import gate
from notifications.pacing.fcm_signals import AnswerCounts
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.api.caller import Caller
from tests.given.builders import make_contact, make_device, make_project
from tests.roles.people import logged_in
from tests.servers.fcm import Fcm

HELLO = {"title": "Hello", "body": "x"}


@pytest.fixture
def blocked(fcm: Fcm, project: Project) -> Project:
    """Made first, so that its messages come first."""
    other = make_project()
    ServiceAccount.store(other, fcm.service_account)
    Project.objects.filter(pk=other.pk).update(firebase_project_id="another-project")
    other.refresh_from_db()
    write(other)
    write(project)
    return other


def write(project: Project) -> None:
    make_device(make_contact(project, external_id="ada"), f"live-{project.pk}:APA91b")
    body = {"to": {"contact": "ada"}, "content": HELLO}
    assert Caller(project).post("messages", body).status_code == 202


def reached(project: Project) -> bool:
    run = Run.every.get(project=project)
    return Delivery.objects.filter(run_id=run.pk, status="accepted").exists()


def test_a_closed_gate_costs_the_other_project_less_than_a_second(
    blocked: Project, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate.Gate(blocked, reference="x").take(0, AnswerCounts(retry_after=3.0))
    rested = []

    def rest(seconds: float) -> None:
        if not reached(project):
            rested.append(seconds)

    ours = SimpleNamespace(monotonic=time.monotonic, sleep=rest)
    monkeypatch.setattr(sending, "time", ours)
    monkeypatch.setattr(tasks, "SENDING_SECONDS", 1.0)
    tasks.send_messages()

    assert reached(project)
    assert 0 < sum(rested) <= 1


def test_a_refused_key_costs_the_other_project_nothing(blocked: Project, project: Project) -> None:
    tasks.send_messages()
    assert reached(project)
    assert not reached(blocked)
    waiting = Run.every.get(project=blocked).chunks.get()
    assert waiting.not_before is not None


def test_who_asks_what_became_of_a_message_hears_why_it_waits(
    blocked: Project, project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    call = Caller(blocked)
    later = (timezone.now() + timedelta(hours=1)).isoformat()
    call.post("messages", {"to": {"contact": "ada"}, "content": HELLO, "at": later})
    due()
    due()
    planned, waiting = call.get("messages?contact=ada").json()["results"]
    assert (waiting["state"], waiting["reason"]) == ("sending", "unauthorised")
    assert "another-project" in waiting["detail"]
    assert (planned["state"], planned["reason"], planned["detail"]) == ("waiting", "", "")
    one = call.get(f"messages/{waiting['id']}").json()
    assert (one["reason"], one["detail"]) == ("unauthorised", waiting["detail"])
    assert [line for line in caplog.messages if "no message leaves" in line][1:] == []

    (ours,) = Caller(project).get("messages?contact=ada").json()["results"]
    assert (ours["state"], ours["reason"]) == ("finished", "")


def test_the_pages_say_why_messages_wait_and_stop_saying_so_once_they_leave(
    blocked: Project,
) -> None:
    desk = Desk(logged_in(Role.OPERATOR))
    desk.go_to(blocked)
    due()
    message = Message.objects.get(run_id=Run.every.get(project=blocked).pk).id
    pages: list[tuple[str, ...]] = [("campaigns_messages",), ("campaigns_message_one", message)]
    for page in pages:
        assert "FCM refuses our access." in desk.open(*page)

    Project.objects.filter(pk=blocked.pk).update(firebase_project_id="carillon-demo")
    due()
    assert reached(blocked)
    assert Run.every.get(project=blocked).cause == ""
    for page in pages:
        assert "FCM refuses our access." not in desk.open(*page)


def due() -> None:
    """What is to be tried again is."""
    Chunk.objects.update(not_before=None)
    tasks.send_messages()
