"""E-mail by a real mail server: it arrives once, with what is promised, or is given up in time."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from django.conf import LazySettings

from campaigns import control
from campaigns.engine import engine
from notifications.people.project import Project
from notifications.postgres import clock
from notifications.webhooks import send_calls
from notifications.webhooks.call import Call
from notifications.webhooks.endpoint import Endpoint
from notifications.webhooks.event_types import EventType
from notifications.webhooks.transports import mailing
from tests.given.builders import make_people, make_project, make_run
from tests.given.endpoints import happened, make_endpoint, send
from tests.servers.mailbox import Mailbox, mailbox
from tests.servers.receiver import Receiver

pytestmark = pytest.mark.django_db(transaction=True)
TO = ", ".join(f"reader{number}@example.com" for number in range(20))


@pytest.fixture
def box(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mailbox]:
    monkeypatch.setattr(send_calls, "IDLE_FOR", 0.05)
    with mailbox() as server:
        settings.EMAIL_IS_SET = True
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        yield server


@pytest.fixture
def shop(db: None) -> Project:
    return make_project()


def by_mail(project: Project) -> Endpoint:
    return make_endpoint(
        project, TO, name="Team", via=Endpoint.Via.EMAIL, kinds=[EventType.RUN_FINISHED]
    )


def a_run_ends(project: Project) -> None:
    make_people(project, 2)
    run = make_run(project)
    control.cancel(run, by="user:ada")
    engine.advance(run.pk, now=clock.now())


def test_who_reads_is_mailed_that_a_run_has_ended(box: Mailbox, shop: Project) -> None:
    by_mail(shop)
    a_run_ends(shop)
    send()
    ((to, message),) = box.mails
    assert to == TO.split(", ")
    assert "was cancelled" in message["Subject"] and "Planned: 2" in message.get_content()
    call = Call.objects.get()
    assert call.state == "accepted" and message["Message-ID"] == f"<{call.name}@carillon>"


def test_a_mail_server_that_takes_too_long_is_given_up_and_holds_up_nobody(
    box: Mailbox, shop: Project, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command is answered in time; all of them together are not."""
    monkeypatch.setattr(mailing, "TOTAL_SECONDS", 1.0)
    box.slow_seconds = 0.2
    by_mail(shop)
    make_endpoint(make_project(slug="other"), receiver.url)
    a_run_ends(shop)
    happened(Project.objects.get(slug="other"), 3)
    began = time.monotonic()
    send()
    assert time.monotonic() - began < 3, "twenty answers take four seconds"
    assert len(receiver.taken) == 3
    call = Call.objects.get(endpoint__name="Team")
    assert (call.state, call.error, call.tries) == ("waiting", "timeout", 1)
    assert box.mails == []
