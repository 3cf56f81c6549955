"""Control: what pages and API do with runs, series and automations. Each action is audited.

The callers enqueue `tasks.advance` afterwards; nothing here knows Celery.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from campaigns.corrections import apply_to_series, change_running_text, draft_correction
from campaigns.corrections.change_running_text import NewText
from campaigns.engine import first_part, unknowns
from campaigns.planning import launch as launching
from campaigns.planning import moving, schedule
from campaigns.planning.campaign import Campaign
from campaigns.runs import details, series
from campaigns.runs.chunk import requeue_stopped
from campaigns.runs.reasons import Cause
from campaigns.runs.revisions.revision import revise, texts_of
from campaigns.runs.run import WAITS, Run
from campaigns.runs.series import ONCE
from campaigns.runs.variants.group import name_of
from campaigns.runs.variants.variant import has_variants
from campaigns.text_check import model
from campaigns.text_check import start as checking
from campaigns.text_check.model import TextCheck
from campaigns.triggers.automation import Automation
from notifications.pacing import load
from notifications.people import device
from notifications.staff import audit


def launch(campaign: Campaign, *, by: str, now: datetime) -> Run:
    """Launch a campaign. Raises Campaign.NotReady or AlreadyLaunched; then nothing has changed."""
    with transaction.atomic():
        run = launching.launch(campaign, by=by, now=now)
        _record(run, by, gettext_noop("launched"))
    return run


def pause(run: Run, *, by: str) -> None:
    with transaction.atomic():
        run.pause(Cause.BY_HAND, details.by("by_hand", by))
        _record(run, by, gettext_noop("paused"))


def resume(run: Run, *, by: str) -> None:
    """Go on from the rows. Quarantined chunks get five more leases; held chunks are sent again."""
    with transaction.atomic():
        run.resume()
        requeue_stopped(run)
        _record(run, by, gettext_noop("resumed"))


def go_on(run: Run, *, by: str, variant: int | None = None) -> int:
    """Send to the rest without waiting for the result of the first part, and return how many.

    If the rest needs a variant, it gets `variant`. A run that paused to ask for a winner is
    resumed.
    """
    with transaction.atomic():
        if run.asks_for_a_winner:
            run.resume()
            requeue_stopped(run)
        count = first_part.go_on(run, variant)
        if count:
            _record(run, by, gettext_noop("went on with the rest of"), recipients=count)
    return count


def cancel(run: Run, *, by: str) -> None:
    """Cancel the run. In a series, only this run: the next one follows, unless the series ends."""
    with transaction.atomic():
        if run.occurrence == ONCE:
            run.cancel()
        else:
            schedule.leave_out(run, by=by, now=timezone.now())
        _record(run, by, gettext_noop("cancelled"))


def stop(campaign: Campaign, *, by: str) -> Run:
    """End the campaign's series: cancel the runs that have not begun. Returns the last run.

    Raises Run.InvalidMove.
    """
    with transaction.atomic():
        last = Campaign.locked(campaign.pk).series
        if last is None or not series.goes_on(last, timezone.now()):
            raise Run.InvalidMove(_nothing_repeats(campaign))
        for run in series.waiting(campaign.pk).select_for_update(no_key=True):
            run.cancel()
            _record(run, by, gettext_noop("cancelled"))
        Run.objects.filter(pk=last.pk).update(series_stopped_at=Now())
        Campaign.objects.filter(pk=campaign.pk).update(series_paused_at=None)
        audit.record(by, gettext_noop("stopped the series of"), campaign, project=campaign.project)
    last.refresh_from_db()
    return last


def pause_series(campaign: Campaign, *, by: str) -> Campaign:
    """Pause the series: leave out its runs that come due from now on. Raises Run.InvalidMove."""
    with transaction.atomic():
        locked = Campaign.locked(campaign.pk)
        last = locked.series
        if last is None or not series.goes_on(last, timezone.now()):
            raise Run.InvalidMove(_nothing_repeats(locked))
        if locked.series_paused_at is not None:
            raise Run.InvalidMove(gettext("“%(campaign)s” is paused.") % {"campaign": locked})
        _pause_series(locked, Now(), by, gettext_noop("paused the series of"))
    return locked


def resume_series(campaign: Campaign, *, by: str) -> Campaign:
    """Resume the series with the next run that comes due. Raises Run.InvalidMove."""
    with transaction.atomic():
        locked = Campaign.locked(campaign.pk)
        if locked.series_paused_at is None:
            raise Run.InvalidMove(gettext("“%(campaign)s” is not paused.") % {"campaign": locked})
        _pause_series(locked, None, by, gettext_noop("resumed the series of"))
    return locked


def _pause_series(campaign: Campaign, at: Any, by: str, action: str) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(series_paused_at=at)
    campaign.refresh_from_db(fields=["series_paused_at"])
    audit.record(by, action, campaign, project=campaign.project)


def correct(run: Run, *, text: str, by: str, **which: Any) -> Campaign:
    """Make a draft campaign that replaces what this run sent. Raises NotCorrectable."""
    with transaction.atomic():
        campaign = draft_correction.draft(run, text=text, by=by, **which)
        for row in (campaign.audience, campaign.template, campaign):
            audit.record(by, "created", row, project=campaign.project, corrects_run=run.pk)
        _record(run, by, gettext_noop("made a correction of"), correction=campaign.name)
    return campaign


def _nothing_repeats(campaign: Campaign) -> str:
    if campaign.schedule_kind == Campaign.Schedule.RECURRING:
        text = gettext("“%(campaign)s” has no run waiting: nothing repeats.")
        return text % {"campaign": campaign}
    run = campaign.runs.filter(WAITS).first()
    if run is None:
        return gettext("“%(campaign)s” does not repeat.") % {"campaign": campaign}
    text = gettext("“%(campaign)s” does not repeat; cancel run %(number)d instead.")
    return text % {"campaign": campaign, "number": run.pk}


def begin_text_check(
    campaign: Campaign, *, by: str, now: datetime, **options: Any
) -> list[TextCheck]:
    """Begin a check of each text of the campaign. Raises Refused; then nothing was written."""
    with transaction.atomic():
        checks = checking.begin(campaign, by=by, now=now, **options)
        detail = {"links": checks[0].tries_links, "days": checks[0].days}
        _record_check(campaign, by, gettext_noop("had the texts checked of"), **detail)
    return checks


def cancel_text_check(campaign: Campaign, *, by: str, now: datetime) -> bool:
    """Cancel the campaign's text check. Returns False if there was none to cancel."""
    with transaction.atomic():
        cancelled = model.cancel(campaign, now=now)
        if cancelled:
            _record_check(campaign, by, gettext_noop("cancelled the text check of"))
    return cancelled


def _record_check(campaign: Campaign, by: str, action: str, **detail: Any) -> None:
    audit.record(by, action, campaign, project=campaign.project, **detail)


def change_rate(run: Run, rate_per_second: int | None, *, by: str) -> None:
    """Change the send rate; workers that are sending use it within a second. It replaces a spread
    over a time and a limit of opens per second."""
    with transaction.atomic():
        before = run.change("rate_per_second", rate_per_second, gettext("change its rate"))
        changes = {"rate_per_second": [before, rate_per_second]}
        for name in ("spread_seconds", "opens_per_second"):
            if previous := run.change(name, None, gettext("change its rate")):
                changes[name] = [previous, None]
        _record(run, by, gettext_noop("changed the rate of"), changes=changes)


def ignore_load(run: Run, *, by: str) -> bool:
    """Send as planned until the project's servers report their load again. Returns False if they
    have reported meanwhile."""
    with transaction.atomic():
        ignored = load.forget_silent(run.project_id)
        if ignored:
            _record(run, by, gettext_noop("went on without reports of the load in"))
    return ignored


def change_text(run: Run, *, new: NewText, by: str) -> int:
    """Change the text for recipients who still wait; workers use it from their next window on.

    Returns the number of the new revision. Raises Run.InvalidMove, or ValidationError by field;
    then nothing has changed.
    """
    before, after = texts_of(run), change_running_text.checked(run, new)
    about = _what_changed(run, before, after)
    with transaction.atomic():
        revise(run, after, of=new.revision, by=by, next_runs=new.next_runs)
        _record(run, by, CHANGED_THE_TEXT, revision=run.revision, **about)
        if new.next_runs:
            for later in apply_to_series.to_next_runs(run, before, after, by=by):
                _record(later, by, CHANGED_THE_TEXT, revision=later.revision, **about)
        for variant in after if new.in_template else ():
            of_it = before[variant], after[variant]
            if template := apply_to_series.to_template(run, *of_it, by=by, variant=variant):
                audit.record(by, "changed", template, project=run.project, **about)
    return run.revision


def _what_changed(run: Run, before: dict[int, Any], after: dict[int, Any]) -> dict[str, Any]:
    differences = [
        change_running_text.differing(before[variant], after[variant]) for variant in after
    ]
    about: dict[str, Any] = {
        "fields": [*dict.fromkeys(name for names in differences for name in names)]
    }
    if has_variants(run):
        about["variants"] = [*map(name_of, after)]
    return about


CHANGED_THE_TEXT = gettext_noop("changed the text of")


def move(run: Run, at: datetime, *, by: str, was: datetime | None = None) -> None:
    """Move the start of a run. `was`: the start that the caller saw, which must still be true."""
    moving.move(run, to=at, was=was or run.scheduled_at, by=by, now=timezone.now())


def move_one(
    campaign: Campaign, at: datetime, *, to: datetime, by: str, was: datetime | None = None
) -> Campaign:
    """Move one occurrence of the series, the one that is due at `at`. Raises Run.InvalidMove."""
    moving.move_one(campaign, at, to=to, was=was, by=by, now=timezone.now())
    return campaign


def leave_out_one(campaign: Campaign, at: datetime, *, by: str, was: datetime) -> None:
    """Leave out one occurrence of the series, the one due at `at`. Raises Run.InvalidMove."""
    moving.leave_out_one(campaign, at, was=was, by=by, now=timezone.now())


def restore_devices(run: Run, *, by: str) -> int:
    """Restore the devices that this run retired on FCM's evidence. Returns how many."""
    with transaction.atomic():
        restored = device.restore(run.reference, now=timezone.now())
        if restored:
            _record(run, by, gettext_noop("restored devices"), devices=restored)
    return restored


def send_again(run: Run, *, by: str) -> int:
    """Send again to recipients with an unknown outcome, and to those FCM refused temporarily.

    Returns how many. Raises Run.InvalidMove.
    """
    with transaction.atomic():
        count = unknowns.send_again(run)
        if count:
            _record(
                run, by, gettext_noop("sent again to the unknown recipients of"), recipients=count
            )
    return count


def keep_unknown(run: Run, *, by: str) -> int:
    """Keep unknown outcomes as unknown, and ask nobody about them again. Returns how many."""
    with transaction.atomic():
        count = unknowns.keep_unknown(run)
        if count:
            _record(run, by, gettext_noop("kept the unknown outcomes of"), recipients=count)
    return count


def turn_on(automation: Automation, *, by: str) -> None:
    """Turn an automation on. Raises NotReady or InvalidMove; then nothing has changed."""
    with transaction.atomic():
        automation.turn_on()
        _record_move(automation, by, gettext_noop("turned on"))


def pause_automation(automation: Automation, *, by: str) -> None:
    """Pause an automation. Raises Automation.InvalidMove."""
    with transaction.atomic():
        automation.pause()
        _record_move(automation, by, gettext_noop("paused"))


def archive_automation(automation: Automation, *, by: str) -> None:
    """Archive an automation for good. Raises Automation.InvalidMove."""
    with transaction.atomic():
        automation.archive()
        _record_move(automation, by, gettext_noop("archived"))


def _record_move(automation: Automation, by: str, action: str) -> None:
    audit.record(by, action, automation, project=automation.project)


def _record(run: Run, by: str, action: str, **more: Any) -> None:
    audit.record(by, action, run, project=run.project, campaign=run.campaign.name, **more)
