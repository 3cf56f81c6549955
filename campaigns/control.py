"""The verbs of a run, of a series and of an automation, for every door. Each leaves an audit entry.

The doors enqueue `tasks.advance` afterwards; nothing here knows of Celery.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from campaigns.engine import first_part, unknowns
from campaigns.planning import correcting, moving, schedule
from campaigns.planning.campaign import Campaign
from campaigns.planning.new_text import changing, handing_on
from campaigns.planning.new_text.changing import NewText
from campaigns.planning.text_check import asking as checking
from campaigns.planning.text_check import text_check
from campaigns.planning.text_check.text_check import TextCheck
from campaigns.runs import details, series
from campaigns.runs.chunk import requeue_stopped
from campaigns.runs.reasons import Cause
from campaigns.runs.revisions.revision import revise, texts_of
from campaigns.runs.run import WAITS, Run
from campaigns.runs.series import ONCE
from campaigns.runs.variants.group import name_of
from campaigns.runs.variants.variant import has_variants
from campaigns.triggers.automation import Automation
from notifications.pacing import load
from notifications.people import device
from notifications.staff import audit


def launch(campaign: Campaign, *, by: str, now: datetime) -> Run:
    """Raises Campaign.NotReady or Campaign.AlreadyLaunched; then nothing was changed."""
    with transaction.atomic():
        run = campaign.launch(by=by, now=now)
        _record(run, by, gettext_noop("launched"))
    return run


def pause(run: Run, *, by: str) -> None:
    with transaction.atomic():
        run.pause(Cause.BY_HAND, details.by("by_hand", by))
        _record(run, by, gettext_noop("paused"))


def resume(run: Run, *, by: str) -> None:
    """Go on from the rows. Quarantined chunks get another five leases, held ones their turn."""
    with transaction.atomic():
        run.resume()
        requeue_stopped(run)
        _record(run, by, gettext_noop("resumed"))


def go_on(run: Run, *, by: str, variant: int | None = None) -> int:
    """With the rest, without waiting for what comes of the first part; with that variant, where one
    is chosen for it. Of a run that asks which, too."""
    with transaction.atomic():
        if run.asks_for_a_winner:
            run.resume()
            requeue_stopped(run)
        count = first_part.go_on(run, variant)
        if count:
            _record(run, by, gettext_noop("went on with the rest of"), recipients=count)
    return count


def cancel(run: Run, *, by: str) -> None:
    """Of a series this one alone; the next takes its place, if that is not the end."""
    with transaction.atomic():
        if run.occurrence == ONCE:
            run.cancel()
        else:
            schedule.leave_out(run, by=by, now=timezone.now())
        _record(run, by, gettext_noop("cancelled"))


def stop(campaign: Campaign, *, by: str) -> Run:
    """End its series, with the run it returns: what has not begun is cancelled, and none follows.

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
    """From now on, what comes due of its series is left out. Raises Run.InvalidMove."""
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
    """It goes on with the next one that comes due. Raises Run.InvalidMove."""
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
    """A draft that takes the place of what this run sent. Raises NotCorrectable."""
    with transaction.atomic():
        campaign = correcting.draft(run, text=text, by=by, **which)
        for made in (campaign.audience, campaign.template, campaign):
            audit.record(by, "created", made, project=campaign.project, corrects_run=run.pk)
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
    campaign: Campaign, *, by: str, now: datetime, **asked: Any
) -> list[TextCheck]:
    """Of each of its texts. Raises Refused; then nothing was written."""
    with transaction.atomic():
        checks = checking.begin(campaign, by=by, now=now, **asked)
        detail = {"links": checks[0].tries_links, "days": checks[0].days}
        _record_check(campaign, by, gettext_noop("had the texts checked of"), **detail)
    return checks


def cancel_text_check(campaign: Campaign, *, by: str, now: datetime) -> bool:
    """Whether there was one to cancel."""
    with transaction.atomic():
        cancelled = text_check.cancel(campaign, now=now)
        if cancelled:
            _record_check(campaign, by, gettext_noop("cancelled the text check of"))
    return cancelled


def _record_check(campaign: Campaign, by: str, action: str, **detail: Any) -> None:
    audit.record(by, action, campaign, project=campaign.project, **detail)


def change_rate(run: Run, rate_per_second: int | None, *, by: str) -> None:
    """Faster or slower from now on; workers that are sending take it up within a second. It takes
    the place of what spread the run over a time, or kept to so many opens a second."""
    with transaction.atomic():
        before = run.change("rate_per_second", rate_per_second, gettext("change its rate"))
        changes = {"rate_per_second": [before, rate_per_second]}
        for name in ("spread_seconds", "opens_per_second"):
            if asked := run.change(name, None, gettext("change its rate")):
                changes[name] = [asked, None]
        _record(run, by, gettext_noop("changed the rate of"), changes=changes)


def ignore_load(run: Run, *, by: str) -> bool:
    """Send as planned though the project's servers do not say how busy they are, until they do.
    False: they said it meanwhile."""
    with transaction.atomic():
        ignored = load.forget_silent(run.project_id)
        if ignored:
            _record(run, by, gettext_noop("went on without reports of the load in"))
    return ignored


def change_text(run: Run, *, new: NewText, by: str) -> int:
    """For whoever still waits; workers take it up with their next window. Returns the number of the
    new revision. Raises Run.InvalidMove, or ValidationError by field; then nothing was changed.
    """
    before, after = texts_of(run), changing.checked(run, new)
    about = _what_changed(run, before, after)
    with transaction.atomic():
        revise(run, after, of=new.revision, by=by, next_runs=new.next_runs)
        _record(run, by, CHANGED_THE_TEXT, revision=run.revision, **about)
        if new.next_runs:
            for later in handing_on.to_next_runs(run, before, after, by=by):
                _record(later, by, CHANGED_THE_TEXT, revision=later.revision, **about)
        for variant in after if new.in_template else ():
            of_it = before[variant], after[variant]
            if kept := handing_on.to_template(run, *of_it, by=by, variant=variant):
                audit.record(by, "changed", kept, project=run.project, **about)
    return run.revision


def _what_changed(run: Run, before: dict[int, Any], after: dict[int, Any]) -> dict[str, Any]:
    each = [changing.differing(before[variant], after[variant]) for variant in after]
    about: dict[str, Any] = {"fields": [*dict.fromkeys(name for names in each for name in names)]}
    if has_variants(run):
        about["variants"] = [*map(name_of, after)]
    return about


CHANGED_THE_TEXT = gettext_noop("changed the text of")


def move(run: Run, at: datetime, *, by: str, was: datetime | None = None) -> None:
    """Start at another time. With the one that somebody saw: only if it is due then still."""
    moving.move(run, to=at, was=was or run.scheduled_at, by=by, now=timezone.now())


def move_one(
    campaign: Campaign, at: datetime, *, to: datetime, by: str, was: datetime | None = None
) -> Campaign:
    """Of its series, only the one that is due then. Raises Run.InvalidMove."""
    moving.move_one(campaign, at, to=to, was=was, by=by, now=timezone.now())
    return campaign


def leave_out_one(campaign: Campaign, at: datetime, *, by: str, was: datetime) -> None:
    """Of its series, only the one that is due then. Raises Run.InvalidMove."""
    moving.leave_out_one(campaign, at, was=was, by=by, now=timezone.now())


def restore_devices(run: Run, *, by: str) -> int:
    """Take back what this run retired: the evidence was FCM's, the decision is a person's."""
    with transaction.atomic():
        restored = device.restore(run.reference, now=timezone.now())
        if restored:
            _record(run, by, gettext_noop("restored devices"), devices=restored)
    return restored


def send_again(run: Run, *, by: str) -> int:
    """To those of whom nobody knows whether their phone rang. Raises Run.InvalidMove."""
    with transaction.atomic():
        count = unknowns.send_again(run)
        if count:
            _record(
                run, by, gettext_noop("sent again to the unknown recipients of"), recipients=count
            )
    return count


def keep_unknown(run: Run, *, by: str) -> int:
    """Leave the unknown as they are; nobody is asked about them again."""
    with transaction.atomic():
        count = unknowns.keep_unknown(run)
        if count:
            _record(run, by, gettext_noop("kept the unknown outcomes of"), recipients=count)
    return count


def turn_on(automation: Automation, *, by: str) -> None:
    """Raises Automation.NotReady or Automation.InvalidMove; then nothing was changed."""
    with transaction.atomic():
        automation.turn_on()
        _record_move(automation, by, gettext_noop("turned on"))


def pause_automation(automation: Automation, *, by: str) -> None:
    """Raises Automation.InvalidMove."""
    with transaction.atomic():
        automation.pause()
        _record_move(automation, by, gettext_noop("paused"))


def archive_automation(automation: Automation, *, by: str) -> None:
    """Raises Automation.InvalidMove."""
    with transaction.atomic():
        automation.archive()
        _record_move(automation, by, gettext_noop("archived"))


def _record_move(automation: Automation, by: str, action: str) -> None:
    audit.record(by, action, automation, project=automation.project)


def _record(run: Run, by: str, action: str, **more: Any) -> None:
    audit.record(by, action, run, project=run.project, campaign=run.campaign.name, **more)
