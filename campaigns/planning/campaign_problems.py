"""Form problems: what is wrong with a campaign as it stands in a form, by field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns.engagement import kept_for_goals
from campaigns.planning import local
from campaigns.planning.repeats import repeating
from campaigns.runs import series
from campaigns.runs.policy import TIMES
from campaigns.runs.run import HOLDS, Run
from campaigns.runs.series import ONCE
from notifications.fcm import rules
from notifications.people.retention import days_of
from notifications.values.moments import in_words

if TYPE_CHECKING:
    from campaigns.planning.campaign import Campaign

# An edit does not move what a launch froze. A person who may launch stops the series first.
STANDS = gettext_lazy("It already repeats. Stop it first, then change its times.")
MOVE_IT = gettext_lazy(
    "It was launched as run %(number)d. Move that run, or cancel it; then its time can be changed."
)
END_IT = gettext_lazy(
    "It was launched as run %(number)d. Cancel that run, or wait for its end; then its time can be "
    "changed."
)
# A later end would restart the series, though nobody launched that.
ENDED = gettext_lazy("Its series has ended. Duplicate the campaign to start another.")


def problems(campaign: Campaign) -> dict[str, str]:
    errors: dict[str, str] = {}
    if campaign.schedule_kind == campaign.Schedule.AT and campaign.at is None:
        errors["at"] = _("Choose a time, or launch it now.")
    if campaign.schedule_kind == campaign.Schedule.RECURRING:
        errors |= repeating.problems(campaign)
    errors |= _when_is_held(campaign) | _of_other_projects(campaign)
    errors |= of_pace(campaign) | _of_the_winner(campaign)
    if campaign.analytics_label and (words := rules.label(campaign.analytics_label)):
        errors["analytics_label"] = words
    return errors


def when_changed(campaign: Campaign) -> set[str]:
    """Return the time fields that changed since it was saved. While it is sent now, none counts:
    its other time fields are leftovers."""
    saved = type(campaign).objects.values_list(*TIMES).get(pk=campaign.pk)
    times = zip(TIMES, saved, strict=True)
    changed = {name for name, was in times if getattr(campaign, name) != was}
    still_at_once = campaign.schedule_kind == campaign.Schedule.NOW
    return set() if still_at_once and "schedule_kind" not in changed else changed


def _when_is_held(campaign: Campaign) -> dict[str, str]:
    """Refuse a new time while a series or an unfinished run exists: these keep the time for which
    they were launched, whatever the campaign says."""
    if not campaign.pk or not (changed := when_changed(campaign)):
        return {}
    if last := campaign.series:
        return {"schedule_kind": str(STANDS if series.goes_on(last, timezone.now()) else ENDED)}
    going = campaign.runs.filter(HOLDS, occurrence=ONCE, finished_at=None)
    run = going.exclude(state=Run.State.CANCELLED).first()
    if run is None:
        return {}
    text = MOVE_IT if run.state == Run.State.SCHEDULED else END_IT
    return {"schedule_kind" if "schedule_kind" in changed else "at": text % {"number": run.pk}}


def _of_other_projects(campaign: Campaign) -> dict[str, str]:
    """Refuse an audience, template or category of another project."""
    words = {
        "audience": _("There is no such audience in this project."),
        "template": _("There is no such template in this project."),
        "category": _("There is no such category in this project."),
    }
    chosen = {name: getattr(campaign, name) for name in words if getattr(campaign, f"{name}_id")}
    foreign = [
        name
        for name, chosen_object in chosen.items()
        if chosen_object.project_id != campaign.project_id
    ]
    return {name: words[name] for name in foreign}


def of_pace(campaign: Campaign) -> dict[str, str]:
    """Return why its times allow no spread or no first part, by field."""
    return _too_late(campaign) | local.problems(campaign)


def _too_late(campaign: Campaign) -> dict[str, str]:
    """Limit the wait and the spread: the last people must get it before it expires."""
    most, errors = campaign.ttl_seconds // 2, {}
    words = {"most": in_words(most)}
    if campaign.first_percent is not None and campaign.first_wait_seconds > most:
        text = _("Wait at most %(most)s, half of “Expires after”: the rest is sent after it.")
        errors["first_wait_seconds"] = text % words
    if campaign.spread_seconds is not None and campaign.spread_seconds > most:
        text = _("At most %(most)s, half of “Expires after”, which goes on while it is spread.")
        errors["spread_seconds"] = text % words
    return errors


def _of_the_winner(campaign: Campaign) -> dict[str, str]:
    if campaign.tries_variants and campaign.first_percent is None:
        return {"winner_by": _("Say above how many percent try the variants.")}
    if campaign.winner_by == Run.WinnerBy.GOAL and not campaign.goal_event:
        return {"winner_by": _("Name the goal's event, or choose by who opened it.")}
    return chosen_too_late(campaign)


def chosen_too_late(campaign: Campaign) -> dict[str, str]:
    """Refuse a wait that is longer than events are kept: without them, another variant may win."""
    days = days_of(campaign.project_id, "events")
    if days is None or not kept_for_goals.chooses_too_late(campaign, days):
        return {}
    text = ngettext(
        "The wait is too long to choose by a goal: events are kept for %(days)s day only. Shorten "
        "the wait, or keep events for longer.",
        "The wait is too long to choose by a goal: events are kept for %(days)s days only. Shorten "
        "the wait, or keep events for longer.",
        days,
    )
    return {"first_wait_seconds": text % {"days": f"{days:,}"}}
