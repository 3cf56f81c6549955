"""What the page of a campaign posts, and what one person there sees of another's work."""

from __future__ import annotations

from html import unescape
from typing import Any

from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_audience, make_template

CHANGE = "campaigns_campaign_change"


def form(of: Campaign | None = None, **values: Any) -> dict[str, Any]:
    """What the page posts when nobody touched it."""
    saved = {} if of is None else {"name": of.name, "audience": of.audience_id,
                                   "template": of.template_id}  # fmt: skip
    return {
        "name": "Spring", "schedule_kind": "now", "timezone": "Asia/Seoul",
        "audience_from": "pick", "template_from": "pick", "rules": '{"all": []}',
        "max_lateness_seconds": "15 min", "ttl_seconds": "1 day", "on_unknown": "resend",
        **saved, **values,
    }  # fmt: skip


def new_form(project: Project, /, **values: Any) -> dict[str, Any]:
    """What the page posts of a new campaign, with an audience and a template of its own."""
    content = {"audience": make_audience(project).pk, "template": make_template(project).pk}
    return form(**{**content, **values})


def goal_form(campaign: Campaign, **values: Any) -> dict[str, Any]:
    """With a goal: people who bought within six hours of receiving it."""
    goal = {"goal_event": "bought", "goal_within_seconds": "6 h", "goal_after": "received",
            "goal_value": "price"}  # fmt: skip
    return form(campaign, **{**goal, **values})


def seen_by(desk: Desk, campaign: Campaign) -> str:
    page = desk.client.get(f"/admin/campaigns/campaign/{campaign.pk}/change/").content.decode()
    return unescape(page.partition('name="seen" value="')[2].partition('"')[0])
