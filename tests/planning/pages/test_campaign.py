"""Campaigns by hand: local times, durations in words, and the launch dialog."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.conf import LazySettings

from campaigns.planning.campaign import Campaign
from campaigns.planning.pages import launch
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk, text_of
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_device,
    make_people,
    make_project,
    make_run,
)
from tests.given.campaign_form import new_form

pytestmark = pytest.mark.django_db


def at(wall: str, zone: str) -> dict[str, str]:
    return {"schedule_kind": "at", "at": wall, "timezone": zone}


# --- The form -------------------------------------------------------------------------------------


def test_a_new_campaign_starts_from_sensible_values(desk: Desk, project: Project) -> None:
    html = desk.client.get("/admin/campaigns/campaign/add/").content.decode()
    for value in ("15 min", "1 day", "Asia/Seoul"):
        assert f'value="{value}"' in html


def test_durations_are_said_in_words_and_kept_in_seconds(desk: Desk, project: Project) -> None:
    values = new_form(project, max_lateness_seconds="1 h 30 min", ttl_seconds="2 days")
    page = desk.save("campaigns_campaign_add", **values)
    campaign = Campaign.objects.get()
    assert (campaign.max_lateness_seconds, campaign.ttl_seconds) == (5_400, 172_800)
    assert "Counting people and devices" in page  # the way goes on to the review, not to the list


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("ttl_seconds", "soon", "Write it like “15 min”"),
        ("ttl_seconds", "30 s", "Between 1 min and 28 days."),
        ("max_lateness_seconds", "8 days", "Between 0 s and 7 days."),
        ("rate_per_second", "0", "greater than or equal to 1"),
        ("timezone", "Mars/Olympus", "is not a time zone we know"),
    ],
)
def test_a_value_that_cannot_be_is_refused(
    desk: Desk, project: Project, field: str, value: str, said: str
) -> None:
    values = new_form(project, **at("2027-05-01T10:00", "Asia/Seoul")) | {field: value}
    assert said in desk.save("campaigns_campaign_add", **values)
    assert not Campaign.objects.exists()


@pytest.mark.parametrize(
    ("wall", "zone", "instant"),
    [
        ("2027-05-01T10:00", "Asia/Seoul", datetime(2027, 5, 1, 1, 0, tzinfo=UTC)),
        ("2027-01-15T10:00", "Europe/Berlin", datetime(2027, 1, 15, 9, 0, tzinfo=UTC)),
        ("2027-07-15T10:00", "Europe/Berlin", datetime(2027, 7, 15, 8, 0, tzinfo=UTC)),
        ("2027-05-01T10:00", "Asia/Kathmandu", datetime(2027, 5, 1, 4, 15, tzinfo=UTC)),
    ],
)
def test_a_local_time_is_meant_in_its_zone_and_shown_so_again(
    desk: Desk, project: Project, wall: str, zone: str, instant: datetime
) -> None:
    desk.save("campaigns_campaign_add", **new_form(project, **at(wall, zone)))
    campaign = Campaign.objects.get()
    assert campaign.at == instant
    url = f"/admin/campaigns/campaign/{campaign.pk}/change/"
    assert f'value="{wall}"'.encode() in desk.client.get(url).content


def test_the_hour_that_spring_skips_is_refused_by_name(desk: Desk, project: Project) -> None:
    page = desk.save(
        "campaigns_campaign_add", **new_form(project, **at("2027-03-28T02:30", "Europe/Berlin"))
    )
    assert "02:30 does not exist on 28 March 2027 in Europe/Berlin" in page
    assert "Choose 03:30" in page
    assert not Campaign.objects.exists()


def test_the_hour_that_autumn_repeats_is_the_first_and_says_so(
    desk: Desk, project: Project
) -> None:
    page = desk.save(
        "campaigns_campaign_add", **new_form(project, **at("2027-10-31T02:30", "Europe/Berlin"))
    )
    assert Campaign.objects.get().at == datetime(2027, 10, 31, 0, 30, tzinfo=UTC)
    assert "occurs twice that night; the first one is used" in page


def test_a_campaign_for_a_time_needs_one_and_one_for_now_forgets_it(
    desk: Desk, project: Project
) -> None:
    assert "Choose a time" in desk.save(
        "campaigns_campaign_add", **new_form(project, **at("", "UTC"))
    )
    desk.save("campaigns_campaign_add", **new_form(project, at="2027-05-01T10:00"))
    assert Campaign.objects.get().at is None


def test_a_campaign_does_not_mix_projects(desk: Desk, project: Project) -> None:
    other = make_project(name="Museum")
    values = new_form(project, project=project.pk, audience=make_audience(other).pk)
    assert "There is no such audience in this project." in desk.save(
        "campaigns_campaign_add", **values
    )
    assert not Campaign.objects.exists()


# --- The launch -----------------------------------------------------------------------------------


def test_the_dialog_says_who_gets_what_and_how_long_it_takes(
    desk: Desk, project: Project, settings: LazySettings
) -> None:
    settings.FCM_ENDPOINT = "https://localhost:8199"
    make_people(project, 3)
    make_contact(project)
    campaign = make_campaign(project, name="Spring", rate_per_second=1)
    text = desk.open("campaigns_campaign_launch", campaign.pk)
    assert "Launch “Spring”?" in text
    assert "People 4" in text and "Active devices 3" in text and "Android 3" in text
    assert "3 s, at 1 a second (the campaign's own rate)" in text
    assert "Hello Ada See you" in text
    assert "the emulator, not to real phones" in text


def test_launching_makes_one_run_and_goes_to_it(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    campaign = make_campaign(project)

    reply = desk.confirm("campaigns_campaign_launch", campaign.pk)

    run = Run.objects.get()
    assert reply["HX-Redirect"] == f"/admin/campaigns/run/{run.pk}/change/"
    assert (run.launched_by, run.state) == ("user:ada", "preparing")
    assert AuditEntry.objects.filter(subject_id=run.pk, action="launched").exists()

    buttons = desk.client.get(f"/admin/campaigns/campaign/{campaign.pk}/change/").content
    assert b"/launch/" not in buttons and b"/duplicate/" in buttons
    again = desk.confirm("campaigns_campaign_launch", campaign.pk)
    assert f"already launched as run {run.pk}" in text_of(again)
    assert Run.objects.count() == 1


def test_a_campaign_that_is_not_ready_says_why_and_offers_no_button(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    past = datetime(2026, 1, 1, tzinfo=UTC)
    campaign = make_campaign(project, schedule_kind="at", at=past)
    page = desk.client.get(f"/admin/campaigns/campaign/{campaign.pk}/launch/")
    assert "This time has passed" in text_of(page)
    assert b'type="submit"' not in page.content
    desk.confirm("campaigns_campaign_launch", campaign.pk)
    assert not Run.objects.exists()


def test_an_audience_that_reaches_nobody_is_not_launched(desk: Desk, project: Project) -> None:
    campaign = make_campaign(project)
    assert "Nobody can be reached" in desk.open("campaigns_campaign_launch", campaign.pk)
    desk.confirm("campaigns_campaign_launch", campaign.pk)
    assert not Run.objects.exists()


def test_above_the_limit_the_number_of_devices_has_to_be_typed(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "TYPED_ABOVE", 2)
    make_people(project, 3)
    campaign = make_campaign(project)

    for typed in ("", "2", "three"):
        reply = desk.confirm("campaigns_campaign_launch", campaign.pk, number=typed)
        assert "Type 3 to launch." in text_of(reply)
        assert "to confirm" not in text_of(reply)  # which says the same
    assert not Run.objects.exists()

    desk.confirm("campaigns_campaign_launch", campaign.pk, number=" 3 ")
    assert Run.objects.count() == 1


def test_duplicating_makes_a_draft_of_its_own(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    run = make_run(project, name="Spring")
    reply = desk.confirm("campaigns_campaign_duplicate", run.campaign_id)
    copy = Campaign.objects.get(name="Spring (copy)")
    assert reply["HX-Redirect"].endswith(f"/{copy.pk}/change/")
    assert "Counting people and devices" in desk.open("campaigns_campaign_change", copy.pk)
    assert "edits here do not reach it" in desk.open("campaigns_campaign_change", run.campaign_id)


def test_a_campaign_launched_while_its_deletion_was_confirmed_is_kept(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(project)
    monkeypatch.setattr("campaigns.planning.pages.campaign.CampaignPage.used_by", lambda *_: [])
    page = desk.save("campaigns_campaign_delete", run.campaign_id, post="yes")
    assert "Something started using it a moment ago." in page
    assert Campaign.objects.filter(pk=run.campaign.pk).exists()


def test_a_campaign_with_runs_is_not_deleted(desk: Desk, project: Project) -> None:
    run = make_run(project)
    page = desk.save("campaigns_campaign_delete", run.campaign_id, post="yes")
    assert f"It is used by run {run.pk}." in page
    assert Campaign.objects.filter(pk=run.campaign.pk).exists()


# --- What FCM would say ---------------------------------------------------------------------------


def test_the_dialog_names_how_many_of_the_longest_would_be_rejected(
    desk: Desk, project: Project
) -> None:
    campaign = make_campaign(project, name="Été à Séoul", template={"body": "{{ story }}"})
    for number, story in enumerate(["short", "é" * 1_000, "é" * 2_040, "é" * 2_045]):
        person = {"first_name": "Ada", "story": story}
        make_device(make_contact(project, external_id=f"p{number}", attributes=person))
    make_device(make_contact(project, external_id="p9", attributes={"first_name": "Ada"}))
    page = desk.open("campaigns_campaign_launch", campaign.pk)
    assert (
        "2 of the 5 devices of the people with the longest values would be rejected, e.g. p3: 4,1"
        in page
    )
    assert "bytes on Android; FCM takes 4,096. Shorten it." in page
    assert "1 will be skipped: no story" in page
    assert f"ete-a-seoul-{campaign.pk}" in page
    reply = desk.confirm("campaigns_campaign_launch", campaign.pk)  # a few are no obstacle
    assert reply.status_code in (200, 302) and campaign.runs.exists()


def test_a_message_fcm_takes_for_nobody_is_not_launched(desk: Desk, project: Project) -> None:
    campaign = make_campaign(project, template={"link": "{{ url }}"})
    make_device(make_contact(project, attributes={"first_name": "Ada", "url": "http://x"}))
    page = desk.open("campaigns_campaign_launch", campaign.pk)
    assert "FCM would reject it for every person checked. message.data.link: must be https" in page
    desk.confirm("campaigns_campaign_launch", campaign.pk)
    assert not campaign.runs.exists()


def test_an_analytics_label_firebase_would_drop_is_refused(desk: Desk, project: Project) -> None:
    page = desk.save("campaigns_campaign_add", **new_form(project, analytics_label="two words"))
    assert "no spaces" in page and not Campaign.objects.exists()
    desk.save("campaigns_campaign_add", **new_form(project, analytics_label="two-words"))
    assert Campaign.objects.get().label == "two-words"


def test_a_zone_chosen_for_a_time_does_not_stay_when_it_goes_out_at_once(
    desk: Desk, project: Project
) -> None:
    values = new_form(project, **at("2030-05-01T10:00", "America/New_York"))
    desk.save("campaigns_campaign_add", **values)
    campaign = Campaign.objects.get()
    assert campaign.timezone == "America/New_York"
    values = {**values, "schedule_kind": "now", "at": ""}
    desk.save("campaigns_campaign_change", campaign.pk, **values)
    campaign.refresh_from_db()
    assert (campaign.schedule_kind, campaign.timezone) == ("now", project.timezone)
