"""The judge: what PostgreSQL says of a run, against what the emulator's witness really received.

Each invariant of the ledger is one function that yields its breaches in words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from campaigns.results import reports
from campaigns.runs import sums
from campaigns.runs.chunk import Chunk
from tests.chaos.evidence import Evidence, gather, recovered
from tests.chaos.scene import Scene, query

MAX_COPIES = 3  # the promise, not the product's own constant


@dataclass
class Verdict:
    """What came of a fault; `troubles` is empty when every invariant held."""

    id: str
    what: str
    messages: int = 0
    lost: int = 0
    twice: int = 0
    unknown: int = 0
    bound: int = 0
    kills: int = 0
    recovered: float | None = None
    within: float | None = None
    played: bool = False  # to the end, and judged; else the stage broke, or it was skipped
    skipped: str = ""  # why it cannot be played on this machine: nothing held, and nothing broke
    troubles: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.troubles


def judge(scene: Scene) -> Verdict:
    """The verdict on the run that was played."""
    fault = scene.fault
    verdict = Verdict(fault.id, fault.what, within=fault.within, played=True)
    if not fault.ends:
        return verdict
    evidence = gather(scene)
    verdict.messages = evidence.run.planned or 0
    verdict.lost, verdict.twice = evidence.lost, evidence.twice
    verdict.unknown, verdict.bound = evidence.unknown, evidence.bound
    verdict.kills, verdict.recovered = scene.kills, recovered(evidence)
    verdict.troubles = [trouble for check in INVARIANTS for trouble in check(evidence)]
    if fault.within is not None and verdict.recovered > fault.within:
        late = f"recovered in {verdict.recovered:.1f} s, allowed {fault.within:.0f} s"
        verdict.troubles.append(late)
    return verdict


# --- Invariants -----------------------------------------------------------------------------------


def _ended(evidence: Evidence) -> Iterator[str]:
    wanted = evidence.scene.fault.ends
    if evidence.run.state != wanted:
        yield f"the run is {evidence.run.state} ({evidence.run.detail}), not {wanted}"


def _everyone_has_one_row(evidence: Evidence) -> Iterator[str]:
    planned = evidence.run.planned or 0
    (recipients,) = query(
        "SELECT count(*) FROM campaigns_recipient WHERE run_id = %s", evidence.run.pk
    )[0]
    if recipients != planned:
        yield f"{recipients} recipients, {planned} planned"
    if evidence.rows_written != len(evidence.rows):
        yield f"{evidence.rows_written - len(evidence.rows)} recipients have two rows"
    if _is_over(evidence) and set(evidence.rows) != set(range(1, planned + 1)):
        yield f"{planned} planned, {len(evidence.rows)} have a row"


def _counters_are_a_recount(evidence: Evidence) -> Iterator[str]:
    run = evidence.run
    shown, counted = sums.totals_of(run), reports.recount(run)
    if shown != counted:
        yield f"shown {shown.as_dict()}, counted {counted.as_dict()}"
    if _is_over(evidence):
        own = {name: getattr(run, name) for name in sums.STATUSES}
        if own != {name: getattr(counted, name) for name in sums.STATUSES}:
            yield f"the run says {own}, counted {counted.as_dict()}"
        if counted.waiting:
            yield f"{run.state} with {counted.waiting} waiting"


def _accepted_was_received(evidence: Evidence) -> Iterator[str]:
    silent = [
        seq
        for seq, row in evidence.rows.items()
        if row.status == "accepted" and seq not in evidence.received
    ]
    if silent:
        yield f"{len(silent)} are accepted, but never arrived ({silent[:3]} …)"


def _received_is_accepted_or_unknown(evidence: Evidence) -> Iterator[str]:
    hidden = [
        seq
        for seq in evidence.received
        if seq in evidence.rows and evidence.rows[seq].status not in ("accepted", "unknown")
    ]
    if hidden:
        yield f"{len(hidden)} arrived, but their rows say something else ({hidden[:3]} …)"
    rowless = [seq for seq in evidence.received if seq not in evidence.rows]
    if rowless and _is_over(evidence):
        yield f"{len(rowless)} arrived and have no row ({rowless[:3]} …)"


def _twice_only_when_said(evidence: Evidence) -> Iterator[str]:
    unsaid = [
        seq
        for seq, times in evidence.received.items()
        if len(times) > 1 and seq in evidence.rows and not evidence.rows[seq].ambiguous
    ]
    if unsaid:
        yield f"{len(unsaid)} got it twice, and their rows do not say so ({unsaid[:3]} …)"


def _twice_within_bound(evidence: Evidence) -> Iterator[str]:
    if evidence.twice > evidence.bound:
        yield f"{evidence.twice} got it twice, at most {evidence.bound} may"
    if evidence.unknown > evidence.bound:
        yield f"{evidence.unknown} are unknown, at most {evidence.bound} may be"
    if evidence.scene.fault.on_unknown == "hold" and evidence.twice:
        yield f"{evidence.twice} got it twice though the run never sends twice"


def _nobody_more_than_three_times(evidence: Evidence) -> Iterator[str]:
    often = [seq for seq, times in evidence.received.items() if len(times) > MAX_COPIES]
    if often:
        yield f"{len(often)} got it more than {MAX_COPIES} times ({often[:3]} …)"


def _nothing_after_the_end(evidence: Evidence) -> Iterator[str]:
    end = evidence.run.finished_at
    late = sum(1 for row in evidence.rows.values() if end and row.at > end)
    if late:
        yield f"{late} rows were written after the run had ended"


def _nothing_left_open(evidence: Evidence) -> Iterator[str]:
    if not _is_over(evidence):
        return
    unclosed = evidence.run.chunks.exclude(state=Chunk.State.CLOSED)
    if unclosed.exists():
        yield f"chunks are left: {Counter(unclosed.values_list('state', flat=True))}"
    if retries := evidence.run.retries.count():
        yield f"{retries} retries are left"


def _open_windows_are_resolved(evidence: Evidence) -> Iterator[str]:
    """What a dead worker had in flight must be flagged, whatever became of it."""
    if not _is_over(evidence):
        return
    unsettled = {seq for w in evidence.windows if not w.settled_at for seq in w.seqs}
    unsaid = [
        seq for seq in unsettled if seq not in evidence.rows or not evidence.rows[seq].ambiguous
    ]
    if unsaid:
        yield f"{len(unsaid)} were in a dead worker's window and are not flagged ({unsaid[:3]} …)"


def _every_request_had_its_window(evidence: Evidence) -> Iterator[str]:
    opened: dict[int, list[datetime]] = {}
    for window in evidence.windows:
        for seq in window.seqs:
            opened.setdefault(seq, []).append(window.opened_at)
    early = [
        seq
        for seq, times in evidence.received.items()
        if len(times) > len(opened.get(seq, []))
        or any(at < then for at, then in zip(sorted(times), sorted(opened[seq]), strict=False))
    ]
    if early:
        yield f"{len(early)} arrived outside a window opened before ({early[:3]} …)"


def _nothing_under_an_old_fence(evidence: Evidence) -> Iterator[str]:
    """Once a later attempt has opened a window, an earlier one settles nothing any more."""
    first: dict[tuple[int, int], datetime] = {}
    for window in evidence.windows:
        key = (window.chunk_id, window.attempt)
        first[key] = min(first.get(key, window.opened_at), window.opened_at)
    stale = [
        window.pk
        for window in evidence.windows
        if window.settled_at
        and any(
            chunk == window.chunk_id and attempt > window.attempt and opened < window.settled_at
            for (chunk, attempt), opened in first.items()
        )
    ]
    if stale:
        yield f"{len(stale)} windows were settled under an old fence"


def _is_over(evidence: Evidence) -> bool:
    return evidence.run.finished_at is not None


INVARIANTS = (
    _ended,
    _everyone_has_one_row,
    _counters_are_a_recount,
    _accepted_was_received,
    _received_is_accepted_or_unknown,
    _twice_only_when_said,
    _twice_within_bound,
    _nobody_more_than_three_times,
    _nothing_after_the_end,
    _nothing_left_open,
    _open_windows_are_resolved,
    _every_request_had_its_window,
    _nothing_under_an_old_fence,
)
