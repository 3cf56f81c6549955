"""What F15–F19 must notice."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from tests.chaos.bug import bug, patch

HOUR_OF_SWEEPS = "chaos-hour"


@bug("two sweeps start it twice", fault="F16")
def _two_sweeps() -> None:
    """Each sweep looks and starts without a guard, as a series that makes its own run."""
    from campaigns.planning import schedule
    from campaigns.runs.run import Run

    start = schedule._start

    def start_a_copy(run: Run, now: Any) -> bool:
        started = start(run, now)
        run.pk, run.occurrence = None, f"{run.occurrence}+"
        run.save(force_insert=True)
        return started

    patch(schedule, "_start", start_a_copy)


@bug("late is late", fault="F15")
def _late_is_late() -> None:
    """Whatever is due starts, however long ago that was."""
    from campaigns.runs.run import Run

    patch(Run, "max_lateness_seconds", property(lambda run: 10**9, lambda run, value: None))


@bug("any clock will do", fault="F17")
def _any_clock() -> None:
    """Nobody compares the clocks."""
    from config import startup

    patch(startup, "_clock", lambda: "")


@bug("leases by the worker's clock", fault="F17j")
def _by_the_workers_clock() -> None:
    """Whoever is to take a chunk takes over one whose lease his own clock calls lapsed."""
    from django.utils import timezone

    from campaigns.runs import claiming
    from campaigns.runs.chunk import Chunk
    from campaigns.sending import sending

    claim = claiming.claim

    def claim_by_clock(run_id: int, number: int, *rest: Any, **more: Any) -> Any:
        lapsed = Chunk.objects.filter(run=run_id, state="leased", lease_until__lt=timezone.now())
        for one in lapsed[:1]:
            lapsed.filter(pk=one.pk).update(state="queued", lease_until=None)
            number = one.number
        return claim(run_id, number, *rest, **more)

    patch(sending, "claim", claim_by_clock)


@bug("sweeps by the hour they are told", fault="")
def _by_the_hour_they_are_told() -> None:
    """Through Redis; only the sweep, so that leases and the life of a push stay real."""
    import redis
    from django.conf import settings

    from campaigns.engine import engine
    from campaigns.runs import absence

    patch(absence, "pause_after_absence", lambda run, now: False)  # beat does not tick by that hour
    sweep = engine.sweep
    told = redis.Redis.from_url(settings.BROKER_URL)

    def sweep_then(now: datetime) -> list[int]:
        hour: Any = told.get(HOUR_OF_SWEEPS)
        return sweep(datetime.fromisoformat(hour.decode()) if hour else now)

    patch(engine, "sweep", sweep_then)


@bug("a day has 24 hours", fault="F18")
def _a_day_has_24_hours() -> None:
    """What repeats every day comes that much later, whatever the clocks of its zone say."""
    from campaigns.planning.repeats.rhythm import Rhythm

    def after(rhythm: Rhythm, moment: datetime) -> Iterator[datetime]:
        at = rhythm.first
        while True:
            if at > moment:
                yield at
            at += timedelta(days=1)

    patch(Rhythm, "after", after)


@bug("nobody is ever missing", fault="F19")
def _nobody_is_ever_missing() -> None:
    """Whatever the rows call waiting is sent, however long ago they were written."""
    from campaigns.runs import absence, claiming, tick

    for module in (absence, claiming, tick):
        patch(module, "LONG_SILENCE", timedelta(days=365))


@bug("the first tick ends an absence", fault="F19")
def _the_first_tick_ends_it() -> None:
    """Nobody writes down that there was one, for whoever comes later to ask about."""
    from campaigns.runs import tick

    before, _, _ = tick.RECORD.partition(",\n    left_at")
    assert before.endswith("at = EXCLUDED.at")
    patch(tick, "RECORD", before)
