"""Left out: some of the people who would get nothing for one of the reasons, the newest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from campaigns.audiences.happened.kind import Sql
from campaigns.audiences.reach import Alike
from campaigns.audiences.selection import sample
from campaigns.planning.campaign import Campaign
from campaigns.planning.launch_check.launch_report import LaunchReport
from campaigns.planning.launch_check.skipped import Cause
from notifications.people.consent import standing
from notifications.people.contact import Contact
from notifications.postgres.budget import within

SECONDS = 2.0
SHOWN = 100
# Who lacks a value is left out only where the text in their language needs it: so many more are
# looked at.
LOOKED_AT = 5 * SHOWN


@dataclass(frozen=True)
class LeftOut:
    cause: Cause
    people: list[Contact]
    more: bool  # than are shown


def of(report: LaunchReport, reason: str, variable: str) -> LeftOut | None:
    """None: there is no such reason. Raises TooSlow."""
    named = (one for one in report.causes if (one.reason, one.variable) == (reason, variable))
    cause = next(named, None)
    if cause is None:
        return None
    campaign = report.campaign
    with within(seconds=SECONDS):
        found = sample(
            campaign.project_id,
            campaign.audience.effective_rules,
            size=LOOKED_AT,
            only=_holds(cause, campaign),
        )
    lost = [person for person in found if _is_lost(cause, person)]
    return LeftOut(cause, lost[:SHOWN], more=len(lost) > SHOWN or len(found) == LOOKED_AT)


def _holds(cause: Cause, campaign: Campaign) -> Sql:
    """Of `c` and `d` alone: why they are out is asked here."""
    asks: dict[str, Any] = campaign.asks
    out = f"SELECT {standing.out('%s', '%s')} AS out FROM (SELECT 1) one {standing.JOIN}"
    return Sql(
        f"(d.id IS NOT NULL AND (SELECT {cause.holds.sql} FROM ({out}) standing))",
        [*cause.holds.params, asks["marketing"], asks["category"]],
    )


def _is_lost(cause: Cause, person: Contact) -> bool:
    platforms = {device.platform for device in person.devices.all()}
    alike = (Alike(person.locale, one, [], 1, person.external_id) for one in platforms)
    return any(cause.applies(one) for one in alike)
