"""What a fault is, and the list of them that fills as the files of faults/ are imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.chaos.scene import Scene

Act = Callable[["Scene"], None]
ALL: dict[str, Fault] = {}


class DidNotHappen(Exception):
    """The dice spared everybody: the scene is played again, for an absent fault proves nothing."""


class CannotBePlayed(Exception):
    """Not on this machine, and why: a line of the table all the same."""


@dataclass(frozen=True)
class Fault:
    """One line of the table.

    `act` plays it: launches, does harm, waits for the end. What it asserts itself is judged too.
    `failpoint`: CARILLON_FAILPOINT of the worker that passes there (workers start anew for it).
    `different`: by worker, what else is different in its environment.
    `twice`: how many may be sent to twice beside those that killed children had in flight
      (judge.py counts these); e.g. for requests that broke off.
    `per_kill`: how many a killed child may leave in doubt; None: what fits in its windows.
    `ends`: the state the run has to end in. Empty: the act has no run of its own to judge.
    `within`: seconds of recovery allowed on an idle machine; None when nothing has to recover.
    `quick`: part of `make test`.
    `patience`: seconds after which a run that gets no further is called stuck.
    """

    id: str
    what: str
    act: Act
    people: int = 3_000
    workers: tuple[str, ...] = ("bulk", "control", "beat")
    failpoint: str = ""
    different: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    on_unknown: str = "resend"
    twice: int = 0
    per_kill: int | None = None
    ends: str = "finished"
    within: float | None = None
    quick: bool = False
    patience: float = 60

    def with_people(self, count: int) -> Fault:
        """The same with more of them, and as much more time."""
        times = max(1, count / self.people)
        within = self.within and self.within * times
        return replace(self, people=count, patience=self.patience * times, within=within)


def fault(id: str, what: str, **values: object) -> Callable[[Act], Act]:
    """Decorates a function of one Scene; the values are Fault's fields."""

    def register(act: Act) -> Act:
        assert id not in ALL, f"{id} is there twice"
        ALL[id] = Fault(id, what, act, **values)  # type: ignore[arg-type]
        return act

    return register
