"""What is known of a run once it was played: its rows, and what the witness received."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from campaigns.runs.chunk import IN_FLIGHT, WINDOW
from campaigns.runs.ledger import Window
from campaigns.runs.run import Run
from tests.chaos.scene import Scene, query

AT_MOST = WINDOW * IN_FLIGHT  # per killed child


@dataclass(frozen=True)
class Delivered:
    """One recipient's row."""

    status: str
    resent: bool
    attempt: int
    at: datetime

    @property
    def ambiguous(self) -> bool:
        return self.resent or self.status == "unknown"


@dataclass
class Evidence:
    """Everything the judge looks at, read once."""

    scene: Scene
    run: Run
    rows: dict[int, Delivered]
    rows_written: int
    received: dict[int, list[datetime]]
    rung: set[tuple[int, datetime | None]]
    windows: list[Window]

    @property
    def bound(self) -> int:
        """How many may have got it twice, or be unknown."""
        fault = self.scene.fault
        per_kill = AT_MOST if fault.per_kill is None else fault.per_kill
        return fault.twice + per_kill * self.scene.kills

    @property
    def lost(self) -> int:
        """Recipients without a row, or called accepted though nothing ever arrived."""
        waits_for_a_person = self.run.state == self.scene.fault.ends == "paused"
        missing = 0 if waits_for_a_person else (self.run.planned or 0) - len(self.rows)
        accepted = (seq for seq, row in self.rows.items() if row.status == "accepted")
        return missing + sum(1 for seq in accepted if seq not in self.received)

    @property
    def twice(self) -> int:
        return sum(1 for times in self.received.values() if len(times) > 1)

    @property
    def unknown(self) -> int:
        return sum(1 for row in self.rows.values() if row.status == "unknown")


def gather(scene: Scene) -> Evidence:
    run = Run.every.get(pk=scene.run.pk)
    found = query(
        "SELECT seq, status, resent, attempt, at FROM campaigns_delivery WHERE run_id = %s", run.pk
    )
    scene.stage.fcm.witness()  # whoever is asked writes down what he still held back
    received: dict[int, list[datetime]] = {}
    for record in scene.stage.fcm.everything_witnessed():
        of_run, _, seq = str(record["id"]).partition(":")
        if of_run == str(run.pk):
            received.setdefault(int(seq), []).append(datetime.fromtimestamp(record["at"], UTC))
    return Evidence(
        scene=scene,
        run=run,
        rows={seq: Delivered(*rest) for seq, *rest in found},
        rows_written=len(found),
        received=received,
        rung={*scene.rung, *run.chunks.values_list("pk", "queued_at")},
        windows=list(Window.objects.filter(run=run).order_by("pk")),
    )


# --- Recovery -------------------------------------------------------------------------------------


def recovered(evidence: Evidence) -> float:
    """Seconds: the longest silence after a harm, or the longest that a dead window lay about.

    Somebody killed while a run recovers is a new harm, with a recovery of its own.
    """
    return max(_longest_silence(evidence), _longest_orphan(evidence))


def _longest_silence(evidence: Evidence) -> float:
    run = evidence.run
    began = evidence.scene.healed_at or run.started_at
    if began is None:
        return 0.0
    rows = {row.at for row in evidence.rows.values()}
    end = run.finished_at or max(rows, default=began)
    signs = {at for at in (*rows, *evidence.scene.stage.killed_at(), end) if began < at <= end}
    gaps = [(b - a).total_seconds() for a, b in pairwise([began, *sorted(signs)])]
    return max(gaps, default=0.0)


def _longest_orphan(evidence: Evidence) -> float:
    """From the death of a window's worker until its chunk is rung again or taken up.

    Not until its people are reached: behind a long queue they wait like everybody else, and
    whoever took them up may die before he comes to them.
    """
    deaths = evidence.scene.stage.killed_at()
    waits = []
    for dead in (window for window in evidence.windows if not window.settled_at):
        later = [
            other.opened_at
            for other in evidence.windows
            if other.chunk_id == dead.chunk_id and other.attempt > dead.attempt
        ]
        later += [evidence.rows[seq].at for seq in dead.seqs if seq in evidence.rows]
        later += [
            at for pk, at in evidence.rung if pk == dead.chunk_id and at and at > dead.opened_at
        ]
        if later:
            taken_up = min(later)
            # Without a failpoint nobody told when he died: we count from its opening.
            died = next((at for at in deaths if dead.opened_at <= at < taken_up), dead.opened_at)
            since = max(died, evidence.scene.back_at or died)
            waits.append((taken_up - since).total_seconds())
    return max(waits, default=0.0)
