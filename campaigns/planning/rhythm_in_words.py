"""How a campaign repeats, in a sentence: on which days, on whose clock, and until when."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.runs.series import ONCE
from notifications.values.moments import CLOCK, DAY, local

EACH = {
    Campaign.Repeat.DAILY: gettext_lazy("Repeats every day at %(time)s"),
    Campaign.Repeat.WEEKLY: gettext_lazy("Repeats every week on %(weekday)s at %(time)s"),
    Campaign.Repeat.MONTHLY: gettext_lazy("Repeats every month on day %(day)s at %(time)s"),
}


def of_campaign(campaign: Campaign) -> str:
    """Empty unless it was launched to repeat, and nobody stopped it."""
    if campaign.at is None or campaign.repeat not in EACH or campaign.series is None:
        return ""
    words = {
        "weekday": local(campaign.at, campaign.timezone, "l"),
        "day": local(campaign.at, campaign.timezone, "j"),
        "time": f"{local(campaign.at, campaign.timezone, CLOCK)} {campaign.timezone}",
    }
    said = EACH[Campaign.Repeat(campaign.repeat)] % words
    if campaign.until is None:
        return _("%(repeats)s, until somebody stops it.") % {"repeats": said}
    until = local(campaign.until, campaign.timezone, DAY)
    return _("%(repeats)s, until %(until)s.") % {"repeats": said, "until": until}


def of_run(run: Run) -> str:
    return "" if run.occurrence == ONCE else of_campaign(run.campaign)
