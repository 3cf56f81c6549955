"""The table: one line per fault, as it is known, and a last line with the worst of all."""

from __future__ import annotations

from collections.abc import Iterable

from tests.chaos.judge import Verdict

HEAD = f"{'':5} {'fault':44} {'people':>7} {'lost':>5} {'twice':>6} {'unknown':>7} {'bound':>6} {'kills':>5}  {'recovery':>9}"  # noqa: E501


def line(verdict: Verdict) -> str:
    """One fault; what broke stands below it."""
    if verdict.skipped:
        return f"{verdict.id:5} {verdict.what[:44]:44} skipped: {' '.join(verdict.skipped.split())}"
    if verdict.recovered is None:
        recovery = ""
    else:
        limit = f"/{verdict.within:.0f}" if verdict.within is not None else ""
        recovery = f"{verdict.recovered:.1f}{limit} s"
    text = (
        f"{verdict.id:5} {verdict.what[:44]:44} {verdict.messages:7,} {verdict.lost:5,}"
        f" {verdict.twice:6,} {verdict.unknown:7,} {verdict.bound:6,} {verdict.kills:5}"
        f"  {recovery:>9}  {'ok' if verdict.ok else 'FAILED'}"
    )
    return "\n".join([text, *(f"      {trouble}" for trouble in verdict.troubles)])


def summary(verdicts: Iterable[Verdict]) -> str:
    every = list(verdicts)
    skipped = [verdict.id for verdict in every if verdict.skipped]
    failed = [verdict.id for verdict in every if not verdict.ok]
    worst = max((verdict.recovered or 0.0 for verdict in every), default=0.0)
    if skipped:
        faults = f"{len(every) - len(skipped)} of {len(every)} faults played"
        faults += f" (skipped: {', '.join(skipped)})"
    else:
        faults = f"{len(every)} faults"
    held = "Every invariant held in these." if skipped else "Every invariant held."
    return (
        f"{faults}, {sum(v.messages for v in every):,} messages,"
        f" {sum(v.lost for v in every)} lost, {sum(v.twice for v in every):,} twice"
        f" (of at most {sum(v.bound for v in every):,}), worst recovery {worst:.1f} s. "
        + (f"Failed: {', '.join(failed)}." if failed else held)
    )
