"""The live page's picture of a run, read at one moment."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from campaigns import reports
from campaigns.admin import pace
from campaigns.admin.next_step import NEXT_STEP
from campaigns.chunk import Chunk
from campaigns.reasons import Cause
from campaigns.run import Run
from notifications import device
from notifications.device import Device

BARS = ("accepted", "rejected", "skipped", "unknown", "waiting")
SHOWN_WAVES = 8
SHOWN_CHUNKS = 50


def picture(run: Run, now: datetime) -> dict[str, Any]:
    progress = reports.progress(run, now=now)
    totals = progress.totals
    return {
        "run": run,
        "zone": run.project.timezone,
        "progress": progress,
        "bars": [(name, count, share(count, totals.planned)) for name, count in _bars(totals)],
        "share": share(totals.settled, totals.planned),
        "balances": sum(count for _, count in _bars(totals)) == totals.planned,
        "reasons": [
            (code, words, count)
            for code, (words, count) in zip(
                progress.reasons, reports.in_plain_words(progress.reasons), strict=True
            )
        ],
        "pace": pace.in_plain_words(run, now),
        "elapsed": _elapsed(run, now),
        "left": progress.eta_at - now if progress.eta_at else None,
        "waves": reports.waves_of(run)[:SHOWN_WAVES],
        "wave_count": run.waves.count(),
        "chunk_states": [
            (state.label, progress.chunks[state.value])
            for state in Chunk.State
            if progress.chunks.get(state.value)
        ],
        "quarantined": run.chunks.filter(state=Chunk.State.QUARANTINED)[:SHOWN_CHUNKS],
        "pause": pause_in_words(run),
        "held": [Device.Platform(name).label for name in run.held_platforms],
        "seen": seen(run, totals),
    }


def _bars(totals: reports.Totals) -> list[tuple[str, int]]:
    counts = totals.as_dict()
    return [(name, counts[name]) for name in BARS]


def share(part: int, whole: int) -> str:
    """A percentage that says 100 only when it is all, and 0 only when it is nothing."""
    if not whole:
        return "0"
    percent = 100 * part / whole
    if 0 < part < whole:
        percent = min(max(percent, 0.1), 99.9)
    return f"{percent:.1f}".removesuffix(".0")


def seen(run: Run, totals: reports.Totals) -> str:
    """What the page has told: it speaks up again when the state or the tenth of it changed."""
    return f"{run.state}-{int(totals.share * 10) if run.planned else 0}"


def pause_in_words(run: Run) -> dict[str, str]:
    """What happened, with its detail, and what a person can do now. Empty while nobody has to."""
    if run.state != Run.State.PAUSED:
        return {}
    cause = Cause(run.cause)
    happened = str(cause.label).partition(". ")[0].rstrip(".")  # the label's own advice is shorter
    return {
        "cause": f"{happened}.",
        "detail": run.cause_detail.removeprefix("by "),
        "next_step": NEXT_STEP[cause],
    }


def verbs(run: Run) -> list[str]:
    """The moves a person can make from this state."""
    state = Run.State
    moves = {
        state.SCHEDULED: ["pause", "cancel"],
        state.PREPARING: ["pause", "cancel"],
        state.SENDING: ["pause", "cancel"],
        state.PAUSED: ["resume", "cancel"],
    }.get(state(run.state), [])
    return [*moves, "restore"] if device.retired_by(run.reference).exists() else moves


def flower_url(run: Run) -> str:
    # Flower puts the value into its search box as it stands, so a second term rides along.
    return f"{settings.FLOWER_URL}/tasks?name=campaigns.tasks.send_chunk%20kwargs:run_id={run.pk}"


def _elapsed(run: Run, now: datetime) -> timedelta | None:
    return (run.finished_at or now) - run.started_at if run.started_at else None
