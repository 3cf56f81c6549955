"""Devices unseen for longer than the project wants are left out, wherever people are selected."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.audiences import estimating, last_seen, reach, selection, why
from campaigns.engine import engine, freezing
from campaigns.launch_check.launch_report import LaunchReport
from campaigns.launch_check.warnings import Code
from campaigns.runs.ledger import Recipient
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.api.caller import Caller
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_device,
    make_people,
    make_project,
    make_run,
)
from tests.roles.people import logged_in

EVERYONE: dict[str, Any] = {"all": []}
IOS = {"field": "platform", "op": "eq", "value": "ios"}


def ago(days: int) -> datetime:
    return timezone.now() - timedelta(days=days)


@pytest.fixture
def project(db: None) -> Project:
    return make_project()


@pytest.fixture
def old(project: Project) -> Device:
    """The phone that Ada had before; she has another."""
    ada = make_contact(project, external_id="ada")
    make_device(ada, platform="android", last_seen_at=ago(3))
    return make_device(ada, platform="ios", last_seen_at=ago(271))


def switch_off(project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(leave_out_unseen_days=None)


def test_a_new_project_leaves_out_what_is_unseen_for_270_days(
    project: Project, old: Device
) -> None:
    assert reach.count(project.pk, EVERYONE).devices == 1
    assert reach.count(project.pk, IOS).people == 0
    assert selection.sample(project.pk, IOS) == []
    switch_off(project)
    assert reach.count(project.pk, EVERYONE).devices == 2
    assert reach.count(project.pk, IOS).people == 1


def test_a_part_of_the_people_leaves_out_the_same_devices(project: Project, old: Device) -> None:
    for expected in (1, 2):
        part = estimating.part(1, last_seen.seen_since(project.pk))
        source = part.source.replace(f"({100 / part.times})", "(100)")
        everybody = estimating.Part(source, times=1)
        assert reach.count(project.pk, EVERYONE, part=everybody).devices == expected
        switch_off(project)


def test_a_run_freezes_the_moment_that_holds_for_all_of_its_parts(
    project: Project, old: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freezing, "DEVICES_AT_ONCE", 1)
    run = make_run(project, audience=make_audience(project))
    assert run.freezing and run.seen_since is not None
    switch_off(project)  # while it is freezing: the run keeps what held when it began
    for _ in range(5):
        engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert (run.freezing, run.planned) == (False, 1)
    assert old.pk not in Recipient.objects.values_list("device_id", flat=True)


def test_a_run_of_a_project_without_the_policy_sends_to_all(project: Project, old: Device) -> None:
    switch_off(project)
    run = make_run(project, audience=make_audience(project))
    assert (run.planned, run.seen_since) == (2, None)


def test_the_launch_report_says_how_many_are_left_out(project: Project, old: Device) -> None:
    campaign = make_campaign(project)

    def said() -> list[str]:
        report = LaunchReport(campaign, timezone.now())
        return [doubt.words for doubt in report.doubts if doubt.code == Code.UNSEEN]

    assert said() == ["1 device unseen for 270 days is left out, as set in the project."]
    warnings = Caller(project).get(f"campaigns/{campaign.pk}/check").json()["warnings"]
    assert "unseen" in [one["code"] for one in warnings]
    switch_off(project)
    assert said() == []


def test_why_shows_the_device_that_is_left_out_and_since_when(
    project: Project, old: Device
) -> None:
    found = why.verdict(Contact.objects.get(), EVERYONE)
    assert (found.is_in, found.selected) == (True, 1)
    assert {judged.device.pk: judged.unseen for judged in found.devices}[old.pk]
    desk = Desk(logged_in(Role.EDITOR))
    text = text_of(desk.post("audience_person", project=project.pk, rules="", person="ada"))
    assert "On 1 of their 2 devices" in text
    assert "the project leaves out devices unseen for 270 days" in text


def test_why_does_not_promise_a_message_to_who_has_only_an_old_phone(project: Project) -> None:
    make_device(make_contact(project, external_id="bob"), last_seen_at=ago(300))
    desk = Desk(logged_in(Role.EDITOR))
    text = text_of(desk.post("audience_person", project=project.pk, rules="", person="bob"))
    assert "so a launch cannot reach them" in text
    audience = make_audience(project)
    explained = Caller(project).get(f"audiences/{audience.pk}/explain?contact=bob").json()
    assert (explained["selected"], explained["devices"]) == (True, 0)


def test_the_page_of_the_project_counts_what_any_number_of_days_would_leave_out(
    project: Project, old: Device
) -> None:
    make_people(make_project(), 3)
    desk = Desk(logged_in(Role.OPERATOR))
    page = desk.open("notifications_project_change", project.pk)
    assert "it would leave out" in page.lower()

    def said(days: str) -> str:
        return desk.open("project_unseen", project.pk, leave_out_unseen_days=days)

    assert "1 of 2 devices" in said("270")
    assert "0 of 2 devices" in said("300")
    assert "2 of 2 devices" in said("1")
    for nothing in ("", "0", "-1", "x", "99999"):
        assert "no device is left out" in said(nothing)


@pytest.mark.parametrize(("typed", "kept"), [("30", 30), ("", None)])
def test_an_operator_sets_the_days_or_switches_it_off(
    project: Project, typed: str, kept: int | None
) -> None:
    desk = Desk(logged_in(Role.OPERATOR))
    values = {name: getattr(project, name) for name in ("name", "slug", "timezone")}
    values |= {"firebase_project_id": "carillon-demo", "quota_per_minute": 60, "ramp_seconds": 0}
    desk.save("notifications_project_change", project.pk, **values, leave_out_unseen_days=typed)
    project.refresh_from_db()
    assert project.leave_out_unseen_days == kept
