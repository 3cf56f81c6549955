"""Whom would it not reach, and why: foretold with the reasons that the result will give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.audiences import reach
from campaigns.audiences.reach import Reach
from campaigns.audiences.selection import Sql
from campaigns.planning.campaign import Campaign
from campaigns.planning.launch_check.forecast import Forecast
from campaigns.planning.outlook import Look, Refused
from campaigns.runs.reasons import Reason
from campaigns.texts import liquid, preview
from notifications.values.moments import in_words


@dataclass(frozen=True)
class Loss:
    """Devices that would get nothing. Two of them may name the same device."""

    reason: Reason
    words: str
    devices: int | None  # None: nobody could count them
    of: int | None  # so many devices were looked at
    exact: bool = True  # False: of a part of the people
    rejected: bool = False  # by FCM's rules; else we skip them
    example: str = ""  # the external id of one of the people
    variable: str = ""

    def __str__(self) -> str:
        return self.words


def without_a_value(campaign: Campaign, rules: dict[str, Any], found: Reach) -> list[Loss]:
    """Per value the text needs: how many devices belong to people without it."""
    needed = preview.needed(campaign.template.frozen())
    try:
        values = {liquid.written(path): _value(path) for path in needed}
        lacks = reach.lacking(campaign.project_id, rules, values, found)
    except reach.Uncountable:
        said = _("Nobody could count them: that takes too long with these rules.")
        return [Loss(Reason.MISSING_VALUE, said, devices=None, of=None, exact=False)]
    return [_without(lack, found) for lack in lacks]


def _value(path: liquid.Path) -> Sql:
    own = preview.OWN.get(str(path[0]))
    if own or len(path) == 1:
        return Sql(own) if own else Sql("c.attributes ->> %s", [path[0]])
    # What is empty inside a value is written as it stands, and missing only where it is not there.
    return Sql("(c.attributes #> %s::text[])::text", [[str(part) for part in path]])


def _without(lack: reach.Lack, found: Reach) -> Loss:
    said = ngettext(
        "%(count)s device: its person has no “%(name)s”, and is skipped where the text needs it.",
        "%(count)s devices: their people have no “%(name)s”, and are skipped where the text "
        "needs it.",
        lack.devices,
    )
    return Loss(
        Reason.MISSING_VALUE,
        said % {"count": f"{lack.devices:,}", "name": lack.name},
        devices=lack.devices,
        of=found.devices,
        exact=lack.exact,
        example=lack.example,
        variable=lack.name,
    )


def refused(look: Look, found: Reach) -> list[Loss]:
    """By reason: how many of those with the longest values, and one of them to look at."""
    return [
        _refused(reason, look, found) for reason in dict.fromkeys(r.reason for r in look.refused)
    ]


def _refused(reason: Reason, look: Look, found: Reach) -> Loss:
    those = [one for one in look.refused if one.reason == reason]
    return Loss(
        reason,
        _refused_words(those, look),
        devices=len(those),
        of=look.devices,
        exact=found.exact and look.devices >= found.devices,
        rejected=those[0].rejected,
        example=those[0].external_id,
    )


def _refused_words(those: list[Refused], look: Look) -> str:
    said = _(
        "%(count)s of the %(devices)s devices of the people with the longest values would "
        "be skipped, e.g. %(person)s: %(why)s"
    )
    if those[0].rejected:
        said = _(
            "%(count)s of the %(devices)s devices of the people with the longest values "
            "would be rejected, e.g. %(person)s: %(why)s"
        )
    return said % {
        "count": f"{len(those):,}",
        "devices": f"{look.devices:,}",
        "person": those[0].external_id,
        "why": those[0].why,
    }


def out_of_time(campaign: Campaign, found: Reach, pace: Forecast) -> list[Loss]:
    """Whose turn comes when the message is not worth showing any more."""
    seconds = pace.seconds(found.devices)
    if seconds <= campaign.ttl_seconds:
        return []
    said = _(
        "Sending takes about %(takes)s, but it is worth showing for %(shown)s: "
        "whoever is not reached by then is skipped. Raise the rate, or that time."
    )
    return [
        Loss(
            Reason.EXPIRED,
            said % {"takes": in_words(seconds), "shown": in_words(campaign.ttl_seconds)},
            devices=found.devices - pace.devices(campaign.ttl_seconds),
            of=found.devices,
            exact=found.exact,
        )
    ]
