"""Bugs to plant in the workers, each with the fault that must notice. Never part of the product.

CHAOS_PLANTED=name has tests/chaos/app.py call `plant` in every worker before it forks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from tests.chaos.fault import ALL, Fault
from tests.chaos.judge import Verdict
from tests.chaos.play import play
from tests.chaos.stage import WORKERS, Stage
from tests.chaos.table import HEAD, line


@dataclass(frozen=True)
class Bug:
    """`fault`: the id of the fault that has to fail with it."""

    name: str
    fault: str
    plant: Callable[[], None]


BUGS: dict[str, Bug] = {}


def bug(name: str, *, fault: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Decorates a function that patches the product inside a worker; its docstring says what."""

    def register(plant: Callable[[], None]) -> Callable[[], None]:
        BUGS[name] = Bug(name, fault, plant)
        return plant

    return register


def plant(name: str) -> None:
    BUGS[name].plant()


def play_planted(stage: Stage, faults: Iterable[Fault]) -> list[Verdict]:
    """Each bug of these faults, planted: caught when the fault fails. A verdict for each bug."""
    ids = {fault.id for fault in faults}
    print(HEAD, flush=True)
    verdicts = []
    for each in (each for each in BUGS.values() if each.fault in ids):
        found = play(stage, _with(each))
        print(line(found), flush=True)
        escaped = [f"the planted bug {each.name} was not caught"] if found.ok else []
        verdicts.append(Verdict(each.fault, each.name, troubles=escaped))
        print(f"      {each.name}: {'ESCAPED' if escaped else 'caught'}", flush=True)
    return verdicts


def _with(each: Bug) -> Fault:
    fault = ALL[each.fault]
    different = {name: dict(fault.different.get(name, {})) for name in WORKERS}
    for environment in different.values():
        environment["CHAOS_PLANTED"] = each.name
    return replace(fault, what=f"planted: {each.name}", different=different, patience=45)


# --- Bugs -----------------------------------------------------------------------------------------


@bug("no intent", fault="F3")
def _no_intent() -> None:
    """Requests leave without an open window, which is only written when it is settled."""
    from campaigns import settling
    from campaigns.ledger import Window

    write = settling._write

    def write_late(claim: Any, window: Window | None, *rest: Any) -> None:
        if window is not None:
            window.save()
        write(claim, window, *rest)

    Window.objects.create = lambda **values: Window(**values)  # type: ignore[method-assign]
    settling._write = write_late  # type: ignore[assignment]


@bug("ring without sweep", fault="F21")
def _ring_without_sweep() -> None:
    """Queued chunks whose doorbell was lost are never rung again."""
    from campaigns import engine

    engine._free_unheard = lambda run, now: None
