"""Live page of a run: its template context, read at one moment."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from campaigns import verbs
from campaigns.canary.first_part import part_of
from campaigns.canary.progress import phase_of
from campaigns.corrections.pages import change_text
from campaigns.engine import broken_runs
from campaigns.forecast.rate_forecast import number
from campaigns.results import reports, why_this_rate
from campaigns.results.chunk_grid import grid
from campaigns.results.next_step import NEXT_STEP, TAKE_BACK
from campaigns.results.reason_steps import STEPS
from campaigns.runs import series, sums
from campaigns.runs.chunk import Chunk
from campaigns.runs.pages.rate_line import rate_line
from campaigns.runs.pages.result import first_part
from campaigns.runs.reasons import (
    DEAD,
    NOBODY_KNOWS,
    OF_THE_MOMENT,
    SKIPS,
    Cause,
    Reason,
    cause_in_words,
)
from campaigns.runs.revisions.revision import FIRST
from campaigns.runs.run import Run
from notifications.admin.ui.polling import COMING_BACK, LONGEST_TIMER
from notifications.people import device
from notifications.people.device import Device
from notifications.staff import audit
from notifications.staff.team import Role, role_of
from notifications.values.moments import CLOCK_AND_SECOND, DAY, DAY_AND_SECOND, local
from notifications.values.shares import share, width

# Names of the totals. The templates translate them.
BARS = (
    gettext_noop("accepted"),
    gettext_noop("rejected"),
    gettext_noop("skipped"),
    gettext_noop("unknown"),
    gettext_noop("waiting"),
)
# Reasons that a user can send again, unless the run was cancelled.
SENT_TO_AGAIN = {*NOBODY_KNOWS, *OF_THE_MOMENT} - {Reason.LET_BE}
SHOWN_WAVES = 5
SHOWN_CHUNKS = 50
CHANGES_BY_ITSELF = (Run.State.PREPARING, Run.State.SENDING, Run.State.CANCELLED)


def picture(run: Run, now: datetime) -> dict[str, Any]:
    progress = reports.progress(run, now=now)
    totals = progress.totals
    return {
        "run": run,
        "zone": run.project.timezone,
        "verdict": verdict(run, progress),
        "progress": progress,
        "rate": number(progress.rate_per_second),
        "bars": [(name, count, width(count, totals.planned)) for name, count in _bars(totals)],
        "done_width": width(done_of(run, totals), totals.planned),
        "stands": _stands(run, totals),
        "asked": asked_of(totals),
        "too_often": reports.sent_too_often(run) if run.finished_at else 0,
        "balances": sum(count for _, count in _bars(totals)) == totals.planned,
        **_list_reasons(run, progress),
        "released": _count_released(run),
        "dead": _count_dead(run, progress.reasons),
        "pace": why_this_rate.beside_the_rate(run, now),
        "elapsed": _elapsed(run, now),
        "span": _span(run),
        "wakes_at": _still_to_come(progress.sleeping.next_at, now),
        "retry_at": _still_to_come(progress.retrying.next_at, now),
        "left": progress.eta_at - now if progress.eta_at else None,
        "pause": pause_in_words(run),
        **first_part.picture(run, now),
        "held": [Device.Platform(name).label for name in run.held_platforms],
        "seen": announced_stage(run, totals),
        "tag": tag(run, totals),
        "trigger": asks_again(run, now),
        "moving": moving(run),
        "texts": change_text.list_revisions(run),
    }


def course(run: Run, now: datetime, *, technical: bool) -> dict[str, Any]:
    """The run's course so far. It reads every window, so the page requests it less often."""
    context = {
        "run": run,
        "zone": run.project.timezone,
        "moving": moving(run),
        "line": rate_line(run, now),
        "answered": sums.totals_of(run).settled,
        "technical": technical,
    }
    return {**context, **_technical_details(run)} if technical else context


def _technical_details(run: Run) -> dict[str, Any]:
    """Technical details: how it was sent, not its outcome."""
    return {
        "grid": grid(run),
        "waves": reports.waves_of(run)[:SHOWN_WAVES],
        "wave_count": run.waves.count(),
        "quarantined": run.chunks.filter(state=Chunk.State.QUARANTINED)[:SHOWN_CHUNKS],
        "flower_url": flower_url(run),
    }


def sees_technical(request: HttpRequest) -> bool:
    """Whether the user sees waves and chunks: editors can act on them, viewers cannot."""
    role = role_of(request.user)
    return role is not None and role.covers(Role.EDITOR)


def course_view(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_object_or_404(Run.objects.select_related("project"), pk=run_id)
    progress = course(run, timezone.now(), technical=sees_technical(request))
    context = {**progress, "out_of_band": True}
    return render(request, "admin/campaigns/run/course.html", context)


def moving(run: Run) -> bool:
    """Whether the run can change by itself. A cancelled run is still closing its chunks."""
    return run.unfinished and run.state in CHANGES_BY_ITSELF


OVERDUE = timedelta(minutes=2)


def asks_again(run: Run, now: datetime) -> str:
    """The `hx-trigger`: each second while the run moves, else when the user comes back. Anybody may
    resume a paused run from elsewhere, so its page checks every 2 s whether it is still paused.
    """
    if not run.unfinished:
        return ""
    if moving(run):
        return "every 1s"
    if run.state == Run.State.PAUSED:
        return f"every 2s, {COMING_BACK}"
    remaining = run.scheduled_at - now
    if run.state != Run.State.SCHEDULED or remaining < -OVERDUE:
        return COMING_BACK
    seconds = max(5, int(min(remaining, LONGEST_TIMER).total_seconds()) + 2)
    return f"load delay:{seconds}s, {COMING_BACK}"


def done_of(run: Run, totals: sums.Totals) -> int:
    """How many devices are done. After a cancel, skipped ones have an outcome but do not count."""
    return totals.accepted if run.state == Run.State.CANCELLED else totals.settled


def asked_of(totals: sums.Totals) -> int:
    return sums.without_skipped(totals.planned, totals.skipped)


def _stands(run: Run, totals: sums.Totals) -> str:
    """The progress or the outcome: the one share that the page shows and speaks. A cancelled run
    has no share: FCM might have accepted all that it was asked for."""
    if run.unfinished and run.state != Run.State.CANCELLED:
        return _("%(share)s %% done") % {"share": share(totals.settled, totals.planned)}
    if run.state == Run.State.CANCELLED:
        counted = {"accepted": f"{totals.accepted:,}", "planned": f"{totals.planned:,}"}
        return _("%(accepted)s of %(planned)s accepted") % counted
    return _("%(share)s %% accepted") % {"share": share(totals.accepted, asked_of(totals))}


def _still_to_come(moment: datetime | None, now: datetime) -> datetime | None:
    return moment if moment and moment > now else None


def _count_released(run: Run) -> int:
    """How many messages a user sent again although they may have arrived."""
    return run.chunks.aggregate(people=Sum("released"))["people"] or 0


def _list_reasons(run: Run, progress: reports.Progress) -> dict[str, Any]:
    """Reasons with a next step for each: why FCM did not accept some, and why it was not asked for
    others. Unknown outcomes are separate."""
    everybody = progress.totals.planned
    lines = [
        {
            "code": code,
            "words": words,
            "count": count,
            "share": share(count, everybody if code in SKIPS else progress.totals.sent),
            "step": _step(run, code),
        }
        for code, (words, count) in zip(
            progress.reasons, reports.in_plain_words(progress.reasons), strict=True
        )
    ]
    return {
        "reasons": [line for line in lines if line["code"] not in (*SKIPS, *NOBODY_KNOWS)],
        "skips": [line for line in lines if line["code"] in SKIPS],
        "unknowns": [line for line in lines if line["code"] in NOBODY_KNOWS],
    }


def _step(run: Run, code: str) -> str | Promise:
    if run.state == Run.State.CANCELLED and code in SENT_TO_AGAIN:
        code = Reason.CUT_SHORT
    return STEPS.get(code, "")


def _count_dead(run: Run, reasons: dict[str, int]) -> dict[str, int]:
    """How many addresses FCM called dead, and how many devices were retired; empty if none."""
    count = sum(reasons.get(reason, 0) for reason in DEAD)
    if not count:
        return {}
    retired, taken_back = device.retired_by(run.reference).count(), _count_restored(run)
    still_active = count - retired - taken_back if run.finished_at else 0
    return {"count": count, "retired": retired, "taken_back": taken_back, "kept": still_active}


def _count_restored(run: Run) -> int:
    """How many devices users restored. Only the audit trail knows, not the devices' rows."""
    entries = audit.entries_of(run).filter(project=run.project_id, action="restored devices")
    return sum(detail.get("devices", 0) for detail in entries.values_list("detail", flat=True))


def verdict(run: Run, progress: reports.Progress) -> str:
    """The outcome in a sentence; empty until the run has ended."""
    totals = progress.totals
    if run.unfinished:
        return ""
    if run.state == Run.State.CANCELLED and not totals.planned:
        text = _("It was cancelled before recipients were chosen. Nothing was sent.")
        return f"{text} {run.detail}" if series.left_out(run) else text
    if not totals.planned:
        return _("Nobody matched the audience, so nothing was sent.")
    if run.state == Run.State.CANCELLED:
        words = {"accepted": f"{totals.accepted:,}", "planned": f"{totals.planned:,}"}
        return _("It was cancelled after FCM accepted %(accepted)s of %(planned)s.") % words
    sendable = asked_of(totals)
    words = {
        "accepted": f"{totals.accepted:,}",
        "planned": f"{sendable:,}",
        "share": share(totals.accepted, sendable),
    }
    if not sendable:
        return _("Everyone was skipped, so FCM was not asked for anybody.")
    text = _("FCM accepted %(accepted)s of %(planned)s: %(share)s %%.") % words
    return f"{text} {_skipped(totals)}".strip().replace(" %", "\u00a0%")


def _skipped(totals: sums.Totals) -> str:
    if not totals.skipped:
        return ""
    text = ngettext(
        "%(count)s more was skipped: FCM was not asked for it.",
        "%(count)s more were skipped: FCM was not asked for them.",
        totals.skipped,
    )
    return text % {"count": f"{totals.skipped:,}"}


def _bars(totals: sums.Totals) -> list[tuple[str, int]]:
    counts = totals.as_dict()
    return [(name, counts[name]) for name in BARS]


def stage(run: Run) -> str:
    """What the page's layout and buttons depend on. A cancelled run still closes its chunks: its
    totals are final when it has ended. A new text is a new stage. So are the phases of a canary,
    and whether the project's servers report their load."""
    state = run.state if run.unfinished else f"{run.state}.ended"
    if run.unfinished and (part := part_of(run)):
        state = f"{state}.{phase_of(run, part)}"
    if verbs.IGNORE_LOAD.fits(run):
        state = f"{state}.unreported"
    return state if run.revision == FIRST else f"{state}.{run.revision}"


def announced_stage(run: Run, totals: sums.Totals) -> str:
    """What the page has announced: it speaks again when the stage or a tenth of it changes."""
    return f"{stage(run)}-{int(totals.share * 10) if run.planned else 0}"


def tag(run: Run, totals: sums.Totals) -> str:
    """Everything that can change in a run that waits for a user; empty for one that moves."""
    if moving(run):
        return ""
    stands = (stage(run), run.epoch, run.cause, len(run.held_platforms))
    return ".".join(map(str, (*stands, totals.planned, totals.settled)))


def stands_still(run: Run, had: str) -> bool:
    """Whether a page with this tag is up to date. It takes two queries and renders nothing."""
    return bool(had) and not moving(run) and had == tag(run, sums.totals_of(run))


def pause_in_words(run: Run) -> dict[str, str]:
    """Why the run paused, with details, and what to do now. Empty unless it is paused."""
    if run.state != Run.State.PAUSED:
        return {}
    return {
        "cause": cause_in_words(run.cause),
        "detail": broken_runs.detail_of(run),
        "next_step": next_step(run),
    }


def next_step(run: Run) -> str:
    step = str(NEXT_STEP.get(run.cause, ""))
    retired = run.cause == Cause.DEAD_ADDRESSES and device.retired_by(run.reference).exists()
    return f"{step} {TAKE_BACK}" if retired else step


def flower_url(run: Run) -> str:
    # Flower copies the value into its search box unchanged, so a second term can follow it.
    return f"{settings.FLOWER_URL}/tasks?name=campaigns.tasks.send_chunk%20kwargs:run_id={run.pk}"


def _span(run: Run) -> str:
    """From start to end: the date once if it is the same; no zone, as the page names it."""
    if run.started_at is None or run.finished_at is None:
        return ""
    zone = run.project.timezone
    began, ended = (
        local(moment, zone, DAY_AND_SECOND) for moment in (run.started_at, run.finished_at)
    )
    if local(run.started_at, zone, DAY) == local(run.finished_at, zone, DAY):
        ended = local(run.finished_at, zone, CLOCK_AND_SECOND)
    return f"{began} – {ended}"


def _elapsed(run: Run, now: datetime) -> timedelta | None:
    return (run.finished_at or now) - run.started_at if run.started_at else None
