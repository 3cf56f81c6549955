"""A campaign's settings have one name each: on the form, on the page of a run, in the trail."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone, translation

from campaigns import control
from campaigns.engagement.opening import OpenRate
from campaigns.planning import campaign_variants
from campaigns.planning.campaign import Campaign
from campaigns.planning.pages.form import CampaignForm
from campaigns.runs.policy import BY_CLOCK, POLICY, SETTINGS, Setting
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_campaign, make_template
from tests.given.settings import otherwise

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", POLICY)
def test_the_page_of_a_run_shows_what_was_frozen_of_each_setting(
    desk: Desk, project: Project, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = otherwise(name, project)
    [words, of] = next((one.words, one.of) for one in SETTINGS if one.field == name)
    told = {of: otherwise(of, project).kept} if of else {}
    campaign = make_campaign(project, **told, **{name: other.kept})
    if name == "winner_by":  # there must be some to choose from
        campaign_variants.choose(campaign, [(make_template(project), 50)])
    if name == "opens_per_second":  # it must be known how many open a message
        monkeypatch.setattr(OpenRate, "known", True)
        monkeypatch.setattr(OpenRate, "rate", lambda *_: 7.0)
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    page = desk.open("campaigns_run_change", run.pk)
    frozen = page.partition("What was frozen at the launch")[2]
    with translation.override("en"):
        assert f"{words} {other.said}" in frozen


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.field)
def test_the_trail_names_each_setting_in_the_readers_language(
    desk: Desk, project: Project, setting: Setting
) -> None:
    campaign = make_campaign(project, at=datetime(2030, 1, 1, tzinfo=UTC))
    page = f"/admin/campaigns/campaign/{campaign.pk}/change/"
    assert desk.client.get(page).status_code == 200
    _change(desk, campaign, setting.field)
    desk.client.cookies["django_language"] = "ko"
    trail = desk.open("notifications_auditentry_changelist")
    with translation.override("ko"):
        assert f"{setting.words}: " in trail
    assert f"{setting.field.replace('_', ' ')}: " not in trail


AT_NINE = {"passed": "now", "zoneless": "project"}


def _change(desk: Desk, campaign: Campaign, name: str) -> None:
    """As the page posts it, with one setting otherwise."""
    values: dict[str, Any] = {
        "name": campaign.name, "audience": campaign.audience_id,
        "template": campaign.template_id, "audience_from": "pick", "template_from": "pick",
        "rules": '{"all": []}', "schedule_kind": "recurring", "at": "2030-01-01T09:00",
        "repeat": "monthly", "timezone": "UTC", "max_lateness_seconds": "15 min",
        "ttl_seconds": "1 day", "on_unknown": "resend", "goal_event": "paid",
        "goal_within_seconds": "1 day", "goal_after": "opened",
        "first_percent": "5", "first_least": "500", "first_wait_seconds": "15 min",
        "first_most_rejected": "5", "first_most_dead": "10", "first_least_received": "30",
        "winner_by": "own",
    }  # fmt: skip
    if name in BY_CLOCK:
        values |= {"schedule_kind": "at", "first_percent": "", **AT_NINE}
        values |= {} if name == "local_time" else {"local_time": "on"}
    values |= {"repeat": "cron", "cron": "0 8 * * *"} if name == "cron" else {}
    values |= {"repeat": "weekly"} if name == "weekdays" else {}
    for said in (values, {**values, name: otherwise(name, campaign.project).typed}):
        assert desk.post("campaigns_campaign_change", campaign.pk, **said).status_code == 302


def test_every_setting_is_asked_for_in_its_own_words() -> None:
    translation.activate("en")
    for setting in SETTINGS:
        field = CampaignForm().fields[setting.field]
        assert str(field.help_text).startswith(str(setting.hint))
        if setting.field != "at":  # a clock on the wall: what is kept, and shown, is an instant
            assert str(field.label).lower() == str(setting.words).lower()
