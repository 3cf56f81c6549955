"""The same with real workers: the doorbell of the dialog, and the sweep for one that was lost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from campaigns.test_sends.models import DeviceTest, SentTest
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.given.builders import make_template
from tests.given.waiting import eventually
from tests.roles.people import logged_in
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers
from tests.test_sends.trying import ask, make_tester

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def urgent(workers: Workers) -> Iterator[Workers]:
    """The worker of single messages; nobody else is to hear of a test."""
    workers.start("urgent")
    workers.wait_until_ready("urgent")
    yield workers
    if "urgent" in workers.processes:
        workers.kill("urgent")


def accepted() -> bool:
    return set(DeviceTest.objects.values_list("status", flat=True)) == {"accepted"}


def test_a_worker_hears_of_it_at_once_and_the_sweep_finds_what_was_not_heard(
    transactional_db: None, project: Project, fcm: Fcm, urgent: Workers
) -> None:
    make_tester(project)
    make_tester(project)
    editor, template = Desk(logged_in(Role.EDITOR)), make_template(project)
    ask(editor, template)
    eventually("both phones have it", accepted, seconds=20)
    assert len(fcm.witness()) == 2

    # Asked for, and no doorbell rang: the broker was away.
    test = SentTest.objects.get()
    SentTest.objects.update(at=timezone.now() - timedelta(seconds=10))
    row = DeviceTest.objects.first()
    assert row is not None
    DeviceTest.objects.filter(pk=row.pk).update(status="waiting")
    assert test.devices.filter(status="waiting").count() == 1
    call_command("sweep", "--once")
    eventually("it is sent after all", accepted, seconds=20)
    assert len(fcm.witness()) == 3
