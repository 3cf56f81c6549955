"""Alerts are raised once, told once, reminded of until somebody has seen them, and ended once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.core import mail
from django.utils import timezone

from campaigns import control, tasks
from campaigns.alerts import evaluation, events
from campaigns.alerts.conditions import CONDITIONS
from campaigns.alerts.models import Alert
from campaigns.alerts.tasks import evaluate_alerts
from campaigns.runs.tick import Tick
from notifications.people.project import Project
from notifications.webhooks.event_types import OFFERED, EventType
from notifications.webhooks.outbox import Outgoing
from tests.given.alerts import look, look_again, paused_by_itself, told
from tests.given.at_once import at_once
from tests.given.builders import make_people, make_project, make_run
from tests.given.endpoints import make_endpoint, send

pytestmark = pytest.mark.django_db
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
URL = "https://hooks.example.com/"


@pytest.fixture
def shop(project: Project) -> Project:
    make_people(project, 1)
    make_endpoint(project, URL, kinds=list(OFFERED))
    return project


def heard() -> list[tuple[str, bool]]:
    return [(event["type"], event["data"]["reminder"]) for event in told()]


RAISED, REMINDED, ENDED = ("alert.raised", False), ("alert.raised", True), ("alert.ended", False)


def test_beats_tick_looks_at_most_once_a_minute(shop: Project) -> None:
    run, now = paused_by_itself(shop), timezone.now()
    assert look(now) and not look(now + MINUTE / 2)
    control.resume(run, by="user:ada")
    assert not look(now + MINUTE / 2) and heard() == [RAISED]
    assert look(now + MINUTE) and heard() == [RAISED, ENDED]


def test_the_sweep_rings_when_a_look_is_due_and_only_then(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    expiries: list[int] = []
    monkeypatch.setattr(
        evaluate_alerts, "apply_async", lambda **how: expiries.append(how["expires"])
    )
    tasks.sweep()
    assert expiries == [], "beat has only just begun"
    tasks.sweep()
    assert expiries == [60]
    evaluate_alerts()
    tasks.sweep()
    assert len(expiries) == 1


def test_it_is_told_again_each_hour_and_once_more_when_it_is_over(shop: Project) -> None:
    run, now = paused_by_itself(shop), timezone.now()
    for minutes in range(0, 125, 5):
        look(now + minutes * MINUTE)
    assert heard() == [RAISED, REMINDED, REMINDED]
    control.resume(run, by="user:ada")
    for minutes in range(125, 300, 5):
        look(now + minutes * MINUTE)
    assert heard() == [RAISED, REMINDED, REMINDED, ENDED]


def test_what_was_seen_is_quiet_and_its_end_is_told(shop: Project) -> None:
    run, now = paused_by_itself(shop), timezone.now()
    look(now)
    alert = Alert.objects.get()
    alert.acknowledge(by="user:ada")
    look(now + 3 * HOUR)
    assert heard() == [RAISED]
    alert.undo_acknowledgement(by="user:ada")
    look(now + 3 * HOUR + MINUTE)
    assert heard() == [RAISED, REMINDED]
    alert.acknowledge(by="user:bob")
    control.resume(run, by="user:ada")
    look(now + 4 * HOUR)
    assert heard() == [RAISED, REMINDED, ENDED]
    assert told()[-1]["data"]["acknowledged_by"] == "user:bob"


def test_whoever_begins_to_listen_hears_what_stands(project: Project) -> None:
    make_people(project, 1)
    paused_by_itself(project)
    now = timezone.now()
    look(now)
    assert heard() == [] and Alert.objects.get().told_at is None
    make_endpoint(project, URL, kinds=[EventType.ALERT_RAISED])
    look(now + MINUTE)
    look(now + 2 * MINUTE)
    assert heard() == [RAISED]


def test_only_endpoints_of_the_project_that_chose_it_hear_it(shop: Project) -> None:
    make_endpoint(make_project(slug="other"), URL, kinds=list(OFFERED))
    make_endpoint(shop, URL, name="Others", kinds=[EventType.RUN_PAUSED])
    run = paused_by_itself(shop)
    make_endpoint(shop, URL, name="Of another campaign", kinds=list(OFFERED), only=[10**9])
    Outgoing.objects.all().delete()
    look()
    assert [row.endpoint.name for row in Outgoing.objects.all()] == ["Shop"]
    assert told()[0]["data"]["campaign"] == {"id": run.campaign_id, "name": run.campaign.name}


def test_a_look_that_dies_after_the_change_leaves_neither_the_alert_nor_the_word(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next tick does both, once."""
    run = paused_by_itself(shop)
    put = events._put

    def dies(*given: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(events, "_put", dies)
    with pytest.raises(KeyboardInterrupt):
        look()
    assert not Alert.objects.exists() and heard() == []
    monkeypatch.setattr(events, "_put", put)
    look_again()
    assert heard() == [RAISED]
    control.resume(run, by="user:ada")
    monkeypatch.setattr(events, "_put", dies)
    with pytest.raises(KeyboardInterrupt):
        look_again()
    assert Alert.objects.get().is_open
    monkeypatch.setattr(events, "_put", put)
    look_again()
    assert heard() == [RAISED, ENDED]


@pytest.mark.django_db(transaction=True)
def test_two_looks_at_once_raise_it_once_and_end_it_once(project: Project) -> None:
    make_people(project, 1)
    make_endpoint(project, URL, kinds=list(OFFERED))
    run = paused_by_itself(project)
    Tick.record(timezone.now())
    at_once(first=look_again, second=_look_as_another)
    assert heard() == [RAISED] and Alert.objects.get().run == run
    control.resume(run, by="user:ada")
    at_once(first=look_again, second=_look_as_another)
    assert heard() == [RAISED, ENDED]


def _look_as_another() -> None:
    """Which found nothing raised and nothing ended, and comes to write it a moment later."""
    for condition in CONDITIONS:
        problems = evaluation._check(condition, timezone.now())
        evaluation._apply(condition, problems or [], timezone.now())


def test_an_e_mail_says_it_in_plain_words_with_a_link(
    shop: Project, settings: LazySettings
) -> None:
    settings.PUBLIC_URL, settings.EMAIL_IS_SET = "https://push.example.com", True
    make_endpoint(shop, "ops@example.com", name="Ops", via="email", kinds=list(OFFERED))
    run = paused_by_itself(shop, name="Spring sale")
    look()
    send()
    (sent,) = mail.outbox
    assert sent.subject.startswith("“Spring sale” is paused and needs you")
    for said in (
        "FCM refuses our key.",
        "You get a reminder each hour until somebody acknowledges the alert on that page.",
        f"Open the run: https://push.example.com/admin/campaigns/run/{run.pk}/change/",
    ):
        assert said in sent.body


def test_without_anything_wrong_nothing_is_raised(shop: Project) -> None:
    make_run(shop)
    look()
    assert not Alert.objects.exists() and Tick.objects.get().judged_at
