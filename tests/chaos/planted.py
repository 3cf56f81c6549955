"""Plants the bugs of bugs/ in the workers, and has the fault that must notice notice them.

CHAOS_PLANTED=name;name has tests/chaos/app.py call `plant` in every worker before it forks. Never
part of the product.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tests.chaos.bug import BUGS, Bug
from tests.chaos.fault import ALL, Fault
from tests.chaos.judge import Verdict
from tests.chaos.play import play
from tests.chaos.stage import WORKERS, Stage
from tests.chaos.table import HEAD, line

STUCK = 40.0  # seconds; longer than any recovery takes


def plant(names: str) -> None:
    """In this process."""
    from tests.chaos import bugs  # fills BUGS

    assert bugs.GROUPS
    for name in names.split(";"):
        BUGS[name].plant()


def play_planted(stage: Stage, faults: Iterable[Fault]) -> list[Verdict]:
    """Each bug of these faults, planted: caught when the fault fails. A verdict for each bug."""
    from tests.chaos import bugs

    assert bugs.GROUPS
    ids = {fault.id for fault in faults}
    print(HEAD, flush=True)
    verdicts = []
    pairs = [(each, id) for each in BUGS.values() for id in each.fault.split() if id in ids]
    for each, id in pairs:
        found = play(stage, _with(each, ALL[id]))
        print(line(found), flush=True)
        if found.skipped:
            verdicts.append(Verdict(id, each.name, skipped=found.skipped))
            continue
        # A stage that broke is no proof of anything.
        caught = found.played and not found.ok
        escaped = [] if caught else [f"the planted bug {each.name} was not caught"]
        verdicts.append(Verdict(id, each.name, troubles=escaped))
        print(f"      {each.name}: {'ESCAPED' if escaped else 'caught'}", flush=True)
    caught_ones = [verdict for verdict in verdicts if verdict.ok and not verdict.skipped]
    print(f"{len(caught_ones)} of {len(verdicts)} planted bugs were caught.", flush=True)
    return verdicts


def _with(each: Bug, fault: Fault) -> Fault:
    names = {*WORKERS, "web", "feed", "bulk.2", "urgent", "outgoing", *fault.different}
    different = {name: dict(fault.different.get(name, {})) for name in names}
    for environment in different.values():
        planted = [environment.get("CHAOS_PLANTED", ""), each.name]
        environment["CHAOS_PLANTED"] = ";".join(filter(None, planted))
    patience = STUCK if fault.ends == "finished" else fault.patience
    return replace(fault, what=f"planted: {each.name}", different=different, patience=patience)
