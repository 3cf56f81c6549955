"""Start, resume or cancel a rehearsal, and restore the devices it retired.

Each leaves an entry in the audit log. The engine moves a rehearsal as it moves a launched run.
"""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from campaigns.planning import campaign_variants, launch_problems
from campaigns.planning.campaign import Campaign
from campaigns.runs import chunk, rehearsal
from campaigns.runs.policy import TIMES
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.run import Run
from campaigns.runs.variants import split
from notifications.people import device
from notifications.staff import audit

SPREADING = ("spread_seconds", "opens_per_second")
LARGEST_SEED = 2**53  # JSON parsers keep integers up to here exact


class AlreadyRunning(Exception):
    """A rehearsal of this campaign has not ended yet; `run` is its run."""

    def __init__(self, run: Run) -> None:
        text = _("Rehearsal %(number)d of this campaign goes on. Wait for its end, or cancel it.")
        super().__init__(text % {"number": run.pk})
        self.run = run


def start(
    campaign: Campaign,
    *,
    sample: int | None,
    retires: bool,
    by: str,
    now: datetime,
    seed: int | None = None,
) -> Rehearsal:
    """Freeze what a launch at this moment would send, as a rehearsal of `sample` devices; None: of
    all. Raises Campaign.NotReady, AlreadyRunning or Campaign.DoesNotExist, and changes nothing.

    If the process dies here: nothing is there, or all of it, and the sweep starts it.
    """
    if problems := find_problems(campaign, now):
        raise Campaign.NotReady(problems)
    try:
        with transaction.atomic():
            locked = Campaign.locked(campaign.pk)
            texts = campaign_variants.wordings(locked)
            created = rehearsal.create(
                campaign.project_id,
                **_snapshot(locked),
                split=split.split_at_launch(
                    [one.weight for one in texts], control=locked.control_percent
                ),
                occurrence=f"rehearsal {secrets.token_hex(8)}",
                scheduled_at=now,
                launched_by=by,
                sample=sample,
                retires=retires,
                seed=secrets.randbelow(LARGEST_SEED) if seed is None else seed,
            )
            campaign_variants.freeze(created.run, texts)
            _record(created, by, gettext_noop("rehearsed"), sample=sample, retires=retires)
            return created
    except IntegrityError as error:
        running = rehearsal.of_campaign(campaign.pk).filter(finished_at=None).first()
        if running is None:
            raise
        raise AlreadyRunning(running) from error


def resume(rehearsal: Rehearsal, *, by: str) -> None:
    """Raises Run.InvalidMove."""
    with transaction.atomic():
        rehearsal.run.resume()
        chunk.requeue_stopped(rehearsal.run)
        _record(rehearsal, by, gettext_noop("resumed the rehearsal of"))


def cancel(rehearsal: Rehearsal, *, by: str) -> None:
    """Raises Run.InvalidMove."""
    with transaction.atomic():
        rehearsal.run.cancel()
        _record(rehearsal, by, gettext_noop("cancelled the rehearsal of"))


def restore_devices(rehearsal: Rehearsal, *, by: str) -> int:
    """Restore the devices that the rehearsal retired. Returns how many."""
    with transaction.atomic():
        restored = device.restore(rehearsal.run.reference, now=timezone.now())
        if restored:
            action = gettext_noop("restored devices after the rehearsal of")
            _record(rehearsal, by, action, devices=restored)
    return restored


def _record(rehearsal: Rehearsal, by: str, action: str, **more: Any) -> None:
    """The entry names the campaign, by which people know the rehearsal."""
    run = rehearsal.run
    audit.record(by, action, run.campaign, project=run.project, rehearsal=run.pk, **more)


def find_problems(campaign: Campaign, now: datetime) -> dict[str, str]:
    """What keeps the campaign from being launched, by field, but for its schedule and what spreads
    the sending. A text that FCM refuses is no problem here: a rehearsal is to find it."""
    problems = launch_problems.unready(campaign, now)
    ignored = (*TIMES, *SPREADING, "first_wait_seconds")
    return {name: words for name, words in problems.items() if name not in ignored}


def _snapshot(campaign: Campaign) -> dict[str, Any]:
    return {
        "campaign": campaign,
        "content": campaign.content,
        "corrects": campaign.corrects,
        "rules": campaign.audience.frozen_rules(),
        **_settings(campaign),
    }


def _settings(campaign: Campaign) -> dict[str, object]:
    """The settings of a launch, without what would reach people or take time: no inbox items, no
    goal, no first part, no spreading; an unanswered request may be repeated. Variants, control
    group and holdout are drawn as in a launch."""
    harmless = {"inbox": False, "goal_event": "", "on_unknown": Run.OnUnknown.RESEND}
    at_once = dict.fromkeys(("first_percent", *SPREADING))
    return {**campaign.policy, **harmless, **at_once, "winner_by": Run.WinnerBy.OWN}
