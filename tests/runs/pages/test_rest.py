"""A new campaign to those whom a run did not reach."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns import control
from campaigns.audiences.audience import Audience
from campaigns.audiences.lists import outcomes
from campaigns.planning.campaign import Campaign
from campaigns.runs.policy import NEVER, TIMES
from campaigns.runs.run import Run
from notifications.people.consent.suppression import Suppression
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.postgres.budget import TooSlow
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk, text_of
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_people, make_run
from tests.given.campaign_form import CHANGE, form, seen_by
from tests.given.runs import doubtful, ended_each_way, on_list, opened_by_some


@pytest.fixture
def run(project: Project) -> Run:
    return ended_each_way(project)


def test_the_dialog_says_how_many_the_rest_are_and_how_many_are_unknown(
    desk: Desk, run: Run
) -> None:
    said = desk.open("campaigns_run_rest", run.pk)
    assert "4 people of this run were accepted on no device." in said
    assert "For 1 of them it is unknown whether the message arrived." in said
    assert "Without the tick the new campaign goes to 3." in said
    assert Campaign.objects.count() == 1  # looking made nothing


def test_the_result_page_offers_the_rest_among_what_to_do_next(desk: Desk, run: Run) -> None:
    shown = desk.open("campaigns_run_change", run.pk)
    assert "Write to those who were not reached in a new campaign" in shown


def test_the_rest_is_a_draft_for_those_never_accepted(desk: Desk, run: Run) -> None:
    desk.confirm("campaigns_run_rest", run.pk)

    twin = Campaign.objects.exclude(pk=run.campaign.pk).get()
    assert (twin.name, twin.template_id) == ("Spring (rest)", run.campaign.template_id)
    assert twin.audience.name == f"Rest of run {run.pk}"
    assert on_list(twin.audience) == {"dead", "no-city", "no-name"}
    assert not twin.runs.exists()
    entry = AuditEntry.objects.get(detail__rest_of_run=run.pk)
    assert entry.detail["copied_from"] == run.campaign_id


def test_the_unknown_are_among_the_rest_if_ticked(desk: Desk, run: Run) -> None:
    desk.confirm("campaigns_run_rest", run.pk, unknown="on")
    twin = Campaign.objects.exclude(pk=run.campaign.pk).get()
    assert on_list(twin.audience) == {"dead", "no-city", "no-name", "perhaps"}


def test_the_rest_of_a_series_is_launched_by_hand(desk: Desk, run: Run) -> None:
    """It keeps none of the times, so that it can be edited while its run goes."""
    times = {
        "schedule_kind": "recurring", "repeat": "cron", "cron": "0 9 * * mon", "every": 2,
        "on_days": "workdays", "weekdays": "mon", "days_off": "2031-12-25",
        "holiday_names": {"2031-12-25": "Christmas"}, "at": timezone.now(), "until": timezone.now(),
        "timezone": "Asia/Tokyo", "local_time": True, "best_hour": True, "passed": "skip",
        "zoneless": "skip",
    }  # fmt: skip
    Campaign.objects.filter(pk=run.campaign.pk).update(**times)
    desk.confirm("campaigns_run_rest", run.pk)
    twin = Campaign.objects.exclude(pk=run.campaign.pk).get()
    never = {**NEVER, "schedule_kind": "now", "timezone": run.project.timezone}
    assert {name: getattr(twin, name) for name in TIMES} == never
    assert twin.holiday_names == {}

    control.launch(twin, by="user:alice", now=timezone.now())
    renamed = Caller(run.project).patch(f"campaigns/{twin.pk}", {"name": "By program"})
    assert renamed.status_code == 200, renamed.content
    zone = run.project.timezone
    typed = form(twin, name="By hand", timezone=zone, seen=seen_by(desk, twin))
    desk.save(CHANGE, twin.pk, **typed)
    twin.refresh_from_db()
    assert twin.name == "By hand"


def test_a_draft_for_now_with_a_zone_of_its_own_can_be_renamed_while_its_run_goes(
    project: Project,
) -> None:
    make_people(project, 2)
    run = make_run(project, timezone="America/New_York", zoneless="campaign")
    renamed = Caller(project).patch(f"campaigns/{run.campaign_id}", {"name": "By program"})
    assert renamed.status_code == 200, renamed.content
    at = {"kind": "at", "at": "2031-01-01T09:00:00Z"}
    moved = Caller(project).patch(f"campaigns/{run.campaign_id}", {"schedule": at})
    assert (moved.status_code, fields_at_fault(moved)) == (400, ["schedule.kind"])


def test_a_second_rest_takes_the_next_free_name(desk: Desk, run: Run) -> None:
    for _ in range(2):
        desk.confirm("campaigns_run_rest", run.pk)
    lists = Audience.objects.filter(kind="list").values_list("name", flat=True)
    assert {*lists} == {f"Rest of run {run.pk}", f"Rest of run {run.pk} 2"}


def test_whoever_was_erased_is_not_put_on_a_list(desk: Desk, run: Run) -> None:
    Contact.objects.filter(external_id="dead").delete()
    desk.confirm("campaigns_run_rest", run.pk)
    twin = Campaign.objects.exclude(pk=run.campaign.pk).get()
    assert on_list(twin.audience) == {"no-city", "no-name"}


def test_a_rest_of_unknowns_alone_needs_the_tick(desk: Desk, project: Project) -> None:
    run = doubtful(project)
    refused = desk.confirm("campaigns_run_rest", run.pk)
    assert "Without the unknown outcomes nobody would get it" in text_of(refused)
    assert Campaign.objects.count() == 1
    desk.confirm("campaigns_run_rest", run.pk, unknown="on")
    assert Campaign.objects.count() == 2


def test_the_dialog_says_how_many_of_the_rest_can_be_reached_now(desk: Desk, run: Run) -> None:
    Contact.objects.filter(external_id="no-city").update(subscribed=False)
    Device.objects.filter(contact__external_id="dead").update(
        retired_at=timezone.now(), retired_reason="unregistered"
    )
    said = desk.open("campaigns_run_rest", run.pk)
    assert "2 of them can be reached now. Without the tick 1." in said
    assert "The others: " in said
    assert "1 unsubscribed" in said and "1 without an active device" in said


def test_the_rest_is_not_offered_and_is_refused_if_nobody_of_it_can_be_reached(
    desk: Desk, run: Run
) -> None:
    assert "Send to the rest" in desk.open("campaigns_run_change", run.pk)
    Contact.objects.exclude(external_id="dead").update(subscribed=False)
    Suppression.objects.create(project=run.project, external_id="dead", at=timezone.now())
    url = reverse("admin:campaigns_run_rest", args=[run.pk])
    page = desk.client.get(url)
    said = text_of(page)
    assert "None of them can be reached now." in said
    assert "They are: 3 unsubscribed, 1 suppressed." in said
    assert 'type="submit"' not in page.content.decode()
    for ticked in ({}, {"unknown": "on"}):
        refused = text_of(desk.confirm("campaigns_run_rest", run.pk, **ticked))
        assert "None of them can be reached now." in refused
    assert Campaign.objects.count() == 1 and not Audience.objects.filter(kind="list").exists()
    shown = desk.open("campaigns_run_change", run.pk)
    assert "Send to the rest" not in shown and "Write to those who were not reached" not in shown


def test_a_rest_of_which_only_the_unknown_can_be_reached_needs_the_tick(
    desk: Desk, run: Run
) -> None:
    Contact.objects.exclude(external_id="perhaps").update(subscribed=False)
    refused = desk.confirm("campaigns_run_rest", run.pk)
    assert "Without the unknown outcomes nobody would get it" in text_of(refused)
    assert Campaign.objects.count() == 1


def test_the_dialog_says_when_the_reachable_take_too_long_to_count(
    desk: Desk, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def within(*, seconds: float) -> Any:
        raise TooSlow

    monkeypatch.setattr(outcomes, "statement_timeout", within)
    said = desk.open("campaigns_run_rest", run.pk)
    assert "takes too long to count" in said and "None of them" not in said


def test_the_link_to_who_did_not_get_it_shows_rejected_skipped_and_unknown(
    desk: Desk, run: Run
) -> None:
    page = desk.client.get(reverse("admin:campaigns_run_change", args=[run.pk])).content.decode()
    link = re.search(r'href="([^"]+)">See who did not get it', page)
    assert link
    shown = text_of(desk.client.get(link[1]))
    recipients = shown[shown.index("No. Person") :]
    for name in ("dead", "one-of-two", "no-city", "no-name", "perhaps"):
        assert name in recipients
    assert " got " not in recipients
    url = reverse("admin:run_csv", args=[run.pk]) + "?status=missed"
    lines = list(desk.client.get(url).streaming_content)  # type: ignore[attr-defined]
    assert len(b"".join(lines).splitlines()) == 1 + 5


# --- Those who have not opened it -----------------------------------------------------------------


def test_those_who_have_not_opened_it_get_a_campaign_of_their_own(
    desk: Desk, project: Project
) -> None:
    run = opened_by_some(project)
    shown = desk.open("campaigns_run_change", run.pk)
    assert "Write to those who were not reached, or have not opened it" in shown
    said = desk.open("campaigns_run_rest", run.pk)
    assert "Everybody of this run was accepted on a device." in said
    assert "3 people were accepted and are not known to have opened it." in said
    assert "1 of them has a phone that cannot tell: they may have opened it." in said
    assert "3 of them can be reached now. Of those whose phone can tell 2." in said

    desk.confirm("campaigns_run_rest", run.pk, whom="not_opened")
    twin = Campaign.objects.exclude(pk=run.campaign.pk).get()
    assert (twin.name, twin.audience.name) == (
        "Spring (not opened)",
        f"Not opened of run {run.pk}",
    )
    assert on_list(twin.audience) == {"received", "dismissed", "silent"}
    assert AuditEntry.objects.filter(detail__rest_of_run=run.pk).exists()


def test_only_those_whose_phone_can_tell_are_written_to_if_asked(
    desk: Desk, project: Project
) -> None:
    run = opened_by_some(project)
    Contact.objects.filter(external_id="received").update(subscribed=False)
    assert "The others: 1 unsubscribed." in desk.open("campaigns_run_rest", run.pk)
    desk.confirm("campaigns_run_rest", run.pk, whom="not_opened:can_tell")
    twin = Campaign.objects.exclude(pk=run.campaign.pk).get()
    assert on_list(twin.audience) == {"received", "dismissed"}


def test_it_is_refused_if_none_of_those_whose_phone_can_tell_can_be_reached(
    desk: Desk, project: Project
) -> None:
    run = opened_by_some(project)
    Contact.objects.exclude(external_id="silent").update(subscribed=False)
    refused = text_of(desk.confirm("campaigns_run_rest", run.pk, whom="not_opened:can_tell"))
    assert "None of those whose phone can tell can be reached now." in refused
    Contact.objects.update(subscribed=False)
    refused = text_of(desk.confirm("campaigns_run_rest", run.pk, whom="not_opened"))
    assert "None of them can be reached now." in refused
    assert "Send to the rest" not in desk.open("campaigns_run_change", run.pk)
    assert Campaign.objects.count() == 1


def test_nobody_is_written_to_for_not_opening_it_before_a_phone_has_reported(
    desk: Desk, run: Run
) -> None:
    said = desk.open("campaigns_run_rest", run.pk)
    assert "opened" not in said and "To whom" not in said
    desk.confirm("campaigns_run_rest", run.pk, whom="not_opened")
    twin = Campaign.objects.exclude(pk=run.campaign.pk).get()
    assert twin.name == "Spring (rest)"
