"""Rehearsing: what a launch at this moment would send is frozen, for FCM to check and to deliver to
nobody. The engine takes it from there, as it takes a launch.
"""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from campaigns.planning.campaign import Campaign
from campaigns.planning.intent import ready
from campaigns.planning.variants import launching
from campaigns.runs import rehearsal
from campaigns.runs.policy import TIMES
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.run import Run
from campaigns.runs.variants import split

AT_ONCE = ("spread_seconds", "opens_per_second")
LARGEST_SEED = 2**53  # a program that reads JSON keeps it as it is


class Going(Exception):
    """One of this campaign goes on already; `run` is its run."""

    def __init__(self, run: Run) -> None:
        said = _("Rehearsal %(number)d of this campaign goes on. Wait for its end, or cancel it.")
        super().__init__(said % {"number": run.pk})
        self.run = run


def rehearse(
    campaign: Campaign,
    *,
    sample: int | None,
    retires: bool,
    by: str,
    now: datetime,
    seed: int | None = None,
) -> Rehearsal:
    """Of so many devices, or of everybody. Raises Campaign.NotReady, Going, and DoesNotExist when
    somebody deleted it.

    If the process dies here: all of it is there, and the sweep rings for it, or nothing.
    """
    if found := problems(campaign, now):
        raise Campaign.NotReady(found)
    try:
        with transaction.atomic():
            locked = Campaign.locked(campaign.pk)
            texts = launching.wordings(locked)
            made = rehearsal.create(
                campaign.project_id,
                **_frozen(locked),
                split=split.launched([one.weight for one in texts], control=locked.control_percent),
                occurrence=f"rehearsal {secrets.token_hex(8)}",
                scheduled_at=now,
                launched_by=by,
                sample=sample,
                retires=retires,
                seed=secrets.randbelow(LARGEST_SEED) if seed is None else seed,
            )
            launching.freeze(made.run, texts)
            return made
    except IntegrityError as error:
        going = rehearsal.of_campaign(campaign.pk).filter(finished_at=None).first()
        if going is None:
            raise
        raise Going(going) from error


def problems(campaign: Campaign, now: datetime) -> dict[str, str]:
    """What keeps it from being launched, but for its times and what spreads it: nobody waits for a
    rehearsal, nor opens it. A text that FCM refuses is what one rehearses for."""
    found = ready.unready(campaign, now)
    unasked = (*TIMES, *AT_ONCE, "first_wait_seconds")
    return {name: words for name, words in found.items() if name not in unasked}


def _frozen(campaign: Campaign) -> dict[str, Any]:
    return {
        "campaign": campaign,
        "content": campaign.content,
        "corrects": campaign.corrects,
        "rules": campaign.audience.frozen_rules(),
        **_policy(campaign),
    }


def _policy(campaign: Campaign) -> dict[str, object]:
    """As a launch freezes it, but for what would be done to people: nothing comes into an inbox,
    nothing is counted as a goal, and a phone that gets nothing may be asked for again. Nobody goes
    first, as there is nothing to wait for, and nothing is spread, as nobody opens it. Variants, the
    control group and the holdout are drawn as a run draws them."""
    quiet = {"inbox": False, "goal_event": "", "on_unknown": Run.OnUnknown.RESEND}
    at_once = dict.fromkeys(("first_percent", *AT_ONCE))
    return {**campaign.policy, **quiet, **at_once, "winner_by": Run.WinnerBy.OWN}
