"""The sentences and widths on the page of a rehearsal."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from campaigns.engine import broken_runs
from campaigns.rehearsals.projection import Interval
from campaigns.rehearsals.report import RehearsalReport
from campaigns.results.next_step import NEXT_STEP
from campaigns.runs.reasons import cause_in_words, in_words
from campaigns.runs.run import Run
from notifications.people.device import Device
from notifications.values.shares import share, width

# The templates translate them where they stand.
NAMES = (
    gettext_noop("planned"),
    gettext_noop("accepted"),
    gettext_noop("rejected"),
    gettext_noop("skipped"),
    gettext_noop("unknown"),
)
LOCALES_SHOWN = 8


def build_context(report: RehearsalReport) -> dict[str, Any]:
    rehearsal, totals = report.rehearsal, report.totals
    run, planned = rehearsal.run, totals.planned
    return {
        "rehearsal": rehearsal,
        "run": run,
        "report": report,
        "zone": run.project.timezone,
        "verdict": _keep_percents(verdict(report)),
        "moving": run.finished_at is None and run.state != Run.State.PAUSED,
        "bars": [
            (name, count, width(count, planned))
            for name, count in totals.as_dict().items()
            if name != "planned"
        ],
        "done_width": width(totals.settled, planned),
        "progress": _("%(share)s %% done") % {"share": share(totals.settled, planned)},
        "pause": pause_in_words(run),
        "reasons": [(in_words(code), count) for code, count in report.progress.reasons.items()],
        "strata": _strata_in_words(rehearsal.strata),
        "dead_words": _keep_percents(dead_in_words(report)),
        "quota_words": _keep_percents(quota_in_words(report)),
    }


def _keep_percents(words: str) -> str:
    """Keep each percent sign on the line of its number."""
    return words.replace(" %", "\u00a0%")


def pause_in_words(run: Run) -> dict[str, str]:
    if run.state != Run.State.PAUSED:
        return {}
    return {
        "cause": cause_in_words(run.cause),
        "detail": broken_runs.detail_of(run),
        "next_step": str(NEXT_STEP.get(run.cause, "")),
    }


def verdict(report: RehearsalReport) -> str:
    """What a launch would achieve, in a sentence. Empty until the rehearsal has ended."""
    totals = report.totals
    if report.rehearsal.run.state == Run.State.CANCELLED:
        return _("It was cancelled, so it foretells nothing.")
    if not report.has_finished:
        return ""
    if not totals.planned:
        return _("Nobody matches the audience: a launch would send nothing.")
    accepted = next(one for one in report.outcomes if one.name == "accepted")
    words = {
        "count": f"{accepted.count:,}",
        "of": f"{report.planned.count:,}",
        "low": f"{accepted.low:,}",
        "high": f"{accepted.high:,}",
    }
    if not report.rehearsal.is_sample:
        return _("Of all %(of)s devices, FCM would accept the message for %(count)s.") % words
    text = _("Of %(of)s devices, FCM would accept the message for about %(count)s: between %(low)s "
    "and %(high)s, with 95 %% certainty.")  # fmt: skip
    return text % words


def dead_in_words(report: RehearsalReport) -> str:
    """The share of dead addresses, with its interval after a sample."""
    sent = report.totals.sent
    if not sent:
        return _("FCM was asked for nobody yet.")
    words = {"dead": f"{report.dead:,}", "asked": f"{sent:,}", "share": share(report.dead, sent)}
    if not report.rehearsal.is_sample:
        return _("FCM called %(dead)s of %(asked)s addresses dead: %(share)s %%.") % words
    text = _("FCM called %(dead)s of %(asked)s addresses dead: %(share)s %%. Of everybody, between "
    "%(low)s %% and %(high)s %% are, with 95 %% certainty.")  # fmt: skip
    return text % (words | _percents(report.dead_share))


def _percents(found: Interval) -> dict[str, str]:
    return {"low": f"{100 * found.low:.1f}", "high": f"{100 * found.high:.1f}"}


def quota_in_words(report: RehearsalReport) -> str:
    quota = report.rehearsal.run.project.quota_per_minute
    words = {"requests": f"{report.requests:,}", "quota": f"{quota:,}"}
    if report.requests <= quota:
        text = _("%(requests)s requests: %(share)s %% of what FCM allows in a minute (%(quota)s).")
        return text % (words | {"share": share(report.requests, quota)})
    text = _(
        "%(requests)s requests: as many as FCM allows in %(minutes)s minutes (%(quota)s each)."
    )
    return text % (words | {"minutes": f"{report.minutes_of_quota:,.1f}"})


def _strata_in_words(strata: dict[str, dict[str, list[int]]]) -> list[tuple[str, int, int]]:
    """Each platform, then the largest languages: its name, devices drawn, devices in all."""
    platforms = [
        (str(Device.Platform(name).label) if name in Device.Platform.values else name, *counts)
        for name, counts in strata.get("platform", {}).items()
    ]
    languages = [
        (name or _("no language"), *counts) for name, counts in strata.get("locale", {}).items()
    ]
    return [*platforms, *languages[:LOCALES_SHOWN]]  # type: ignore[list-item]
