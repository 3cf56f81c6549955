"""One fault being played: a project with its people, one run, and what was done to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import DatabaseError, connection
from django.utils import timezone

from campaigns import control, tasks
from campaigns.runs import sums
from campaigns.runs.run import Run
from notifications.keys.credentials import ServiceAccount
from notifications.task_queue import enqueue_on_commit
from tests.chaos.door import Door
from tests.chaos.fault import DidNotHappen, Fault
from tests.chaos.process import Process
from tests.chaos.stage import LATENCY_MS, POOL, Stage
from tests.given.builders import make_campaign, make_people, make_project
from tests.given.forgetting import flush_all
from tests.given.waiting import eventually

CONTROL_POINTS = ("advance", "prepare", "wave_done", "sweep", "alert_changed", "first_judged")


class Scene:
    """What a fault's function is handed.

    `stage` has the servers and workers, `project` the people, `run` the run once launched.
    A fault launches, harms, calls `healed()` when the harm is over, and `finish()`.
    `killed`: pool children whose death the worker's own log cannot tell (their parent died too).
    `rung`: which chunks were, and when; a chunk knows only its last time.
    `back_at`: when PostgreSQL came back; until then nobody could have recovered anything.
    """

    def __init__(self, stage: Stage, fault: Fault) -> None:
        self.stage, self.fault = stage, fault
        self.killed = 0
        self.healed_at: datetime | None = None
        self.back_at: datetime | None = None
        self.rung: set[tuple[int, datetime | None]] = set()
        self._run: Run | None = None
        self._reset()
        self.project = make_project(slug=f"chaos-{time.time_ns()}")
        ServiceAccount.store(self.project, stage.fcm.service_account)
        self.devices = make_people(self.project, fault.people)
        self._deaths_before = stage.deaths()

    # --- Playing ---------------------------------------------------------------------------------

    @property
    def run(self) -> Run:
        assert self._run is not None, "nothing was launched"
        return self._run

    def launch(self, *, rung: bool = True, **values: Any) -> Run:
        """As the doors do: recorded, and rung once, unless that doorbell is to be lost."""
        campaign = make_campaign(self.project, on_unknown=self.fault.on_unknown, **values)
        self._run = control.launch(campaign, by="user:alice", now=timezone.now())
        if rung:
            enqueue_on_commit(tasks.advance, run_id=self.run.pk)
        return self.run

    def adopt(self, run: Run) -> None:
        """Judge this one, which was launched through another door."""
        self._run = run

    def until(self, share: float, *, seconds: float = 60) -> None:
        """Wait until this share of the people is settled."""
        eventually(f"{share:.0%} settled", lambda: self.share() >= share, seconds=seconds)

    def share(self) -> float:
        """How much is settled, 0 to 1."""
        self.run.refresh_from_db()
        return sums.totals_of(self.run).share if self.run.planned else 0.0

    def finish(self) -> None:
        """Wait for the run's end, starting again whoever ended; afterwards the fault must have
        happened."""

        def tended() -> bool:
            # What the pool of a bulk worker had in flight is in doubt, however it came to its end.
            ended = self.stage.tend()
            self.killed += POOL * sum(name.startswith(("bulk", "urgent")) for name in ended)
            return self.ended()

        reached, since = -1.0, time.monotonic()
        while not tended():
            time.sleep(0.1)
            self.rung |= set(self.run.chunks.values_list("pk", "queued_at"))
            share, now = self.share(), time.monotonic()
            reached, since = share, since if share == reached else now
            stuck = f"run {self.run.pk} is stuck at {share:.0%}"
            assert now - since < self.fault.patience, stuck
        if self.fault.failpoint and ":kill" in self.fault.failpoint and not self.kills:
            raise DidNotHappen

    def ended(self) -> bool:
        self.run.refresh_from_db()
        return self.run.finished_at is not None

    def wait(self, what: str, condition: Callable[[], object], *, seconds: float = 30) -> float:
        """For whatever else; how long that took."""
        return eventually(what, condition, seconds=seconds)

    def until_state(self, state: str) -> None:
        """Wait until the run is paused, say."""

        def reached() -> bool:
            self.run.refresh_from_db()
            return self.run.state == state

        eventually(f"run {self.run.pk} is {state}", reached, seconds=self.fault.patience)

    def until_killed(self) -> None:
        """Wait until a failpoint has killed somebody."""
        eventually("a failpoint kills", lambda: self.kills or self.ended(), seconds=60)
        if not self.kills:
            raise DidNotHappen

    def renew(self, name: str) -> Process:
        """A worker leaves politely and another one starts, with no failpoint."""
        self.stage.workers.pop(name).leave()
        return self.start(name)

    def start(self, name: str) -> Process:
        """One more worker, or another one of that name: the fault's, without the failpoint."""
        return self.stage.start_worker(name, self.fault.different.get(name))

    def healed(self) -> None:
        """From now on everything is as it should be: recovery is measured from here."""
        self.healed_at = timezone.now()

    def worker(self, name: str) -> Process:
        return self.stage.workers[name]

    def door(self) -> Door:
        """The web, started for this scene, with a person and a program before it."""
        return Door(self.stage.start_web(self.fault.different.get("web")), self.project)

    def feed(self) -> int:
        """What takes receipts, started for this scene; its port."""
        return self.stage.start_feed(self.fault.different.get("feed"))

    # --- For the judge ---------------------------------------------------------------------------

    @property
    def kills(self) -> int:
        """Children that died while it was played."""
        return self.killed + self.stage.deaths() - self._deaths_before

    # --- Between the scenes ----------------------------------------------------------------------

    def _reset(self) -> None:
        """Nobody's work is left, Redis is empty, the emulator has no past, the workers are ours."""
        eventually("what an earlier scene left is gone", _nothing_unfinished)
        flush_all()
        self.stage.fcm.reset(latency_ms=LATENCY_MS)
        self.stage.have_workers(*self.fault.workers, different=self._different())

    def _different(self) -> dict[str, dict[str, str]]:
        different = {name: dict(more) for name, more in self.fault.different.items()}
        if self.fault.failpoint:
            at_control = self.fault.failpoint.startswith(CONTROL_POINTS)
            worker = different.setdefault("control" if at_control else "bulk", {})
            worker["CARILLON_FAILPOINT"] = self.fault.failpoint
        return different


def _nothing_unfinished() -> bool:
    try:
        Run.driven.filter(finished_at__isnull=True).delete()
        Run.every.filter(state=Run.State.OPEN).update(state=Run.State.FINISHED)
    except DatabaseError:  # its snapshot was just committed, or a worker holds a row of it
        return False
    return True


def query(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """Rows of the truth, for faults and judge."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())
