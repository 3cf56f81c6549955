"""Launch: freezes a campaign into a Run. However many clicks arrive, one makes it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from campaigns.planning import campaign_variants, launch_problems, local
from campaigns.planning.campaign import Campaign
from campaigns.runs import series
from campaigns.runs.policy import TIMES
from campaigns.runs.run import Run
from campaigns.runs.series import ONCE
from campaigns.runs.variants import split


def launch(campaign: Campaign, *, by: str, now: datetime) -> Run:
    """Freeze content and policy into a Run. Raises Campaign.NotReady or AlreadyLaunched."""
    _refuse_a_second_series(campaign)
    if problems := launch_problems.problems(campaign, now):
        raise Campaign.NotReady(problems)
    try:
        with transaction.atomic():
            _refuse_what_changed_meanwhile(campaign, Campaign.locked(campaign.pk))
            _refuse_a_second_series(campaign)
            return make_run(campaign, by, now)
    except IntegrityError as error:
        run = campaign.current_run()
        if run is None:
            raise
        raise Campaign.AlreadyLaunched(run) from error


def make_run(campaign: Campaign, by: str, now: datetime) -> Run:
    """Create the run with frozen content and policy."""
    repeats = campaign.schedule_kind == campaign.Schedule.RECURRING
    first = campaign.following(now) if repeats else None
    at = first.due if first else campaign.goes_at(now)
    begins = campaign.begins(at) if at else now
    texts = campaign_variants.wordings(campaign)
    weights = [wording.weight for wording in texts]
    run = Run.objects.create(
        project_id=campaign.project_id,
        campaign=campaign,
        occurrence=series.name_of(first.instant) if first else ONCE,
        state=Run.State.SCHEDULED if begins > now else Run.State.PREPARING,
        content=campaign.content,
        corrects=campaign.corrects,
        split=split.split_at_launch(weights, control=campaign.control_percent),
        rules=campaign.audience.frozen_rules(),
        **campaign.policy,
        scheduled_at=max(begins, now),
        hour=local.hour_of(campaign, at),
        launched_by=by,
    )
    campaign_variants.freeze(run, texts)
    return run


def _refuse_what_changed_meanwhile(campaign: Campaign, locked: Campaign) -> None:
    """Raise NotReady if the campaign was changed since it was checked: what was checked is what
    is sent."""
    if _launch_inputs(campaign) != _launch_inputs(locked):
        text = _("It was changed a moment ago. Check it again, then launch it.")
        raise Campaign.NotReady({"campaign": text})


def _launch_inputs(campaign: Campaign) -> tuple[Any, ...]:
    """Return everything that a launch depends on."""
    when = [getattr(campaign, name) for name in TIMES]
    texts = [
        (wording.weight, wording.template.frozen())
        for wording in campaign_variants.wordings(campaign)
    ]
    who_and_what = (campaign.audience.frozen_rules(), texts)
    return (*who_and_what, campaign.policy, when, campaign.archived_at is None)


def _refuse_a_second_series(campaign: Campaign) -> None:
    """Raise AlreadyLaunched if the series exists. The unique key would allow a second series that
    begins with another occurrence."""
    if campaign.schedule_kind == campaign.Schedule.RECURRING and (run := campaign.series):
        raise Campaign.AlreadyLaunched(run)
