"""Plants the bugs of bugs/ in the workers, and has the fault that must notice notice them.

CHAOS_PLANTED=name,name has tests/chaos/app.py call `plant` in every worker before it forks. Never
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


def plant(names: str) -> None:
    """In this process."""
    from tests.chaos import bugs  # fills BUGS

    assert bugs.GROUPS
    for name in names.split(","):
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
        escaped = [f"the planted bug {each.name} was not caught"] if found.ok else []
        verdicts.append(Verdict(id, each.name, troubles=escaped))
        print(f"      {each.name}: {'ESCAPED' if escaped else 'caught'}", flush=True)
    caught = sum(verdict.ok for verdict in verdicts)
    print(f"{caught} of {len(verdicts)} planted bugs were caught.", flush=True)
    return verdicts


def _with(each: Bug, fault: Fault) -> Fault:
    different = {name: dict(fault.different.get(name, {})) for name in (*WORKERS, "web")}
    for environment in different.values():
        names = [environment.get("CHAOS_PLANTED", ""), each.name]
        environment["CHAOS_PLANTED"] = ",".join(filter(None, names))
    return replace(fault, what=f"planted: {each.name}", different=different, patience=50)
