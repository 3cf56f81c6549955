"""The pages of alerts: what is wrong and was, who has seen it, what is watched, and who is told."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from campaigns import control
from campaigns.alerts import pages
from campaigns.alerts.models import Alert, Kind
from campaigns.engine import retaining
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from notifications.webhooks.endpoint import Endpoint
from notifications.webhooks.event_types import OFFERED
from notifications.webhooks.event_types import EventType as Told
from tests.admin.desk import Desk, text_of
from tests.given.alerts import look, make_alert, paused_by_itself, worked_on
from tests.given.builders import make_people, make_project, make_run
from tests.given.endpoints import make_endpoint
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db
URL = "https://hooks.example.com/"


@pytest.fixture
def sender(project: Project) -> Desk:
    make_people(project, 1)
    return Desk(logged_in(Role.SENDER))


def test_an_empty_page_says_what_is_watched_and_that_nobody_is_told(sender: Desk) -> None:
    said = sender.open("campaigns_alerts")
    assert "Nothing is wrong." in said and "Nobody is told of alerts" in said
    assert "An operator chooses who hears of alerts" in said
    for kind in Kind:
        assert str(kind.label) in said
    assert "Past alerts" not in said and "Kind of alert" not in said


def test_who_is_told_is_named_and_an_operator_is_led_to_reports(project: Project) -> None:
    make_endpoint(project, URL, name="Ops", kinds=list(OFFERED))
    make_endpoint(project, URL, name="Others", kinds=["run.finished"])
    off = make_endpoint(project, URL, name="Off", kinds=list(OFFERED))
    off.disable(Endpoint.Why.BY_HAND, now=timezone.now())
    client = logged_in(Role.OPERATOR)
    said = Desk(client).open("campaigns_alerts")
    assert "Ops Webhook" in said and "Others" not in said and "Off Webhook" not in said
    assert "/admin/notifications/endpoint/" in client.get("/admin/alerts/").content.decode()


def test_what_is_wrong_comes_first_with_its_numbers_and_a_way_to_the_run(
    project: Project, sender: Desk
) -> None:
    run = paused_by_itself(project, name="Spring sale")
    look()
    make_alert(project, kind=Kind.QUOTA, ended_at=timezone.now())
    said = sender.open("campaigns_alerts")
    wrong, past = said.split("Past alerts")
    assert "“Spring sale” is paused and needs you" in wrong and "FCM refuses our key." in wrong
    assert "Nobody was told." in wrong
    assert "570,000 of 600,000 requests were made in a minute: 95 %." in past
    assert "for 10 min" in past and "Seen by nobody." in past
    html = sender.client.get("/admin/alerts/").content.decode()
    assert f'href="/admin/campaigns/run/{run.pk}/change/"' in html


def test_seen_makes_it_quiet_and_the_undo_does_not(project: Project, sender: Desk) -> None:
    alert = make_alert(project)
    said = text_of(sender.post("campaigns_alert_quiet", alert.pk))
    assert "Seen by sender-person on" in said and "Undo: remind again" in said
    alert.refresh_from_db()
    assert alert.acknowledged_by == "user:sender-person"
    sender.post("campaigns_alert_quiet", alert.pk)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.subject_kind, entry.subject_id) == (
        "acknowledged", "alert", alert.pk,
    )  # fmt: skip
    assert "Seen: be quiet" in text_of(sender.post("campaigns_alert_remind", alert.pk))
    alert.refresh_from_db()
    assert (alert.acknowledged_at, alert.acknowledged_by) == (None, "")
    assert AuditEntry.objects.count() == 2
    trail = Desk(logged_in(Role.OPERATOR)).open("notifications_auditentry_changelist")
    assert f"acknowledged alert {alert.pk}" in trail


def test_one_that_has_ended_meanwhile_is_not_seen_any_more(project: Project, sender: Desk) -> None:
    alert = make_alert(project, ended_at=timezone.now())
    said = text_of(sender.post("campaigns_alert_quiet", alert.pk))
    assert "Over" in said and "Seen: be quiet" not in said
    assert not Alert.objects.exclude(acknowledged_at=None).exists()
    assert not AuditEntry.objects.exists()


def test_who_only_looks_is_offered_no_button(project: Project) -> None:
    alert = make_alert(project)
    viewer = Desk(logged_in(Role.VIEWER))
    assert "Seen: be quiet" not in viewer.open("campaigns_alerts")
    assert viewer.post("campaigns_alert_quiet", alert.pk).status_code == 403
    assert viewer.client.get(f"/admin/alerts/{alert.pk}/quiet/").status_code == 403
    assert Alert.objects.get().acknowledged_at is None


def test_another_projects_alerts_are_not_there(project: Project, sender: Desk) -> None:
    other = make_project(slug="other", name="Elsewhere")
    alert = make_alert(other)
    assert "FCM's quota is nearly used up" not in sender.open("campaigns_alerts")
    for page in ("campaigns_alert_quiet", "campaigns_alert_remind", "campaigns_alert_one"):
        reply = sender.post(page, alert.pk)
        assert reply.status_code == 409 and "project “Elsewhere”" in text_of(reply)
    assert Alert.objects.get().acknowledged_at is None
    sender.go_to(other)
    assert "FCM's quota is nearly used up" in sender.open("campaigns_alerts")
    led = sender.client.get(f"/admin/alerts/{alert.pk}/")
    assert led["Location"] == f"/admin/alerts/#alert-{alert.pk}"


def test_a_kind_is_picked_out_and_old_ones_are_on_older_pages(
    project: Project, sender: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PER_PAGE", 2)
    run = make_run(project, name="Spring sale")
    make_alert(project, run=run)
    old = [make_alert(project, ended_at=timezone.now()) for _ in range(3)]
    said = sender.open("campaigns_alerts", kind=Kind.QUOTA)
    assert "Nothing of this kind is wrong." in said and "Spring sale" not in said
    assert "Older" in said and "Newest" not in said
    said = sender.open("campaigns_alerts", kind=Kind.QUOTA, before=old[1].pk)
    assert "Older" not in said and "Newest" in said and "Wrong now" not in said
    for odd in ("½", "9" * 40, "-1", "x"):
        assert "Wrong now" in sender.open("campaigns_alerts", kind=odd, before=odd)


def test_the_page_of_a_run_has_its_own_with_the_same_button(project: Project, sender: Desk) -> None:
    run, other = paused_by_itself(project), paused_by_itself(project, name="Other")
    look()
    said = sender.open("campaigns_run_change", run.pk)
    assert said.count("Seen: be quiet") == 1 and "“Other” is paused" not in said
    assert said.count("FCM refuses our key.") == 1, "the page says it already"
    part = sender.open("campaigns_alerts_of_run", other.pk)
    assert "“Other” is paused and needs you" in part
    control.resume(other, by="user:ada")
    Alert.objects.update(ended_at=timezone.now())
    assert "paused" not in sender.open("campaigns_alerts_of_run", other.pk)


def test_the_overview_counts_them_and_says_those_that_nobody_has_seen_first(
    project: Project, sender: Desk
) -> None:
    assert "All alerts" not in sender.open("index")
    stuck = {"kind": Kind.STUCK, "numbers": {"since": "2031-05-31T09:30:00Z"}}
    runs = [worked_on(make_run(project, name=f"R{number}")) for number in range(4)]
    alerts = [make_alert(project, run=run, **stuck) for run in runs]
    alerts[3].acknowledge(by="user:ada")
    alerts.append(make_alert(project, run=paused_by_itself(project, name="Paused")))
    said = sender.open("index")
    assert "5 alerts stand. 4 were seen by nobody yet. All alerts" in said
    section = said.split("All alerts")[0]
    assert "“R0” is stuck for 10 min" in section and "“R3” is stuck" not in section
    assert "“Paused”" not in section, "it stands beneath"
    for alert in alerts:
        alert.acknowledge(by="user:ada")
    assert "Somebody has seen them." in sender.open("index")


def test_the_navigation_counts_what_nobody_has_seen(project: Project, sender: Desk) -> None:
    alert = make_alert(project)
    assert "Alerts 1" in sender.open("campaigns_alerts").replace("notification_important ", "")
    alert.acknowledge(by="user:ada")
    assert "Alerts 1" not in sender.open("campaigns_alerts")


def test_a_new_endpoint_is_offered_alerts(project: Project) -> None:
    client: Client = logged_in(Role.OPERATOR)
    html = client.get("/admin/notifications/endpoint/add/").content.decode()
    inputs = re.findall(r"<input[^>]*>", html)
    ticked = {
        re.findall(r'value="([^"]*)"', one)[0]
        for one in inputs
        if re.search(r"\schecked[\s/>]", one)
    }
    ticked &= set(Told.values)
    assert ticked == set(OFFERED)


def test_alerts_that_ended_long_ago_are_removed_and_what_stands_is_not(project: Project) -> None:
    long_ago = timezone.now() - timedelta(days=402)
    stands = make_alert(project, raised_at=long_ago)
    make_alert(project, kind=Kind.SLOW, raised_at=long_ago, ended_at=long_ago)
    late = make_alert(project, raised_at=long_ago, ended_at=timezone.now())
    said = Desk(logged_in(Role.OPERATOR)).open("retention", project.pk)
    assert "Alerts What was wrong and is over. What still is stays." in said
    assert "There is 2 alerts" in said
    retaining.delete_expired(now=timezone.now())
    assert set(Alert.objects.values_list("pk", flat=True)) == {stands.pk, late.pk}
