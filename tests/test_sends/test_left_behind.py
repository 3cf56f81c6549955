"""What is left of a test: after a lost doorbell, a dead worker, a week, and who is erased."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.test_sends import retention, sending, tasks
from campaigns.test_sends.models import DeviceTest, SentTest
from campaigns.test_sends.sending import LOST_AFTER, PACE_PATIENCE
from notifications.pacing import gate
from notifications.pacing.fcm_signals import AnswerCounts
from notifications.people.person_export import everything
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.given.builders import make_contact, make_template
from tests.roles.people import logged_in
from tests.servers.fcm import Fcm
from tests.test_sends.trying import ask, ends_of, make_tester

pytestmark = pytest.mark.django_db


@pytest.fixture
def editor(project: Project) -> Desk:
    return Desk(logged_in(Role.EDITOR))


@pytest.fixture
def asked(project: Project, editor: Desk) -> SentTest:
    """Asked for, and heard by no worker."""
    make_tester(project, external_id="mina")
    ask(editor, make_template(project))
    return SentTest.objects.get()


def test_the_sweep_finds_a_test_whose_doorbell_was_lost(asked: SentTest) -> None:
    assert sending.sweep(timezone.now()) == []  # it was asked for just now
    assert sending.sweep(timezone.now() + timedelta(seconds=6)) == [asked.pk]
    DeviceTest.objects.update(status="accepted")
    assert sending.sweep(timezone.now() + timedelta(seconds=6)) == []


def test_no_phone_rings_when_workers_are_back_much_later(
    asked: SentTest, editor: Desk, fcm: Fcm
) -> None:
    assert sending.sweep(timezone.now() + timedelta(minutes=5)) == []
    row = DeviceTest.objects.get()
    assert (row.status, row.reason) == ("skipped", "expired")
    tasks.send_test(asked.pk)
    assert fcm.witness() == []
    page = editor.open("test_shown", asked.pk)
    assert "No worker sent it within four minutes" in page


def test_who_was_on_their_way_when_a_worker_died_is_unknown_and_not_sent_to_again(
    asked: SentTest, fcm: Fcm
) -> None:
    now = timezone.now()
    DeviceTest.objects.update(status="sending", at=now)
    sending.sweep(now + LOST_AFTER / 2)
    assert DeviceTest.objects.get().status == "sending"
    sending.sweep(now + LOST_AFTER + timedelta(seconds=1))
    row = DeviceTest.objects.get()
    assert (row.status, row.reason) == ("unknown", "interrupted")
    tasks.send_test(asked.pk)
    assert fcm.witness() == []


def shut(project: Project) -> None:
    """FCM told the whole project to wait."""
    pace = gate.Gate(project, reference="run 1")
    pace.take(1, AnswerCounts())
    pace.take(0, AnswerCounts(pushed_back=5, retry_after=600.0))


def test_it_waits_where_fcm_told_the_project_to_and_says_so_in_the_end(
    project: Project, asked: SentTest, fcm: Fcm
) -> None:
    shut(project)
    sending.send_test(asked.pk, timezone.now())
    assert DeviceTest.objects.get().status == "waiting"
    sending.send_test(asked.pk, timezone.now() + PACE_PATIENCE + timedelta(seconds=1))
    row = DeviceTest.objects.get()
    assert (row.status, row.reason) == ("skipped", "throttled")
    assert fcm.witness() == []


def test_a_worker_that_fails_over_one_raises_nothing(
    asked: SentTest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_args: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(sending, "gateway_of", fails)
    with caplog.at_level(logging.ERROR):
        tasks.send_test(asked.pk)
    assert f"send_test test_id={asked.pk} failed" in caplog.text
    assert DeviceTest.objects.get().status == "waiting"


def test_a_week_later_it_is_gone(asked: SentTest) -> None:
    retention.remove_old(timezone.now() + timedelta(days=6))
    assert SentTest.objects.exists()
    retention.remove_old(timezone.now() + timedelta(days=7, seconds=1))
    assert not SentTest.objects.exists() and not DeviceTest.objects.exists()


def test_an_export_has_the_tests_and_an_erasure_removes_them(
    project: Project, asked: SentTest
) -> None:
    row = DeviceTest.objects.get()
    mina = project.contact_set.get(pk=row.contact_id)
    assert b'"tests": [' in b"".join(everything(mina))
    mina.delete()
    assert ends_of(asked) == {}


def test_whose_values_were_read_take_the_test_with_them(project: Project, editor: Desk) -> None:
    make_tester(project)
    sora = make_contact(project, external_id="sora")
    ask(editor, make_template(project), values_of="sora")
    assert SentTest.objects.get().reads_as == sora.pk
    sora.delete()
    assert not SentTest.objects.exists()
