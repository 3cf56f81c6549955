"""The launch report as a program asks for it, and people for it to tell of."""

from __future__ import annotations

from typing import Any

from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_contact, make_device


def checked(caller: Caller, campaign: Campaign) -> dict[str, Any]:
    answer = caller.get(f"campaigns/{campaign.pk}/check")
    assert answer.status_code == 200, answer.content
    told: dict[str, Any] = answer.json()
    return told


def codes(told: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in told["warnings"]]


def person(project: Project, external_id: str, *platforms: str, **attributes: Any) -> None:
    contact = make_contact(
        project, external_id=external_id, attributes={"first_name": "Ada", **attributes}
    )
    for platform in platforms:
        make_device(contact, platform=platform)
