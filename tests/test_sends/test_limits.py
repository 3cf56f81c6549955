"""How often a test may be sent, to how many, and by whom."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.test_sends import recipients
from campaigns.test_sends.create import MAX_OF_ONE, MAX_OF_PROJECT
from campaigns.test_sends.models import SentTest
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_campaign, make_device, make_template
from tests.roles.people import logged_in
from tests.test_sends.trying import answered, ask, make_tester

pytestmark = pytest.mark.django_db


@pytest.fixture
def editor(project: Project) -> Desk:
    return Desk(logged_in(Role.EDITOR))


def sent_lately(project: Project, by: str, count: int, *, minutes: float = 1) -> None:
    at = timezone.now() - timedelta(minutes=minutes)
    SentTest.objects.bulk_create(
        SentTest(project=project, name="x", content={}, ttl_seconds=1, by=by, at=at)
        for _ in range(count)
    )


def test_one_person_may_send_ten_within_five_minutes(project: Project, editor: Desk) -> None:
    make_tester(project)
    template = make_template(project)
    for _ in range(MAX_OF_ONE):
        assert "Every device" in text_of(ask(editor, template)) or SentTest.objects.exists()
    said = text_of(ask(editor, template))
    assert "You have sent 10 tests within 5 minutes, the most for one person." in said
    assert "Try again in" in said and "Send the test" in said  # the form stays to be sent later
    assert SentTest.objects.count() == MAX_OF_ONE


def test_a_project_may_send_thirty_whoever_asks(project: Project, editor: Desk) -> None:
    make_tester(project)
    sent_lately(project, "user:somebody-else", MAX_OF_PROJECT)
    said = text_of(ask(editor, make_template(project)))
    assert "This project has sent 30 tests within 5 minutes, the most for all." in said
    assert SentTest.objects.count() == MAX_OF_PROJECT


def test_what_was_sent_long_ago_counts_no_more(project: Project, editor: Desk) -> None:
    make_tester(project)
    sent_lately(project, "user:somebody-else", MAX_OF_PROJECT, minutes=5.1)
    ask(editor, make_template(project))
    assert SentTest.objects.count() == MAX_OF_PROJECT + 1


def test_more_devices_than_a_few_are_refused_whole(
    project: Project, editor: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipients, "MOST_DEVICES", 2)
    device = make_tester(project)
    make_device(device.contact)
    make_device(device.contact)
    said = text_of(ask(editor, make_template(project)))
    assert "more than 2 devices, the most for one test" in said
    assert not SentTest.objects.exists()


def test_more_testers_than_a_few_are_refused_whole(
    project: Project, editor: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipients, "MOST_DEVICES", 2)
    for _ in range(4):
        make_tester(project)
    page = editor.open("campaigns_template_test", project=project.pk)
    assert "The testers of this project: 4 people One person" in page
    assert "more than 2 devices" in text_of(ask(editor, make_template(project)))
    assert not SentTest.objects.exists()


def test_an_editor_may_and_the_trail_says_so(project: Project, editor: Desk) -> None:
    make_tester(project)
    campaign = make_campaign(project, name="Spring")
    editor.post("campaigns_campaign_test", campaign.pk, **answered())
    entry = AuditEntry.objects.get(action="sent a test of")
    assert (entry.subject_kind, entry.subject_id) == ("campaign", campaign.pk)
    assert entry.detail == {"test": SentTest.objects.get().pk, "devices": 1}


def test_a_viewer_is_offered_no_test_and_may_send_none(project: Project) -> None:
    make_tester(project)
    viewer, campaign = Desk(logged_in(Role.VIEWER)), make_campaign(project)
    assert "Send a test" not in viewer.open("campaigns_template_change", campaign.template_id)
    assert "Send a test" not in viewer.open("campaign_review", campaign.pk)
    reply = viewer.post("campaigns_campaign_test", campaign.pk, **answered())
    assert reply.status_code == 403 and not SentTest.objects.exists()
    assert ask(viewer, campaign.template).status_code == 403 and not SentTest.objects.exists()


def test_an_editor_is_offered_it_by_template_campaign_and_review(
    project: Project, editor: Desk
) -> None:
    campaign = make_campaign(project)
    assert "Send a test" in editor.open("campaigns_template_change", campaign.template_id)
    assert "Send a test" in editor.open("campaigns_template_add")
    assert "Send a test" in editor.open("campaigns_campaign_change", campaign.pk, step="what")
    assert "Send a test" in editor.open("campaign_review", campaign.pk)
