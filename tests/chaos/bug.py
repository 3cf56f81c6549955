"""What a planted bug is, and the list of them that fills as the files of bugs/ are imported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """`fault`: the id of the fault that has to fail with it, or several with blanks between; empty
    for what a fault itself needs done inside a worker, named in its `different`."""

    name: str
    fault: str
    plant: Callable[[], None]


BUGS: dict[str, Bug] = {}


def bug(name: str, *, fault: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Decorates a function that patches the product inside a worker; its docstring says what."""

    def register(plant: Callable[[], None]) -> Callable[[], None]:
        assert name not in BUGS and ";" not in name, f"{name} is there twice, or not one name"
        BUGS[name] = Bug(name, fault, plant)
        return plant

    return register


def patch(owner: object, name: str, new: object) -> None:
    """For the life of the process: it was born to be wrong."""
    assert hasattr(owner, name), f"{owner} has no {name} any more: the bug is planted nowhere"
    setattr(owner, name, new)
