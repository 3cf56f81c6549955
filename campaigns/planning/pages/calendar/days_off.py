"""Days off on the calendar: days without recurring campaigns, and a list of them for a year."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from zoneinfo import ZoneInfo

from django.db.models import QuerySet
from django.utils.dateformat import format as written
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from campaigns.planning.campaign import Campaign
from campaigns.planning.repeats import days_off

MOST = 500  # campaigns that are checked
NAMED = 2  # in one cell


@dataclass(frozen=True)
class Off:
    """A recurring campaign and its days off."""

    campaign: Campaign
    days: dict[date, str]  # and the name of each

    def of_year(self, year: int) -> str:
        layout = pgettext("date format", "j M")
        days = sorted(day for day in self.days if day.year == year)
        return ", ".join(f"{written(day, layout)} {self.days[day]}".rstrip() for day in days)


def all_off(campaigns: QuerySet[Campaign]) -> list[Off]:
    """Days off of campaigns that are not archived. After its end a series has none."""
    repeat = campaigns.filter(schedule_kind=Campaign.Schedule.RECURRING, archived_at=None)
    series = repeat.exclude(days_off="").only(
        "pk", "name", "days_off", "holiday_names", "until", "timezone"
    )
    return [Off(campaign, _days(campaign)) for campaign in series.order_by("name", "pk")[:MOST]]


def _days(campaign: Campaign) -> dict[date, str]:
    with suppress(ValueError):
        named_days = days_off.days_off_of(campaign)
        last = campaign.until and campaign.until.astimezone(ZoneInfo(campaign.timezone)).date()
        return {day: name for day, name in named_days.items() if last is None or day <= last}
    return {}


def by_day(found: list[Off]) -> dict[date, str]:
    """Each day in words: the day's name, and which campaigns have it off."""
    campaigns_of: defaultdict[date, list[str]] = defaultdict(list)
    names_of: defaultdict[date, list[str]] = defaultdict(list)
    for off in found:
        for day, name in off.days.items():
            campaigns_of[day].append(f"“{off.campaign}”")
            if name and name not in names_of[day]:
                names_of[day].append(name)
    return {
        day: _("%(day)s: without %(names)s")
        % {"day": _few(names_of[day]) or _("Day off"), "names": _few(names)}
        for day, names in campaigns_of.items()
    }


def _few(names: list[str]) -> str:
    listed = names[:NAMED]
    if more := len(names) - len(listed):
        listed.append(ngettext("%(count)s more", "%(count)s more", more) % {"count": more})
    return ", ".join(listed)


def of_year(found: list[Off], year: int) -> list[tuple[Campaign, str]]:
    pairs = [(off.campaign, off.of_year(year)) for off in found]
    return [(campaign, days) for campaign, days in pairs if days]
