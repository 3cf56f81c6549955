"""What one reads before a launch is true: of requests that leave twice, of late starts, of ends."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from campaigns.audiences.audience import Audience
from campaigns.launch_check import freshness, quiet_hours_check
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.people.consent.category import Category
from notifications.people.project import Project
from notifications.postgres import budget
from tests.admin.desk import Desk, messages_of
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_contact, make_device, make_people, make_run

pytestmark = pytest.mark.django_db
BO = {"first_name": "Bo"}


@pytest.fixture(autouse=True)
def awake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the hour at which the tests run."""
    monkeypatch.setattr(quiet_hours_check, "WORTH_SAYING", 2)


def test_the_review_of_who_never_sends_twice_says_what_stays_unknown(
    desk: Desk, project: Project
) -> None:
    make_people(project, 3)
    campaign = make_campaign(project, on_unknown="hold")
    text = desk.open("campaign_review", campaign.pk)
    assert "Sent twice Nobody. If a connection breaks, or FCM answers that it has trouble" in text
    assert "So are up to 3 requests of a worker process that dies." in text


def test_the_review_names_the_category(desk: Desk, project: Project) -> None:
    make_people(project, 3)
    campaign = make_campaign(project)
    assert "Category No category: goes to everyone" in desk.open("campaign_review", campaign.pk)
    campaign.category = Category.objects.create(
        project=project, name="Alarms", slug="alarms", kind=Category.Kind.CRITICAL
    )
    campaign.save()
    assert "Category Alarms (Critical)" in desk.open("campaign_review", campaign.pk)


@pytest.mark.parametrize("page", ["campaign_review", "campaigns_campaign_launch"])
def test_before_a_launch_one_reads_what_happens_when_it_is_late_and_when_a_series_ends(
    desk: Desk, project: Project, page: str
) -> None:
    make_people(project, 3)
    campaign = make_campaign(
        project, schedule_kind="recurring", repeat="daily", timezone="Asia/Seoul",
        at=datetime(2031, 5, 7, tzinfo=UTC), until=datetime(2031, 5, 28, tzinfo=UTC),
        max_lateness_seconds=1_800,
    )  # fmt: skip
    text = desk.open(page, campaign.pk)
    assert "Wed 7 May 2031, 09:00 Asia/Seoul Thu 8 May 2031" in text
    assert "until 28 May 2031, 09:00 Asia/Seoul" in text
    assert "it waits for a person if it cannot start within 30 min" in text
    Campaign.objects.update(until=None)
    assert "until somebody stops it" in desk.open(page, campaign.pk)


def test_the_last_step_the_dialog_and_the_api_report_the_same(desk: Desk, project: Project) -> None:
    make_people(project, 100)
    Run.objects.filter(pk=make_run(project).pk).update(state=Run.State.SENDING)
    make_device(make_contact(project, external_id="long", attributes={**BO, "story": "x" * 5_000}))
    for _ in range(70):
        make_device(make_contact(project, attributes={**BO, "story": "x"}))
    campaign = make_campaign(
        project, template={"body": "{{ story }}"}, rate_per_second=1, ttl_seconds=60
    )
    told = Caller(project).get(f"campaigns/{campaign.pk}/check").json()
    said = [one["message"] for one in [*told["skipped"], *told["warnings"]]]
    reasons = ["missing_value", "too_long", "expired"]
    assert [one["reason"] for one in told["skipped"]] == reasons
    codes = ["no_credentials", "shared_pace"]
    assert [one["code"] for one in told["warnings"]] == codes
    for page in ("campaign_review", "campaigns_campaign_launch"):
        text = desk.open(page, campaign.pk)
        assert [words for words in said if words not in text] == []
        assert "People 171" in text and "Active devices 171" in text
        assert "Takes about 1 min 11 s" in text and "Finished about" in text


def test_a_launch_for_later_shares_its_pace_with_nobody_of_now(
    desk: Desk, project: Project
) -> None:
    make_people(project, 3)
    Run.objects.filter(pk=make_run(project).pk).update(state=Run.State.SENDING)
    campaign = make_campaign(project, schedule_kind="at", at=datetime(2031, 5, 7, tzinfo=UTC))
    for page in ("campaign_review", "campaigns_campaign_launch"):
        assert "sending now" not in desk.open(page, campaign.pk)
        Campaign.objects.update(schedule_kind="now", at=None)
        assert "sending now; the two share the project's rate" in desk.open(page, campaign.pk)
        Campaign.objects.update(schedule_kind="at", at=datetime(2031, 5, 7, tzinfo=UTC))


def test_a_launch_for_later_is_told_as_scheduled(desk: Desk, project: Project) -> None:
    make_people(project, 3)
    at = datetime(2031, 5, 7, tzinfo=UTC)
    campaign = make_campaign(project, schedule_kind="at", at=at, name="Spring")
    reply = desk.confirm("campaigns_campaign_launch", campaign.pk)
    run = Run.objects.get()
    said = f"“Spring” is scheduled as run {run.pk}: 7 May 2031, 09:00 Asia/Seoul."
    assert messages_of(reply) == [said]
    text = desk.open("campaigns_run_change", run.pk)
    assert f"Run {run.pk}, launched by" in text and "of this campaign" not in text


def test_where_nobody_can_be_counted_it_does_not_say_zero(desk: Desk, project: Project) -> None:
    make_people(project, 3)
    campaign = make_campaign(project)
    broken = {"field": "no such", "op": "eq"}
    Audience.objects.filter(pk=campaign.audience_id).update(rules=broken)
    for page in ("campaign_review", "campaigns_campaign_launch"):
        text = desk.open(page, campaign.pk)
        assert "It cannot be launched as it stands." in text and "unknown field" in text
        assert "People 0" not in text and "Nobody can be reached" not in text


def test_whoever_is_told_that_the_settings_changed_sees_the_new_ones(
    desk: Desk, project: Project
) -> None:
    make_people(project, 3)
    campaign = make_campaign(
        project, schedule_kind="at", at=datetime(2031, 5, 7, tzinfo=UTC), timezone="Asia/Seoul"
    )
    seen = freshness.marks(campaign)
    Campaign.objects.update(max_lateness_seconds=7_200)
    text = desk.open("campaigns_campaign_launch", campaign.pk, looked_at=seen)
    assert "changed the settings after you opened this page" in text
    assert "it cannot start within 2 h" in text


@pytest.mark.parametrize(
    ("link", "odd"),
    [
        ("www.shop.example", True),
        ("shop.example/sale", True),
        ("https://shop.example/sale", False),
        ("shop://sale", False),
        ("offers/12", False),
        ("/offers/shop.example/", False),
        ("", False),
    ],
)
def test_a_link_without_https_is_told_as_what_a_phone_makes_of_it(
    desk: Desk, project: Project, link: str, odd: bool
) -> None:
    make_people(project, 2)
    campaign = make_campaign(project, template={"locales": {"ko": {"link": link}}})
    said = f"The link “{link}” has no “https://”" in desk.open("campaign_review", campaign.pk)
    assert said == odd


def test_while_many_ask_what_takes_long_the_review_waits_and_looks_again(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 1)
    campaign = make_campaign(project)
    monkeypatch.setattr(budget, "AT_ONCE", 0)
    with CaptureQueriesContext(connection) as asked:
        said = desk.open("campaign_review", campaign.pk)
    assert "The numbers appear in a moment" in said
    assert not [query for query in asked if "notifications_device" in query["sql"]]
    monkeypatch.setattr(budget, "AT_ONCE", 4)
    assert "The numbers appear in a moment" not in desk.open("campaign_review", campaign.pk)


def test_the_review_says_what_sets_it_above_others(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    plain = desk.open("campaign_review", make_campaign(project).pk)
    chosen = make_campaign(project, past_caps=True, once_each=True, precedence="high")
    special = desk.open("campaign_review", chosen.pk)
    for words in (
        "Also to people who have had enough", "Only those who have not had it", "Precedence High"
    ):  # fmt: skip
        assert words in special and words not in plain
