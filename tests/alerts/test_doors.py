"""Alerts for programs: read with one scope, acknowledged with another, and counted."""

from __future__ import annotations

import pytest
from django.utils import timezone

from campaigns.alerts.models import Alert, Kind
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.alerts import look, make_alert, paused_by_itself
from tests.given.builders import make_people, make_project
from tests.given.scraped import scraped

pytestmark = pytest.mark.django_db


@pytest.fixture
def call(project: Project) -> Caller:
    make_people(project, 1)
    return Caller(project)


def test_an_alert_is_read_with_its_numbers_and_in_words(call: Caller, project: Project) -> None:
    run = paused_by_itself(project, name="Spring sale")
    look()
    alert = Alert.objects.get()
    shown = call.get(f"alerts/{alert.pk}").json()
    assert (shown["kind"], shown["run"], shown["open"]) == ("paused", run.pk, True)
    assert shown["headline"] == "“Spring sale” is paused and needs you"
    assert shown["text"].startswith("FCM refuses our key.")
    assert shown["numbers"]["cause"] == "bad_credentials"
    assert [shown[name] for name in ("told_at", "acknowledged_at", "ended_at")] == [None] * 3
    assert call.get("alerts").json()["results"] == [shown]


def test_they_are_picked_out_by_kind_and_by_whether_they_stand(
    call: Caller, project: Project
) -> None:
    stands = make_alert(project)
    over = make_alert(project, kind=Kind.DEAD_ADDRESSES, numbers={"count": 300, "usual": 20},
                      ended_at=timezone.now())  # fmt: skip

    def found(query: str) -> list[int]:
        return [one["id"] for one in call.get(f"alerts?{query}").json()["results"]]

    assert found("") == [over.pk, stands.pk]
    assert found("open=true") == [stands.pk] and found("open=false") == [over.pk]
    assert found("kind=dead_addresses") == [over.pk] and found("kind=quota&open=false") == []
    assert fields_at_fault(call.get("alerts?open=yes")) == ["open"]
    assert fields_at_fault(call.get("alerts?kind=fire")) == ["kind"]


def test_acknowledging_twice_is_acknowledging_once(call: Caller, project: Project) -> None:
    alert = make_alert(project)
    first = call.post(f"alerts/{alert.pk}/acknowledge")
    assert first.status_code == 200 and first.json()["acknowledged_by"] == f"key:{call.row.prefix}"
    again = Caller(project).post(f"alerts/{alert.pk}/acknowledge", {})
    assert again.json() == first.json()
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.subject_id) == ("acknowledged", alert.pk)


def test_one_that_is_over_stays_as_it_is(call: Caller, project: Project) -> None:
    alert = make_alert(project, ended_at=timezone.now())
    answer = call.post(f"alerts/{alert.pk}/acknowledge", {})
    assert answer.status_code == 200 and answer.json()["acknowledged_at"] is None
    assert not AuditEntry.objects.exists()


def test_who_may_only_read_acknowledges_nothing(project: Project) -> None:
    alert = make_alert(project)
    reads = Caller(project, ["runs"])
    assert reads.get(f"alerts/{alert.pk}").status_code == 200
    assert reads.post(f"alerts/{alert.pk}/acknowledge", {}).status_code == 403
    assert Caller(project, ["launch"]).get("alerts").status_code == 403
    assert Alert.objects.get().acknowledged_at is None


def test_another_projects_alert_is_not_there(call: Caller) -> None:
    alert = make_alert(make_project(slug="other"))
    assert call.get(f"alerts/{alert.pk}").status_code == 404
    assert call.post(f"alerts/{alert.pk}/acknowledge", {}).status_code == 404
    assert call.get("alerts").json()["results"] == []


def test_prometheus_counts_those_that_stand(project: Project) -> None:
    make_alert(project)
    make_alert(project, ended_at=timezone.now())
    make_alert(make_project(slug="other"))
    assert scraped("carillon_alerts", kind="quota") == 2
    assert scraped("carillon_alerts", kind="slow") == 0
