"""What a rehearsal found, in words and widths for its page."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from campaigns.engine import broken
from campaigns.results.next_step import NEXT_STEP
from campaigns.results.rehearsed.interval import Interval
from campaigns.results.rehearsed.told import Told
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


def picture(told: Told) -> dict[str, Any]:
    rehearsal, totals = told.rehearsal, told.totals
    run, drawn = rehearsal.run, totals.planned
    return {
        "rehearsal": rehearsal,
        "run": run,
        "told": told,
        "zone": run.project.timezone,
        "verdict": _unbroken(verdict(told)),
        "moving": run.finished_at is None and run.state != Run.State.PAUSED,
        "bars": [
            (name, count, width(count, drawn))
            for name, count in totals.as_dict().items()
            if name != "planned"
        ],
        "done_width": width(totals.settled, drawn),
        "stands": _("%(share)s %% done") % {"share": share(totals.settled, drawn)},
        "pause": pause_in_words(run),
        "reasons": [(in_words(code), count) for code, count in told.progress.reasons.items()],
        "strata": _strata(rehearsal.strata),
        "dead_words": _unbroken(dead_in_words(told)),
        "quota_words": _unbroken(quota_in_words(told)),
    }


def _unbroken(words: str) -> str:
    """No line begins with a percent sign."""
    return words.replace(" %", "\u00a0%")


def pause_in_words(run: Run) -> dict[str, str]:
    if run.state != Run.State.PAUSED:
        return {}
    return {
        "cause": cause_in_words(run.cause),
        "detail": broken.detail_of(run),
        "next_step": str(NEXT_STEP.get(run.cause, "")),
    }


def verdict(told: Told) -> str:
    """What a launch would come to, in a sentence; empty while it goes on."""
    totals = told.totals
    if told.rehearsal.run.state == Run.State.CANCELLED:
        return _("It was cancelled, so it foretells nothing.")
    if not told.over:
        return ""
    if not totals.planned:
        return _("Nobody matches the audience: a launch would send nothing.")
    accepted = next(one for one in told.ends if one.name == "accepted")
    words = {
        "count": f"{accepted.count:,}",
        "of": f"{told.planned.count:,}",
        "low": f"{accepted.low:,}",
        "high": f"{accepted.high:,}",
    }
    if not told.rehearsal.is_sample:
        return _("Of all %(of)s devices, FCM would accept the message for %(count)s.") % words
    said = _("Of %(of)s devices, FCM would accept the message for about %(count)s: between %(low)s "
    "and %(high)s, with 95 %% certainty.")  # fmt: skip
    return said % words


def dead_in_words(told: Told) -> str:
    """The share of dead addresses, and how well it is known."""
    asked = told.totals.sent
    if not asked:
        return _("FCM was asked for nobody yet.")
    words = {"dead": f"{told.dead:,}", "asked": f"{asked:,}", "share": share(told.dead, asked)}
    if not told.rehearsal.is_sample:
        return _("FCM called %(dead)s of %(asked)s addresses dead: %(share)s %%.") % words
    said = _("FCM called %(dead)s of %(asked)s addresses dead: %(share)s %%. Of everybody, between "
    "%(low)s %% and %(high)s %% are, with 95 %% certainty.")  # fmt: skip
    return said % (words | _percents(told.dead_share))


def _percents(found: Interval) -> dict[str, str]:
    return {"low": f"{100 * found.low:.1f}", "high": f"{100 * found.high:.1f}"}


def quota_in_words(told: Told) -> str:
    quota = told.rehearsal.run.project.quota_per_minute
    words = {"requests": f"{told.requests:,}", "quota": f"{quota:,}"}
    if told.requests <= quota:
        said = _("%(requests)s requests: %(share)s %% of what FCM allows in a minute (%(quota)s).")
        return said % (words | {"share": share(told.requests, quota)})
    said = _(
        "%(requests)s requests: as many as FCM allows in %(minutes)s minutes (%(quota)s each)."
    )
    return said % (words | {"minutes": f"{told.minutes_of_quota:,.1f}"})


def _strata(kept: dict[str, dict[str, list[int]]]) -> list[tuple[str, int, int]]:
    """Each platform, then the largest languages: how many were drawn of how many."""
    platforms = [
        (str(Device.Platform(name).label) if name in Device.Platform.values else name, *counts)
        for name, counts in kept.get("platform", {}).items()
    ]
    languages = [
        (name or _("no language"), *counts) for name, counts in kept.get("locale", {}).items()
    ]
    return [*platforms, *languages[:LOCALES_SHOWN]]  # type: ignore[list-item]
