"""Whether the same people were sent the same text a few days ago."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.people.project import Project
from tests.given.builders import make_campaign, make_run, make_template
from tests.servers.fcm import Fcm
from tests.text_check.reading import found, make_reader, one, read

pytestmark = pytest.mark.django_db
TEXT: dict[str, Any] = {"title": "Sale", "body": "Today", "locales": {"ko": {"title": "세일"}}}


def sent(project: Project, **template: Any) -> Run:
    run = make_run(project, template={**TEXT, **template})
    sending.send(run.pk, 1, run.epoch)
    return run


def checked(project: Project, days: int = 7, **template: Any) -> dict[str, Any]:
    return read(make_campaign(project, template={**TEXT, **template}), days=days)


def test_people_who_were_sent_the_same_text_are_counted_with_the_run(
    project: Project, fcm: Fcm
) -> None:
    make_reader(project, "before")
    run = sent(project)
    make_reader(project, "later")
    again = one(checked(project), "said_before")
    assert (again["devices"], again["runs"], again["level"]) == (1, [run.pk], "odd")


def test_another_text_is_not_the_same(project: Project, fcm: Fcm) -> None:
    make_reader(project, "bob")
    sent(project)
    assert found(checked(project, body="Tomorrow"), "said_before") == []


def test_only_readers_of_the_language_that_stayed_the_same_are_told_again(
    project: Project, fcm: Fcm
) -> None:
    make_reader(project, "bob", "en")
    make_reader(project, "mina", "ko")
    sent(project)
    new = make_template(project, title="Sale!", body="Today", locales=TEXT["locales"])
    again = one(read(make_campaign(project, template=new)), "said_before")
    assert again["devices"] == 1


def test_who_was_skipped_or_rejected_was_told_nothing(project: Project, fcm: Fcm) -> None:
    from notifications.people.device import Device  # one address that FCM refuses

    device = make_reader(project, "dead")
    Device.objects.filter(pk=device.pk).update(address="dead-1:APA91b")
    sent(project)
    Device.objects.update(retired_at=None, retired_reason="", retired_by="")
    assert found(checked(project), "said_before") == []


def test_what_was_sent_before_these_days_does_not_count(project: Project, fcm: Fcm) -> None:
    make_reader(project, "bob")
    run = sent(project)
    Run.objects.filter(pk=run.pk).update(started_at=timezone.now() - timedelta(days=8))
    assert found(checked(project), "said_before") == []
    assert one(checked(project, days=9), "said_before")["days"] == 9
    assert found(checked(project, days=0), "said_before") == []


def test_a_series_that_says_the_same_each_day_is_no_finding(project: Project, fcm: Fcm) -> None:
    make_reader(project, "bob")
    run = sent(project)
    assert one(read(run.campaign), "said_before")["devices"] == 1
    Campaign.objects.filter(pk=run.campaign.pk).update(
        schedule_kind="recurring", repeat="daily", at=timezone.now() + timedelta(days=1)
    )
    run.campaign.refresh_from_db()
    assert found(read(run.campaign), "said_before") == []
